//! The guard of a plan: it lets a task through only if its form is certain, nothing is missing, and
//! no document speaks against it.
use async_trait::async_trait;
use fugato::{
    BoxError, Context, Node, Outcome,
    agent::{fallback::FallbackStep, sequence::ActionsUpdate},
    cli::Lang,
    form::day,
};

use crate::{
    action,
    bounds::out_of_bounds,
    deps::Deps,
    ledger::{Documents, conflicts, unknown},
    read::UNSURE,
    state::{Flow, Steward, Update},
};

/// Looks at what there is, and judges.
pub(crate) struct Guard(pub(crate) Deps);

#[async_trait]
impl Node<Steward> for Guard {
    async fn run(&self, cx: Context<Steward>) -> Result<Outcome<Update>, BoxError> {
        Ok(Outcome::done(flow(&self.0, cx.state()).await?))
    }
}

/// Returns the verdict, and the action that it lets through.
pub(crate) async fn flow(deps: &Deps, state: &Steward) -> Result<Vec<Update>, BoxError> {
    let documents = deps.ledger.documents(&state.employee).await?;
    let verdict = judge(deps, state, &documents);
    let passes = verdict == Flow::Pass && state.is_chat();
    let request = state.request.as_ref().filter(|_| passes);
    let act = request.zip(state.steward_state.current());
    let act = act.map(|(request, task)| {
        let request = action::for_task(&request.client_trace_id, task);
        Update::Acted(ActionsUpdate::Requested(request))
    });
    Ok([Update::Guarded(verdict)].into_iter().chain(act).collect())
}

fn judge(deps: &Deps, state: &Steward, documents: &Documents) -> Flow {
    let Some(task) = state.steward_state.current() else {
        return Flow::Pass;
    };
    if task.confidence <= UNSURE {
        let why = Lang::of(&state.message).pick(
            "Is this a trip application or a reimbursement?",
            "这是出差申请，还是报销？",
        );
        return Flow::Confirm { why: why.into() };
    }
    let lang = action::lang(state);
    // A document that there is not is said before anything else is asked for.
    let unknown = unknown(documents, &task.fields, lang);
    if !unknown.is_empty() {
        let why = unknown.join("; ");
        return Flow::Block { why };
    }
    if !deps.desk.forms.missing(&task.form, &task.fields).is_empty() {
        return Flow::Missing;
    }
    let mut against = out_of_bounds(&task.fields, task.form, day(&state.base_date), lang);
    against.extend(conflicts(documents, task.form, &task.fields, lang));
    if against.is_empty() {
        return Flow::Pass;
    }
    let why = against.join("; ");
    Flow::Block { why }
}

/// Blocks the plan if the documents cannot be looked up.
pub(crate) fn cautious(state: &Steward, falls: &[FallbackStep]) -> Vec<Update> {
    let reason = falls.last().map(|fall| fall.reason.clone());
    let why = action::lang(state).pick(
        "what there is already cannot be looked up now",
        "现在查不到已有的单据",
    );
    let why = why.to_owned();
    let noted = Update::Noted {
        fallback_reason: reason.unwrap_or_default(),
    };
    vec![Update::Guarded(Flow::Block { why }), noted]
}
