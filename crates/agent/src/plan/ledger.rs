//! The writes of a request, by a plan or by the loop that takes over from it.
use std::sync::Arc;

use fugato_graph::digest;
use fugato_state::{Lang, State, ToolCall, ToolStatus, say};
use fugato_stream::argument_lines;
use fugato_tool::{
    Access, ConfirmCard, GateChain, GatePolicy, GatedCall, Registry, Verdict, Visibility,
};
use serde_json::Value;

use super::{PlanProgress, StepKind, StepStatus, WorkStep};
use crate::{Embeds, React, Toolbox, toolbox::ToolUse};

/// The writes of a request: a person confirms each of them, and the loop that takes over does not
/// repeat the writes of the plan.
///
/// *Contract*
/// - **one key**: plan and loop key an action by its request, its tool, its arguments and the
///   number of equal calls before it. So the loop gets the receipt of an action of the plan.
/// - **other wording is refused**: an action of the plan that the loop writes with other arguments
///   of the same meaning is blocked.
/// - **no silent repetition**: the card of an action that earlier work has done, but that did not
///   end well, says so.
#[derive_where::derive_where(Clone)]
#[derive(derive_more::Debug)]
#[debug("WriteLedger {{ registry: {registry:?}, .. }}")]
pub struct WriteLedger<S: State> {
    registry: Registry<S, S::Update>,
    request: Arc<RequestName<S>>,
    earlier: Arc<EarlierWrites<S>>,
    shown: Arc<ShowWrite<S>>,
    alike: Arc<SameWrite>,
}

/// The prefix of a refusal of a repeated action, in both languages.
const ALREADY: [&str; 2] = ["this was done already: ", "这已经做过了："];

/// Returns true for the refusal of a repeated action. A report does not count it as a failed action.
pub(crate) fn is_repetition(text: &str) -> bool {
    ALREADY.iter().any(|prefix| text.starts_with(prefix))
}

type RequestName<S> = dyn Fn(&S) -> String + Send + Sync;
type EarlierWrites<S> = dyn Fn(&S) -> &[ToolUse] + Send + Sync;
type ShowWrite<S> = dyn Fn(&S, &ToolCall) -> String + Send + Sync;
type SameWrite = dyn Fn(&mut Value) + Send + Sync;

impl<S: Embeds<PlanProgress> + Embeds<React>> WriteLedger<S> {
    /// Returns the writes of these tools; `request` returns the name of the request, unique in its
    /// thread.
    pub fn new(
        registry: Registry<S, S::Update>,
        request: impl Fn(&S) -> String + Send + Sync + 'static,
    ) -> Self {
        Self {
            registry,
            request: Arc::new(request),
            earlier: Arc::new(|_| &[]),
            shown: Arc::new(|_, call| argument_lines(&call.arguments)),
            alike: Arc::new(|_| {}),
        }
    }

    fugato_state::setters! {
        /// Sets the writes of earlier requests whose work did not end well. A card that would repeat
        /// one of them says so.
        pub fn earlier(earlier: impl Fn(&S) -> &[ToolUse] + Send + Sync + 'static) {
            earlier = Arc::new(earlier)
        }

        /// Sets the text of a card. By default it lists the arguments of the call.
        pub fn shown(shown: impl Fn(&S, &ToolCall) -> String + Send + Sync + 'static) {
            shown = Arc::new(shown)
        }

        /// Sets a function that normalises arguments of the same meaning, such as `0.50` and `0.5`.
        pub fn alike(alike: impl Fn(&mut Value) + Send + Sync + 'static) { alike = Arc::new(alike) }
    }

    /// Returns a toolbox with this gate and these keys, for plan and loop.
    pub fn toolbox(self) -> Toolbox<S> {
        let (registry, keys) = (self.registry.clone(), self.clone());
        Toolbox::new(registry)
            .gates(GateChain::new().with(self))
            .keyed_by(move |state, call| keys.key(state, call))
    }

    /// Returns the key of an action in its thread.
    fn key(&self, state: &S, call: &ToolCall) -> String {
        let arguments = digest(self.normal(call).to_string().as_bytes());
        let n = before(state, call, |one| self.is_same(one, call));
        format!("{}/{}/{arguments}/{n}", (self.request)(state), call.name)
    }

    /// Returns the completed step of the plan that the loop's call repeats, if the loop has not
    /// repeated it before.
    fn done<'a>(&self, state: &'a S, call: &ToolCall) -> Option<&'a WorkStep> {
        let work: &PlanProgress = state.part();
        work.planner_failure.as_ref()?;
        let is_same = |one: &ToolCall| self.is_same(one, call);
        let steps = completed(work);
        let mut done = steps.filter(|step| is_same(&step.call()));
        done.nth(before(state, call, is_same))
    }

    /// Returns the text of a card, with the earlier result if the action was done before.
    fn card(&self, state: &S, call: &ToolCall) -> String {
        let shown = (self.shown)(state, call);
        let same = |done: &&ToolUse| self.is_same(&call_of(done), call);
        match (self.earlier)(state).iter().rev().find(same) {
            Some(done) => say!(
                "done already: {}; again? {shown}",
                "已经做过：{}；要再做一次吗？{shown}",
                done.result
            ),
            None => shown,
        }
    }

    /// Returns true if two calls do the same.
    fn is_same(&self, one: &ToolCall, other: &ToolCall) -> bool {
        let meant = |call: &ToolCall| {
            let mut arguments = self.normal(call);
            (self.alike)(&mut arguments);
            arguments
        };
        one.name == other.name && meant(one) == meant(other)
    }

    fn is_written_as(&self, one: &ToolCall, other: &ToolCall) -> bool {
        one.name == other.name && self.normal(one) == self.normal(other)
    }

    /// Returns the arguments of a call as the registry normalises them.
    fn normal(&self, call: &ToolCall) -> Value {
        match self.registry.admit(call, &Visibility::new()) {
            Ok(admitted) => admitted.call().arguments.clone(),
            Err(_) => call.arguments.clone(),
        }
    }
}

impl<S: Embeds<PlanProgress> + Embeds<React>> GatePolicy<S> for WriteLedger<S> {
    fn judge(&self, call: &GatedCall<'_>, state: &S) -> Verdict {
        if call.spec.access != Access::Write {
            return Verdict::Allow;
        }
        match self.done(state, call.call) {
            // It has the same key, so it gets the stored receipt.
            Some(step) if self.is_written_as(&step.call(), call.call) => Verdict::Allow,
            Some(step) => {
                let [en, zh] = ALREADY;
                let already = Lang::current().pick(en, zh);
                Verdict::Block(format!("{already}{}", step.output_summary))
            }
            None => Verdict::NeedConfirm(ConfirmCard::saying(call, self.card(state, call.call))),
        }
    }
}

/// Returns the steps whose tool call was completed.
fn completed(work: &PlanProgress) -> impl Iterator<Item = &WorkStep> {
    let steps = work.steps.iter();
    steps.filter(|it| it.draft.kind == StepKind::Tool && it.status == StepStatus::Completed)
}

fn call_of(used: &ToolUse) -> ToolCall {
    ToolCall::new("", &used.name, used.arguments.clone())
}

/// Returns how many such calls came before this one, in the plan or in the loop, depending on which
/// of them decides now.
fn before<S: Embeds<PlanProgress> + Embeds<React>>(
    state: &S,
    call: &ToolCall,
    is_such: impl Fn(&ToolCall) -> bool,
) -> usize {
    let (work, react): (&PlanProgress, &React) = (state.part(), state.part());
    if work.planner_failure.is_none() {
        let steps = work.steps.iter().take_while(|step| step.id != call.id);
        return steps.filter(|step| is_such(&step.call())).count();
    }
    react.run.uses.iter().map(call_of).filter(is_such).count()
}

/// Returns the completed calls of a request so far that do more than read, first those of the plan
/// and then those of the loop that took over.
pub fn written<S: Embeds<PlanProgress> + Embeds<React>>(
    state: &S,
    is_read: impl Fn(&str) -> bool,
) -> Vec<ToolUse> {
    let (work, react): (&PlanProgress, &React) = (state.part(), state.part());
    let steps = completed(work).map(|step| {
        let call = step.call();
        ToolUse::new(call.name, call.arguments, &step.output_summary)
    });
    let mut written: Vec<ToolUse> = steps.collect();
    for used in &react.run.uses {
        // The loop gets the receipts of the plan's writes: an equal result is not a new write.
        let is_new = written.iter().all(|one| one.result != used.result);
        if used.status == ToolStatus::Ok && is_new {
            written.push(used.clone());
        }
    }
    written.retain(|used| !is_read(&used.name));
    written
}

/// Returns the message for the loop that takes over from this work: the goal, and what was done
/// already, by `earlier` requests and by the plan.
pub fn handover(work: &PlanProgress, earlier: &[ToolUse]) -> String {
    let before = earlier.iter();
    let before = before.map(|done| format!("- {}: {}", done.name, done.result));
    let steps = work
        .steps
        .iter()
        .filter(|step| !step.output_summary.is_empty());
    let steps = steps.map(|step| {
        let (name, output) = (&step.draft.tool_name, &step.output_summary);
        format!("- {} {name}: {output}", step.id)
    });
    let done: Vec<String> = before.chain(steps).collect();
    let mut told = work.execution.goal.clone();
    if !done.is_empty() {
        told.push_str(&say!(
            "\n\nThis was done already, and is not to be done again:\n",
            "\n\n以下已经做过，不要再做：\n"
        ));
        told.push_str(&done.join("\n"));
    }
    told
}
