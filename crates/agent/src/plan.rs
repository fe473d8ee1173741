//! Planned work: the planner, the steps, and the graph that carries the steps out.
//!
//! A [`PlannedWork`] asks a planner, carries out one step after the other, and asks again when its
//! [`PlanningMode`] says so. A question to a person is an interrupt; a tool call goes through its
//! gates and its effect. A step is saved when it begins and when it ends.
//!
//! Around it: [`DirectReply`] answers small talk before anything is planned, [`Preflight`] looks up
//! the [`LiveFacts`] that a plan needs, and [`WriteLedger`] lets a loop of model and tools take over
//! from a plan without repeating its actions.
mod decide;
mod direct;
mod document;
mod ledger;
mod mode;
mod perform;
mod preflight;
mod rules;
mod step;
mod work;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use fugato_graph::{
    BoxError, BuildError, Context, END, Graph, GraphBuilder, IntoNode, Node, Outcome,
};
use fugato_llm::{ChatModel, Profile, Timeout};
use fugato_memory::{ExecutionStatus, PendingQuestion};
use fugato_state::{Millis, say};
use serde_json::json;

use crate::{Embeds, Toolbox, text::custom, trace::recorded};

pub(crate) use ledger::is_repetition;
use step::StepOutcome;

pub use direct::DirectReply;
pub use ledger::{WriteLedger, handover, written};
pub use mode::{PlannerQuestion, PlanningMode, Replan};
pub use preflight::{FACT_UNKNOWN, FactState, LiveFacts, Preflight};
pub use rules::PlanRules;
pub use step::{StepDraft, StepKind, StepStatus, WorkStep};
pub use work::{PlanProgress, WorkUpdate};

const LOOK: &str = "look";
const DECIDE: &str = "planner";
const BEGIN: &str = "begin_step";
const PERFORM: &str = "step";
const ASK: &str = "ask_user";

/// The maximum number of steps of one run.
const MOST_ITERATIONS: u32 = 12;
/// The maximum age of a look. After a crash, in a retry or in a copy of the thread it may be older,
/// and is then repeated.
const STILL_NEW: Millis = 5_000;
/// Returns the question if the planner gives none.
fn open_question() -> String {
    say!(
        "I need more to go on. What should I know?",
        "我还需要更多信息。请告诉我该知道些什么？"
    )
}

/// A graph that plans work and then carries it out.
///
/// ```text
/// planner → begin_step → step ─┐
///    ↑          └→ ask_user ───┤
///    └─────────────────────────┘
/// ```
///
/// With [`looking`](PlannedWork::looking), `look` runs before `planner`, and before each step that
/// reasons or responds.
///
/// *Contract*
/// - **checked transitions**: the status of the work changes only as
///   [`ExecutionStatus::may_become`] allows.
/// - **finished steps are kept**: a new plan replaces only the steps that have not begun.
/// - **consent is enforced**: a step that needs it, by its own mark or by a gate, waits for it.
/// - **reports are receipts**: an answer begins with the [`RunReport`](crate::reply::RunReport) of the writes
///   that were done and of those that were not; a model's words that claim more are left out.
/// - **an honest end**: after 12 steps the work fails with an error. If there is no plan, the
///   thread goes to the node of [`on_planner_failure`](Self::on_planner_failure), with the reason.
#[derive(derive_more::Debug)]
#[debug(
    "PlannedWork {{ model: {:?}, toolbox: {:?}, .. }}",
    self.parts.model.as_deref().map(ChatModel::name),
    self.parts.toolbox
)]
pub struct PlannedWork<S: Embeds<PlanProgress>> {
    parts: Parts<S>,
    look: Option<Arc<dyn Node<S>>>,
    fallback: Option<String>,
}

/// The parts that the nodes share.
struct Parts<S: Embeds<PlanProgress>> {
    model: Option<Arc<dyn ChatModel>>,
    rules: Option<Arc<dyn PlanRules<S>>>,
    mode: PlanningMode,
    toolbox: Toolbox<S>,
    looks: bool,
    context: Box<dyn Fn(&S) -> String + Send + Sync>,
    rejections: u32,
    planning: Profile,
    replanning: Profile,
    thinking: Profile,
    answering: Profile,
}

impl<S: Embeds<PlanProgress>> PlannedWork<S> {
    /// Creates work that this model plans, in this mode, with these tools.
    pub fn new(model: impl ChatModel + 'static, mode: PlanningMode, toolbox: Toolbox<S>) -> Self {
        let model = Arc::new(Timeout::new(model));
        Self::with(Some(model), mode, toolbox)
    }

    /// Creates work that rules plan, reason and answer for: no model is asked.
    pub fn by_rules(
        rules: impl PlanRules<S> + 'static,
        mode: PlanningMode,
        toolbox: Toolbox<S>,
    ) -> Self {
        Self::with(None, mode, toolbox).rules(rules)
    }

    fn with(model: Option<Arc<dyn ChatModel>>, mode: PlanningMode, toolbox: Toolbox<S>) -> Self {
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
                mode,
                toolbox: toolbox.confirm_if(marked),
                looks: false,
                context: Box::new(|_| String::new()),
                rejections: 3,
                planning: within(36, None),
                replanning: within(24, Some(500)),
                thinking: within(30, None),
                answering: within(36, None),
            },
            look: None,
            fallback: None,
        }
    }

    fugato_state::setters! {
        /// Sets the rules that decide and answer if the model fails, or if they know better.
        pub fn rules(rules: impl PlanRules<S> + 'static) { parts.rules = Some(Arc::new(rules)) }

        /// Sets the context that planning, reasoning and answering get from the state around the
        /// work: preferences, the summary of the task, the recent conversation.
        pub fn context(context: impl Fn(&S) -> String + Send + Sync + 'static) {
            parts.context = Box::new(context)
        }

        /// Sets how many unusable answers of the planner in a row end the planning; at least one,
        /// 3 by default.
        pub fn rejections(rejections: u32) { parts.rejections = rejections }

        /// Sets the node that the thread goes to if there is no plan; by default the end. That node
        /// finds the reason in [`PlanProgress::planner_failure`].
        pub fn on_planner_failure(node: impl Into<String>) { fallback = Some(node.into()) }
    }

    /// Runs a node before the planner is asked, and before each step that reasons or responds, also
    /// after a wait for a person, so that these steps use its updates. A look that is older than
    /// five seconds by then, such as after a crash, is repeated. If a tool of a pending step has
    /// changed since, the plan is dropped and the planner is asked again. The edge that begins the
    /// work must lead to `look`.
    #[must_use]
    pub fn looking<M>(mut self, node: impl IntoNode<S, M>) -> Self {
        self.look = Some(Arc::new(node.into_node()));
        self.parts.looks = true;
        self
    }

    /// Sets the profiles of the requests to plan, to replan, to reason and to answer. The timeout
    /// of each is for the whole request, and retries and backups share it.
    #[must_use]
    pub fn profiles(mut self, [plan, replan, think, answer]: [Profile; 4]) -> Self {
        self.parts.planning = plan;
        self.parts.replanning = replan;
        self.parts.thinking = think;
        self.parts.answering = answer;
        self
    }

    /// Builds the work as a graph of its own, with the answer as its output.
    pub fn build(self) -> Result<Graph<S>, BuildError>
    where
        S: Default,
    {
        let graph = Graph::<S>::starting_at(self.beginning());
        let graph = graph.output(|state: &S| state.part().answer.clone());
        self.add_to(graph, END).build()
    }

    /// Returns the first node of the work: `look` if there is one, else `planner`.
    fn beginning(&self) -> &'static str {
        if self.look.is_some() { LOOK } else { DECIDE }
    }

    /// Adds the work to a graph: an edge to `planner` (or `look`) begins it, and its end leads to
    /// `next`.
    pub fn add_to(self, graph: GraphBuilder<S>, next: &str) -> GraphBuilder<S> {
        let again = self.beginning();
        let parts = Arc::new(self.parts);
        let after = next.to_owned();
        let fallback = self.fallback.unwrap_or_else(|| after.clone());
        let mode = parts.mode;
        let toolbox = parts.toolbox.clone();
        let after_step = {
            let after = after.clone();
            move |state: &S| match state.part().status() {
                ExecutionStatus::Completed | ExecutionStatus::Failed => after.clone(),
                // The look of this step was too old.
                _ if state.part().running().is_some() => again.to_owned(),
                _ if mode.asks(state.part()).is_some() => again.to_owned(),
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
            .node(BEGIN, StepStart(Arc::clone(&parts)))
            .node(PERFORM, recorded(perform::StepNode(parts)))
            .node(ASK, Ask { expires })
            .branch(DECIDE, decided, after_decide)
            .branch(BEGIN, begun, after_begin)
            .branch(PERFORM, stepped, after_step)
            .edge(ASK, again);
        let Some(look) = self.look else { return graph };
        graph
            .node(LOOK, LookupNode(look, toolbox))
            .branch(LOOK, [DECIDE, PERFORM], |state: &S| {
                let running = state.part().running().is_some();
                if running { PERFORM } else { DECIDE }
            })
    }
}

/// The node that looks before planning, reasoning and answering.
struct LookupNode<S: Embeds<PlanProgress>>(Arc<dyn Node<S>>, Toolbox<S>);

#[async_trait]
impl<S: Embeds<PlanProgress>> Node<S> for LookupNode<S> {
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
        // The look is new now, even if the node took long.
        let looked = WorkUpdate::Looked { at: cx.now() };
        if let Outcome::Done { updates, .. } = &mut outcome {
            let own = [looked].into_iter().chain(tooled).chain(dropped);
            updates.extend(own.map(S::embed));
        }
        Ok(told.into_iter().fold(outcome, Outcome::note))
    }
}

/// Returns the name of the first tool of a pending step that has changed since the plan was made.
fn invalid(work: &PlanProgress, tools: &BTreeMap<String, String>) -> Option<String> {
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

impl<S: Embeds<PlanProgress>> Parts<S> {
    /// Returns true if the work looks, and the last look is too old.
    fn is_late(&self, cx: &Context<S>) -> bool {
        let looked = cx.state().part().looked.unwrap_or_default();
        self.looks && cx.now().saturating_sub(looked) > STILL_NEW
    }
}

/// Returns true if the running step calls a tool.
fn is_tool(work: &PlanProgress) -> bool {
    let running = work.running();
    running.is_some_and(|step| step.draft.kind == StepKind::Tool)
}

/// The node that chooses the next step and saves that it begins. It carries out nothing.
struct StepStart<S: Embeds<PlanProgress>>(Arc<Parts<S>>);

#[async_trait]
impl<S: Embeds<PlanProgress>> Node<S> for StepStart<S> {
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        let work = cx.state().part();
        if work.iterations >= MOST_ITERATIONS {
            return Ok(Outcome::done([S::embed(WorkUpdate::too_long())]));
        }
        let step = work
            .pending()
            .ok_or("there is no step that has not begun")?;
        let id = step.id.clone();
        let mut updates = vec![WorkUpdate::Begun { id: id.clone() }];
        match step.draft.kind {
            StepKind::AskUser => {
                let question = match step.draft.instruction.trim() {
                    "" => open_question(),
                    told => told.to_owned(),
                };
                let missing = step.draft.missing.clone();
                let asked = waiting(&question, cx.now());
                let intent = work.execution.goal.clone();
                updates.push(WorkUpdate::Asked(PendingQuestion {
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

fn waiting(question: &str, since: Millis) -> PendingQuestion {
    PendingQuestion {
        question: question.to_owned(),
        intent: String::new(),
        missing: vec![],
        since,
    }
}

/// The node that asks the person, and stores the answer.
struct Ask {
    /// True if earlier refusals expire with the answer.
    expires: bool,
}

#[async_trait]
impl<S: Embeds<PlanProgress>> Node<S> for Ask {
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
        let question = waiting.map_or_else(open_question, |waiting| waiting.question.clone());
        Ok(Outcome::ask(fugato_state::Question::new::<String>(
            "reply", question,
        )))
    }
}
