//! The path that the graphs have replaced: the same three services, one after the other.
//!
//! It takes over when a graph fails, the graphs are compared with it, and
//! `STEWARD_AGENT_RUNTIME=legacy` chooses it. It has none of the graphs that understand, and none
//! of their nodes.
use std::sync::Arc;

use async_trait::async_trait;
use fugato::{
    BoxError, Context, Node, Outcome, State as _,
    agent::decision::{Judge, announce},
    llm::AskRecord,
};

use crate::{
    action,
    deps::Deps,
    nodes,
    service::{NextStepJudge, RequestPlanner, RuleData, Situation, Slots, inquiry},
    state::{Intent, RequestKind, RuntimeDecision, Steward, Update},
};

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
            reason = state.fallback_reason,
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
                let flow = nodes::flow(&self.deps, &progress.state).await?;
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
