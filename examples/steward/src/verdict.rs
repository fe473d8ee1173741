//! The verdict on a plan: it lets a task through only if its form is certain, nothing is missing, and
//! no document speaks against it.
use fugato::{
    BoxError,
    agent::sequence::ActionsUpdate,
    cli::Lang,
    form::{Fields, day, text},
    state::State as _,
};
use serde_json::json;

use crate::{
    action::{self, ActionWork},
    bounds::out_of_bounds,
    deps::Deps,
    form::FormKind,
    ledger::{Documents, LedgerWrite, conflicts, named, refusal, unknown},
    read::{Goal, UNSURE},
    reply,
    state::{Flow, Steward, Update},
};

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
    let targeted = targeted(state, &documents).into_iter();
    Ok(targeted
        .chain([Update::Guarded(verdict)])
        .chain(act)
        .collect())
}

/// Returns the document that the current task is about as it is now, if something else is known of
/// it. What a draft will say was filled in from what was known.
fn targeted(state: &Steward, documents: &Documents) -> Option<Update> {
    let task = state.steward_state.current()?;
    let id = named(&task.fields)?;
    let found = documents.all().find(|it| it.id == id)?;
    let known = state.about(&json!(task.fields));
    let fills = matches!(task.form, FormKind::Application | FormKind::Reimbursement);
    let stays = known.is_some_and(|known| fills || known == found);
    (!stays).then(|| Update::Targeted(vec![found.clone()]))
}

/// Returns the reason for which a change of a document would not be written: there is no card for it.
pub(crate) fn refused(
    documents: &Documents,
    (form, goal): (FormKind, Goal),
    fields: &Fields,
    lang: Lang,
) -> Option<String> {
    let action = action::sequence(form, goal).last().copied();
    let ActionWork::Write(deed) = action.and_then(action::find)?.work else {
        return None;
    };
    // What speaks against a new document is found by the checks of its form.
    let is_new = text(fields, "document").is_empty();
    if is_new && matches!(form, FormKind::Application | FormKind::Reimbursement) {
        return None;
    }
    let write = LedgerWrite {
        deed,
        employee: String::new(),
        fields: fields.clone(),
        files: vec![],
        known: None,
        status: None,
    };
    refusal(documents, &write, lang)
}

fn judge(deps: &Deps, state: &Steward, documents: &Documents) -> Flow {
    let Some(task) = state.steward_state.current() else {
        return Flow::Pass;
    };
    let lang = state.lang();
    if task.confidence <= UNSURE {
        let why = lang.pick(
            "Is this a trip application or a reimbursement?",
            "这是出差申请，还是报销？",
        );
        return Flow::Confirm { why: why.into() };
    }
    // A document that there is not is said before anything else is asked for.
    let unknown = unknown(documents, &task.fields, lang);
    if !unknown.is_empty() {
        let why = reply::joined(&unknown, lang);
        return Flow::Block { why };
    }
    if !deps.desk.forms.missing(&task.form, &task.fields).is_empty() {
        return Flow::Missing;
    }
    if let Some(why) = reply::asks_for_change(&deps.desk, task, lang) {
        return Flow::Confirm { why };
    }
    let mut against = out_of_bounds(&task.fields, task.form, day(&state.base_date), lang);
    against.extend(conflicts(documents, task.form, &task.fields, lang));
    if against.is_empty() {
        let kind = (task.form, task.goal);
        against.extend(refused(documents, kind, &task.fields, lang));
    }
    if against.is_empty() {
        return reply::asks_for_unread(task, lang).map_or(Flow::Pass, |why| Flow::Confirm { why });
    }
    let why = reply::joined(&against, lang);
    Flow::Block { why }
}
