//! Planned work: who plans, what a step is, and the graph that carries the steps out.
//!
//! A [`PlannedWork`] asks a planner, carries out one step after the other, and asks again when its
//! [`Executor`] says so. What a person is asked is a pause; what a tool does goes through its gates
//! and its effect. A step is saved when it begins and when it ends.
mod decide;
mod document;
mod executor;
mod perform;
mod rules;
mod step;
mod work;

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use fugato_graph::{
    BoxError, BuildError, Context, END, Graph, GraphBuilder, IntoNode, Node, Outcome,
};
use fugato_llm::{ChatModel, Profile, Timeout};
use fugato_memory::{ExecutionStatus, Waiting};
use fugato_state::Millis;
use fugato_stream::EventKind;
use serde_json::json;

use crate::{Corrections, Embeds, Toolbox, trace::recorded};

pub use executor::{Asking, Executor, NextBatch, PlanThenReplan, Reading, Replan};
pub use rules::PlanRules;
pub use step::{Step, StepDraft, StepKind, StepOutcome, StepStatus};
pub use work::{Turn, Work, WorkUpdate};

const LOOK: &str = "look";
const DECIDE: &str = "planner";
const BEGIN: &str = "begin_step";
const PERFORM: &str = "step";
const ASK: &str = "ask_user";

/// The most steps of one run.
const MOST_ITERATIONS: u32 = 12;
/// How old a look may be. Who takes it over later than that, after a crash, as a retry or in a copy
/// of the thread, looks again.
const STILL_NEW: Millis = 5_000;
/// What is asked where the planner left the question out.
const QUESTION: &str = "I need more to go on. What should I know?";

/// Work that is planned and then done.
///
/// ```text
/// planner → begin_step → step ─┐
///    ↑          └→ ask_user ───┤
///    └─────────────────────────┘
/// ```
///
/// With [`looking`](PlannedWork::looking), `look` comes before `planner`, and before each step that
/// thinks or answers.
///
/// *Contract*
/// - **checked transitions**: the status of the work changes as
///   [`ExecutionStatus::may_become`] allows, and in no other way.
/// - **what ended is kept**: a new plan replaces only the steps that have not begun.
/// - **consent is enforced**: a step that needs it, by its own mark or by a gate, waits for it.
/// - **reports are receipts**: an answer begins with the [`Report`](crate::Report) of what was
///   written and what was not; words of a model that claim more are left out.
/// - **an honest end**: after 12 steps the work fails and says so. Where there is no plan, the
///   thread goes where [`on_planner_failure`](Self::on_planner_failure) says, with the reason.
pub struct PlannedWork<S: Embeds<Work>> {
    parts: Parts<S>,
    look: Option<Arc<dyn Node<S>>>,
    fallback: Option<String>,
}

/// What the nodes share.
struct Parts<S: Embeds<Work>> {
    model: Option<Arc<dyn ChatModel>>,
    rules: Option<Arc<dyn PlanRules<S>>>,
    executor: Arc<dyn Executor>,
    toolbox: Toolbox<S>,
    looks: bool,
    context: Box<dyn Fn(&S) -> String + Send + Sync>,
    corrections: Corrections,
    planning: Profile,
    replanning: Profile,
    thinking: Profile,
    answering: Profile,
}

impl<S: Embeds<Work>> PlannedWork<S> {
    /// Work that this model plans, in the manner of this executor, with these tools.
    pub fn new(
        model: impl ChatModel + 'static,
        executor: impl Executor + 'static,
        toolbox: Toolbox<S>,
    ) -> Self {
        let model = Arc::new(Timeout::new(model));
        Self::with(Some(model), Arc::new(executor), toolbox)
    }

    /// Work that rules plan, think and answer for: no model is asked.
    pub fn by_rules(
        rules: impl PlanRules<S> + 'static,
        executor: impl Executor + 'static,
        toolbox: Toolbox<S>,
    ) -> Self {
        Self::with(None, Arc::new(executor), toolbox).rules(rules)
    }

    fn with(
        model: Option<Arc<dyn ChatModel>>,
        executor: Arc<dyn Executor>,
        toolbox: Toolbox<S>,
    ) -> Self {
        let within = |seconds, max_tokens| Profile {
            timeout: Some(Duration::from_secs(seconds)),
            max_tokens,
            ..Profile::default()
        };
        let marked = |state: &S, call: &fugato_state::ToolCall| {
            let running = state.part().running();
            running.is_some_and(|step| step.id == call.id && step.draft.requires_confirmation)
        };
        Self {
            parts: Parts {
                model,
                rules: None,
                executor,
                toolbox: toolbox.confirm_if(marked),
                looks: false,
                context: Box::new(|_| String::new()),
                corrections: Corrections::default(),
                planning: within(36, None),
                replanning: within(24, Some(500)),
                thinking: within(30, None),
                answering: within(36, None),
            },
            look: None,
            fallback: None,
        }
    }

    /// What decides and speaks where the model cannot be asked, and where it need not be.
    #[must_use]
    pub fn rules(mut self, rules: impl PlanRules<S> + 'static) -> Self {
        self.parts.rules = Some(Arc::new(rules));
        self
    }

    /// Runs a node before the planner is asked, and before each step that thinks or answers, also
    /// after a person was waited for: what it brings up to date, they see. A look that is older
    /// than five seconds by then, such as after a crash, is taken again. Where a tool of a step to
    /// come is another by now, the plan is dropped, and the planner asked again. Whoever begins the
    /// work leads to `look`.
    #[must_use]
    pub fn looking<M>(mut self, node: impl IntoNode<S, M>) -> Self {
        self.look = Some(Arc::new(node.into_node()));
        self.parts.looks = true;
        self
    }

    /// What planner, thinker and answerer are told of the state around the work: preferences, the
    /// summary of the task, the recent conversation.
    #[must_use]
    pub fn context(mut self, context: impl Fn(&S) -> String + Send + Sync + 'static) -> Self {
        self.parts.context = Box::new(context);
        self
    }

    /// How often in a row the planner's answer may be unusable.
    #[must_use]
    pub fn corrections(mut self, corrections: Corrections) -> Self {
        self.parts.corrections = corrections;
        self
    }

    /// How the model is asked to plan, to look at a plan again, to think, and to answer. The time
    /// for each holds whatever the model makes of it, and retries and backups share it.
    #[must_use]
    pub fn profiles(mut self, [plan, replan, think, answer]: [Profile; 4]) -> Self {
        self.parts.planning = plan;
        self.parts.replanning = replan;
        self.parts.thinking = think;
        self.parts.answering = answer;
        self
    }

    /// Where the thread goes when there is no plan: the end, without this. What stands there finds
    /// the reason in [`Work::planner_failure`].
    #[must_use]
    pub fn on_planner_failure(mut self, node: impl Into<String>) -> Self {
        self.fallback = Some(node.into());
        self
    }

    /// The work as a graph of its own, which puts out the answer.
    pub fn build(self) -> Result<Graph<S>, BuildError>
    where
        S: Default,
    {
        let graph = Graph::<S>::starting_at(self.beginning());
        let graph = graph.output(|state: &S| state.part().answer.clone());
        self.add_to(graph, END).build()
    }

    /// Where the work begins: `look`, if something is looked at, and else `planner`.
    fn beginning(&self) -> &'static str {
        if self.look.is_some() { LOOK } else { DECIDE }
    }

    /// Adds the work to a graph: whoever leads to `planner` (or `look`) begins it, and after its
    /// end comes `next`.
    pub fn add_to(self, graph: GraphBuilder<S>, next: &str) -> GraphBuilder<S> {
        let again = self.beginning();
        let parts = Arc::new(self.parts);
        let after = next.to_owned();
        let fallback = self.fallback.unwrap_or_else(|| after.clone());
        let executor = Arc::clone(&parts.executor);
        let toolbox = parts.toolbox.clone();
        let after_step = {
            let after = after.clone();
            move |state: &S| match state.part().status() {
                ExecutionStatus::Completed | ExecutionStatus::Failed => after.clone(),
                // The look that it rests on was too old.
                _ if state.part().running().is_some() => again.to_owned(),
                _ if executor.asks(state.part()).is_some() => again.to_owned(),
                _ => BEGIN.to_owned(),
            }
        };
        let after_decide = {
            let (fallback, step) = (fallback.clone(), after_step.clone());
            move |state: &S| {
                let work = state.part();
                match &work.planner_failure {
                    Some(_) => fallback.clone(),
                    None if !work.corrected.is_empty() => again.to_owned(),
                    None => step(state),
                }
            }
        };
        let expires = toolbox.has_live_reads();
        let speaks = if self.look.is_some() { LOOK } else { PERFORM };
        let after_begin = {
            let after = after.clone();
            move |state: &S| match state.part().status() {
                ExecutionStatus::WaitingUser => ASK.to_owned(),
                ExecutionStatus::Failed => after.clone(),
                _ if is_tool(state.part()) => PERFORM.to_owned(),
                _ => speaks.to_owned(),
            }
        };
        let mut decided = vec![again.to_owned(), BEGIN.to_owned(), after.clone()];
        if fallback != after {
            decided.push(fallback);
        }
        let stepped = [again.to_owned(), BEGIN.to_owned(), after.clone()];
        let mut begun = vec![PERFORM.to_owned(), ASK.to_owned(), after];
        if speaks != PERFORM {
            begun.push(speaks.to_owned());
        }
        let graph = graph
            .node(DECIDE, recorded(decide::Decide(Arc::clone(&parts))))
            .node(BEGIN, Begin(Arc::clone(&parts)))
            .node(PERFORM, recorded(perform::Perform(parts)))
            .node(ASK, Ask { expires })
            .branch(DECIDE, decided, after_decide)
            .branch(BEGIN, begun, after_begin)
            .branch(PERFORM, stepped, after_step)
            .edge(ASK, again);
        let Some(look) = self.look else { return graph };
        graph
            .node(LOOK, Look(look, toolbox))
            .branch(LOOK, [DECIDE, PERFORM], |state: &S| {
                let running = state.part().running().is_some();
                if running { PERFORM } else { DECIDE }
            })
    }
}

/// What is looked at before somebody plans or speaks.
struct Look<S: Embeds<Work>>(Arc<dyn Node<S>>, Toolbox<S>);

#[async_trait]
impl<S: Embeds<Work>> Node<S> for Look<S> {
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        let work = cx.state().part();
        let tools = self.1.fingerprints(cx.state());
        let told =
            invalid(work, &tools).map(|tool| custom("plan_invalidated", json!({ "tool": tool })));
        let (goal, steps) = (String::new(), vec![]);
        let dropped = told
            .is_some()
            .then_some(WorkUpdate::Planned { goal, steps });
        let tooled = (work.tools != tools).then_some(WorkUpdate::Tooled(tools));
        let mut outcome = self.0.run(cx.clone()).await?;
        // However long it took, it is new now.
        let looked = WorkUpdate::Looked { at: cx.now() };
        if let Outcome::Done { updates, .. } = &mut outcome {
            let own = [looked].into_iter().chain(tooled).chain(dropped);
            updates.extend(own.map(S::embed));
        }
        Ok(told.into_iter().fold(outcome, Outcome::note))
    }
}

/// The tool of a step to come that is another than the plan was made for, if there is one.
fn invalid(work: &Work, tools: &BTreeMap<String, String>) -> Option<String> {
    let is_known = !work.tools.is_empty();
    let to_come = work
        .steps
        .iter()
        .filter(|step| step.status == StepStatus::Pending);
    let calls = to_come.filter(|step| step.draft.kind == StepKind::Tool);
    let mut names = calls.map(|step| &step.draft.tool_name);
    let changed = names.find(|name| work.tools.get(*name) != tools.get(*name));
    changed.filter(|_| is_known).cloned()
}

impl<S: Embeds<Work>> Parts<S> {
    /// Whether somebody plans or speaks who was kept from it since the last look.
    fn is_late(&self, cx: &Context<S>) -> bool {
        let looked = cx.state().part().looked.unwrap_or_default();
        self.looks && cx.now().saturating_sub(looked) > STILL_NEW
    }
}

/// Whether the step that has begun calls a tool.
fn is_tool(work: &Work) -> bool {
    let running = work.running();
    running.is_some_and(|step| step.draft.kind == StepKind::Tool)
}

/// Says which step is next, and saves that it begins. Nothing of it is done yet.
struct Begin<S: Embeds<Work>>(Arc<Parts<S>>);

#[async_trait]
impl<S: Embeds<Work>> Node<S> for Begin<S> {
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        let work = cx.state().part();
        if work.iterations >= MOST_ITERATIONS {
            let error = format!("the work took more than {MOST_ITERATIONS} steps");
            return Ok(Outcome::done([S::embed(WorkUpdate::failed(error))]));
        }
        let step = work
            .pending()
            .ok_or("there is no step that has not begun")?;
        let id = step.id.clone();
        let mut updates = vec![WorkUpdate::Begun { id: id.clone() }];
        match step.draft.kind {
            StepKind::AskUser => {
                let question = match step.draft.instruction.trim() {
                    "" => QUESTION,
                    told => told,
                };
                let missing = step.draft.missing.clone();
                let asked = waiting(question, cx.now());
                let intent = work.execution.goal.clone();
                updates.push(WorkUpdate::Asked(Waiting {
                    intent,
                    missing,
                    ..asked
                }));
            }
            StepKind::Tool => {
                let round = self.0.toolbox.round(&[step.call()], cx.state());
                let card = round.cards().next().cloned();
                let marked = step.draft.requires_confirmation;
                let asked = card.map(|card| card.summary);
                let asked = asked.or_else(|| marked.then(|| step.draft.title.clone()));
                let ask =
                    |question: String| WorkUpdate::AskedToConfirm(waiting(&question, cx.now()));
                updates.extend(asked.map(ask));
            }
            StepKind::Reason | StepKind::Respond => {}
        }
        let told = custom("step_start", json!({ "id": id, "step": step.draft }));
        Ok(Outcome::done(updates.into_iter().map(S::embed)).note(told))
    }
}

fn waiting(question: &str, since: Millis) -> Waiting {
    Waiting {
        question: question.to_owned(),
        intent: String::new(),
        missing: vec![],
        since,
    }
}

fn custom(name: &str, data: serde_json::Value) -> EventKind {
    let name = name.to_owned();
    EventKind::Custom { name, data }
}

/// Asks the person, and takes the answer for what was missing.
struct Ask {
    /// Whether what was known before need not hold any more.
    expires: bool,
}

#[async_trait]
impl<S: Embeds<Work>> Node<S> for Ask {
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        if let Some(text) = cx.answer::<String>("reply")? {
            let at = cx.now();
            let expired = self.expires.then_some(WorkUpdate::Expired);
            let updates = expired
                .into_iter()
                .chain([WorkUpdate::Replied { text, at }]);
            return Ok(Outcome::done(updates.map(S::embed)));
        }
        let waiting = cx.state().part().execution.waiting.as_ref();
        let question = waiting.map_or(QUESTION, |waiting| waiting.question.as_str());
        Ok(Outcome::ask(fugato_state::Question::new::<String>(
            "reply", question,
        )))
    }
}

impl<S: Embeds<Work>> fmt::Debug for PlannedWork<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlannedWork")
            .field("model", &self.parts.model.as_deref().map(ChatModel::name))
            .field("toolbox", &self.parts.toolbox)
            .finish_non_exhaustive()
    }
}
