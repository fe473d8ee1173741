//! The path that the graphs have replaced: the same three services, one after the other.
//!
//! It takes over when a graph fails, the graphs are compared with it, and
//! `STEWARD_AGENT_RUNTIME=legacy` chooses it. Its seven nodes are its own, from the intake to the
//! answer, so that a fault in a node or a checkpoint of the graphs does not reach it. What both
//! share has no node: the rules, the gates and the business services.
use std::sync::Arc;

use async_trait::async_trait;
use fugato::{
    BoxError, Context, END, Graph, Node, NodePolicy, Outcome, State as _,
    agent::{
        Toolbox,
        decision::{Judge, announce},
    },
    llm::AskRecord,
};
use serde_json::json;

use crate::{
    action,
    answer::answer,
    card::{self, CardReply},
    deps::Deps,
    intake::prepared,
    phase::Phase,
    service::{NextStepJudge, RequestPlanner, RuleData, Situation, Slots, inquiry},
    settle::keep,
    state::{Intent, RequestKind, Runtime, RuntimeDecision, Steward, Update},
    verdict::flow,
};

/// The reason of a rollback for which nobody has given one.
const CHOSEN: &str = "STEWARD_AGENT_RUNTIME or the request has chosen the legacy path";

/// The nodes of the path.
const BEGIN: &str = "legacy_begin";
const UNDERSTAND: &str = "legacy";
const PLAN: &str = "legacy_plan";
const REVIEW: &str = "legacy_review";
const ACT: &str = "legacy_act";
const KEEP: &str = "legacy_keep";
const ANSWER: &str = "legacy_answer";

/// Builds the legacy path: `legacy_begin → legacy → legacy_plan → legacy_review ⇄ legacy_act →
/// legacy_keep → legacy_answer`.
#[deprecated(
    since = "0.1.0",
    note = "it goes when the graphs have been the default for one release, and no conversation of \
            that release has fallen back to it: count the log lines `legacy path`"
)]
pub fn legacy(deps: &Deps) -> Result<Graph<Steward>, BoxError> {
    let toolbox = action::toolbox(deps)?;
    let (plan, act) = action::sequences(toolbox.clone()).into_nodes();
    let (begins, answers, desk) = (deps.clone(), deps.clone(), deps.desk.clone());
    let begin = move |cx: Context<Steward>| {
        let deps = begins.clone();
        async move { begun(&deps, &cx).await }
    };
    let answers = move |cx: Context<Steward>| {
        let deps = answers.clone();
        async move { answer(&deps, &cx).await }
    };
    let shown = move |state: &Steward| card::question(&desk, state);
    let desk = deps.desk.clone();
    let answered = move |state: &Steward, reply: CardReply| card::answered(&desk, state, &reply);
    let acted = move |state: &Steward| after_action(&toolbox, state);
    let graph = Graph::<Steward>::starting_at(BEGIN)
        .node(BEGIN, begin)
        .node(UNDERSTAND, Sequence::new(deps.clone()))
        .node(PLAN, plan)
        .approval(REVIEW, shown, answered)
        .node(ACT, Step(act))
        .node(KEEP, keep)
        .node(ANSWER, answers)
        .branch(BEGIN, [UNDERSTAND, PLAN, KEEP], after_begin)
        .branch(UNDERSTAND, [REVIEW, PLAN, KEEP], after_words)
        .branch(PLAN, [REVIEW, ACT, KEEP], acted.clone())
        .branch(REVIEW, [ACT, KEEP, BEGIN], after_review)
        .branch(ACT, [REVIEW, ACT, KEEP], acted)
        .branch(KEEP, [UNDERSTAND, ANSWER], after_keep)
        .edge(ANSWER, END)
        .policy(ACT, NodePolicy::default().attempts(action::TRIES))
        .output(|state: &Steward| json!(state.response));
    Ok(graph.build()?)
}

/// Returns what the intake finds, and why the request is on this path: the log tells of every
/// rollback.
async fn begun(deps: &Deps, cx: &Context<Steward>) -> Result<Vec<Update>, BoxError> {
    let mut updates = prepared(deps, cx, Runtime::Legacy).await?;
    if cx.state().rollback.is_none() {
        let reason = deps.rollback.clone().unwrap_or_else(|| CHOSEN.into());
        updates.push(Update::RolledBack { reason });
    }
    Ok(updates)
}

/// The node that carries out one step.
struct Step<N>(N);

#[async_trait]
impl<N: Node<Steward>> Node<Steward> for Step<N> {
    async fn run(&self, cx: Context<Steward>) -> Result<Outcome<Update>, BoxError> {
        if let Some(forgotten) = cx.state().copied_consent(cx.thread()) {
            return Ok(Outcome::done([forgotten]));
        }
        cx.emit(Phase::Executing.event(cx.state().lang()));
        self.0.run(cx).await
    }
}

fn after_begin(state: &Steward) -> &'static str {
    match state.kind() {
        Some(RequestKind::Execute { .. }) if state.actions.end.is_some() => KEEP,
        Some(RequestKind::Execute { .. }) => PLAN,
        _ => UNDERSTAND,
    }
}

fn after_words(state: &Steward) -> &'static str {
    if state.is_pending() {
        REVIEW
    } else if state.may_act() {
        PLAN
    } else {
        KEEP
    }
}

fn after_action(toolbox: &Toolbox<Steward>, state: &Steward) -> &'static str {
    if state.actions.end.is_some() {
        KEEP
    } else if action::waits(toolbox, state) {
        REVIEW
    } else {
        ACT
    }
}

fn after_review(state: &Steward) -> &'static str {
    if state.approval.is_some() {
        ACT
    } else if state.actions.end.is_some() {
        KEEP
    } else {
        BEGIN
    }
}

fn after_keep(state: &Steward) -> &'static str {
    if state.has_next() {
        return UNDERSTAND;
    }
    ANSWER
}

/// The plain sequence.
#[derive(Debug, Clone)]
pub struct Sequence {
    deps: Deps,
}

/// The updates so far, and the state after them.
struct Progress<'a> {
    deps: &'a Deps,
    state: Steward,
    updates: Vec<Update>,
}

impl Sequence {
    /// Creates the sequence over these services.
    pub fn new(deps: Deps) -> Self {
        Self { deps }
    }

    /// Understands a request completely, from its words to the verdict on its plan.
    pub async fn understand(&self, state: &Steward) -> Result<Vec<Update>, BoxError> {
        tracing::info!(
            conversation = state.conversation_id,
            reason = state.rollback,
            "legacy path"
        );
        let mut progress = Progress {
            deps: &self.deps,
            state: state.clone(),
            updates: vec![],
        };
        let goes_on = match state.kind() {
            Some(RequestKind::Slots { .. }) => true,
            Some(RequestKind::Decide) => progress.decide().await,
            // The next task of a plan that is understood.
            Some(RequestKind::Chat) if state.action_result.is_some() => true,
            Some(RequestKind::Chat) if state.steward_state.current().is_some() => {
                progress.decide().await || progress.plan_anew().await
            }
            _ => progress.plan().await,
        };
        if goes_on {
            progress.fill().await;
            let judges = matches!(
                state.kind(),
                Some(RequestKind::Slots { .. } | RequestKind::Decide)
            );
            if !judges {
                let flow = flow(&self.deps, &progress.state).await?;
                for update in flow {
                    progress.push(update);
                }
            }
        }
        Ok(progress.updates)
    }
}

impl Progress<'_> {
    fn push(&mut self, update: Update) {
        self.state.apply(update.clone());
        self.updates.push(update);
    }

    /// Returns the decision of a model, or else of the rules.
    async fn judged<J>(
        &mut self,
        judge: fn(Arc<RuleData>) -> J,
        situation: &Situation,
    ) -> J::Verdict
    where
        J: Judge<Situation = Situation>,
    {
        let answer = inquiry(self.deps, judge).judged(situation).await;
        self.push(Update::Judged(answer.record));
        answer.value
    }

    /// Plans the request, and returns true if there is something to do.
    async fn plan(&mut self) -> bool {
        let mut intent = self
            .judged(RequestPlanner, &Situation::of(&self.state))
            .await;
        if intent.off_topic {
            intent = Intent::off_topic();
        }
        action::attach(self.deps, &mut intent.tasks);
        let goes_on = !intent.off_topic;
        self.push(Update::Understood(intent));
        goes_on
    }

    async fn plan_anew(&mut self) -> bool {
        self.state.runtime_decision == Some(RuntimeDecision::NewRequest) && self.plan().await
    }

    /// Decides the meaning of the words for the current task, and returns true if the plan goes on.
    async fn decide(&mut self) -> bool {
        let situation = Situation::of(&self.state);
        let decision = match NextStepJudge(self.deps.desk.clone()).certain(&situation) {
            Some(decision) => {
                self.push(Update::Judged(AskRecord::by_rule()));
                decision
            }
            None => self.judged(NextStepJudge, &situation).await,
        };
        let is_chat = self.state.is_chat();
        let goes_on = match decision {
            RuntimeDecision::Supplement { .. } => true,
            RuntimeDecision::Next => is_chat,
            // A card that is open is shown again: only a person agrees to it.
            RuntimeDecision::Confirm => is_chat && !self.state.is_pending(),
            _ => false,
        };
        self.push(Update::Decided(decision));
        goes_on
    }

    async fn fill(&mut self) {
        let situation = Situation::of(&self.state);
        let slots = if Slots::has_news(&situation) {
            self.judged(Slots, &situation).await
        } else {
            Slots(self.deps.desk.clone()).rules(&situation)
        };
        self.push(Update::Filled(slots));
    }
}

#[async_trait]
impl Node<Steward> for Sequence {
    async fn run(&self, cx: Context<Steward>) -> Result<Outcome<Update>, BoxError> {
        let updates = self.understand(cx.state()).await?;
        for update in &updates {
            if let Update::Judged(how) = update {
                announce(&cx, how, &cx.state().message);
            }
        }
        Ok(Outcome::done(updates))
    }
}
