//! The path that the graphs have replaced: the same three services, one after the other.
//!
//! It stands in when a graph fails, it is what the graphs are compared with, and it is what
//! `STEWARD_AGENT_RUNTIME=legacy` chooses. It knows no graph that understands, and no node of one.
use async_trait::async_trait;
use fugato::{BoxError, Context, Node, Outcome, State as _};

use crate::{
    action,
    deps::Deps,
    nodes,
    service::{Situation, Slots, judged},
    state::{Intent, RequestKind, RuntimeDecision, SlotDecision, Source, Steward, Update},
};

/// The plain sequence.
#[derive(Debug, Clone)]
pub struct Sequence {
    deps: Deps,
}

/// What has changed so far, and how the state looks then.
struct Progress {
    state: Steward,
    updates: Vec<Update>,
}

impl Progress {
    fn push(&mut self, update: Update) {
        self.state.apply(update.clone());
        self.updates.push(update);
    }

    fn judged<T>(&mut self, (value, how): (T, Update)) -> T {
        self.push(how);
        value
    }
}

impl Sequence {
    /// Over these services.
    pub fn new(deps: Deps) -> Self {
        Self { deps }
    }

    /// Everything that a request means, from its words to what may be done.
    pub async fn understand(&self, state: &Steward) -> Result<Vec<Update>, BoxError> {
        tracing::info!(
            conversation = state.conversation_id,
            reason = state.fallback_reason,
            "{}",
            crate::log_key::LEGACY_PATH
        );
        let mut progress = Progress {
            state: state.clone(),
            updates: vec![],
        };
        let kind = state.kind().cloned();
        let is_done = state.action_result.is_some();
        let goes_on = match kind {
            Some(RequestKind::Slots { .. }) => true,
            Some(RequestKind::Decide) => self.decide(&mut progress).await,
            // The next task of a plan that is understood.
            Some(RequestKind::Chat) if is_done => true,
            Some(RequestKind::Chat) if state.steward_state.current().is_some() => {
                self.decide(&mut progress).await || self.plan_anew(&mut progress).await
            }
            _ => self.plan(&mut progress).await,
        };
        if goes_on {
            self.fill(&mut progress).await;
            if !matches!(kind, Some(RequestKind::Slots { .. } | RequestKind::Decide)) {
                for update in nodes::flow(&self.deps, &progress.state).await? {
                    progress.push(update);
                }
            }
        }
        Ok(progress.updates)
    }

    /// Whether there is something to do.
    async fn plan(&self, progress: &mut Progress) -> bool {
        let situation = Situation::of(&progress.state);
        let judged = judged(&self.deps.planner(), self.deps.model.as_deref(), &situation).await;
        let mut intent: Intent = progress.judged(judged);
        if intent.off_topic {
            intent.tasks.clear();
        }
        action::attach(&self.deps, &mut intent.tasks);
        let goes_on = !intent.off_topic;
        progress.push(Update::Understood(intent));
        goes_on
    }

    async fn plan_anew(&self, progress: &mut Progress) -> bool {
        progress.state.runtime_decision == Some(RuntimeDecision::NewRequest)
            && self.plan(progress).await
    }

    /// Whether the words are about the form that is worked on.
    async fn decide(&self, progress: &mut Progress) -> bool {
        let (service, situation) = (self.deps.next_step(), Situation::of(&progress.state));
        let decision = match service.certain(&situation) {
            Some(decision) => {
                progress.push(Update::Judged {
                    source: Source::Rule,
                    traces: vec![],
                    fallback_reason: None,
                });
                decision
            }
            None => progress.judged(judged(&service, self.deps.model.as_deref(), &situation).await),
        };
        let is_chat = progress.state.is_chat();
        let goes_on = match decision {
            RuntimeDecision::Supplement { .. } => true,
            RuntimeDecision::Next => is_chat,
            // A card that is open is shown again: only a person agrees to it.
            RuntimeDecision::Confirm => is_chat && !progress.state.is_pending(),
            _ => false,
        };
        progress.push(Update::Decided(decision));
        goes_on
    }

    async fn fill(&self, progress: &mut Progress) {
        let (service, situation) = (self.deps.slots(), Situation::of(&progress.state));
        let slots: SlotDecision = if Slots::has_news(&situation) {
            progress.judged(judged(&service, self.deps.model.as_deref(), &situation).await)
        } else {
            crate::service::Service::rules(&service, &situation)
        };
        progress.push(Update::Filled(slots));
    }
}

#[async_trait]
impl Node<Steward> for Sequence {
    async fn run(&self, cx: Context<Steward>) -> Result<Outcome<Update>, BoxError> {
        Ok(Outcome::done(self.understand(cx.state()).await?))
    }
}
