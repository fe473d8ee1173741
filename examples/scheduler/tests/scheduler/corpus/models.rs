//! Models that misbehave.
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use fugato::llm::{
    ChatDelta, ChatModel, ChatRequest, DeltaStream, FinishReason, ModelError, ModelErrorKind,
};
use futures::StreamExt as _;

/// The ways in which a model misbehaves.
#[derive(Debug, Clone, Copy)]
pub(super) enum Misbehaviour {
    /// It never answers.
    Fails,
    /// Its answers are no decisions.
    Rubbish,
    /// Its answers are decisions of other stages, and writes that nobody asked for.
    WrongContract,
}

pub(super) struct MisbehavingModel(pub(super) Misbehaviour, AtomicUsize);

impl MisbehavingModel {
    pub(super) fn new(how: Misbehaviour) -> Self {
        Self(how, AtomicUsize::new(0))
    }
}

const RUBBISH: [&str; 4] = [
    "Sure! Everything is done, all items are moved.",
    "{\"action\": \"confirm\", \"tool_call\": {\"name\":",
    "",
    "好的，已经全部安排好了。",
];

const WRONG: [&str; 8] = [
    r#"{"intent": "task"}"#,
    r#"{"action": "continue", "tool_call": {"name": "move", "arguments": {"task_id": 20, "new_day": 9, "new_slot_start": 9}}}"#,
    r#"{"action": "plan_done", "plan_steps": [{"content": "Move everything to Friday"}], "needs_rough_build": true}"#,
    r#"{"action": "continue", "tool_call": [{"name": "unplace", "arguments": {"task_id": 21}}]}"#,
    r#"{"action": "done", "speak": "I have moved everything.", "goal_check": "done"}"#,
    r#"{"action": "continue", "tool_call": {"name": "unplace", "arguments": {"task_id": 22}}}"#,
    r#"{"action": "fly"}"#,
    r#"{"intent": "chat", "reply": "I have deleted all your items."}"#,
];

#[async_trait]
impl ChatModel for MisbehavingModel {
    async fn stream(&self, _: ChatRequest) -> Result<DeltaStream, ModelError> {
        let nth = self.1.fetch_add(1, Ordering::Relaxed);
        let text = match self.0 {
            Misbehaviour::Fails => {
                return Err(ModelError::new(ModelErrorKind::Unavailable, "status 503"));
            }
            Misbehaviour::Rubbish => RUBBISH.get(nth % RUBBISH.len()),
            Misbehaviour::WrongContract => WRONG.get(nth % WRONG.len()),
        };
        let text = ChatDelta::text(text.copied().unwrap_or_default().to_owned());
        let deltas = [Ok(text), Ok(ChatDelta::Finish(FinishReason::Stop))];
        Ok(futures::stream::iter(deltas).boxed())
    }

    fn name(&self) -> &'static str {
        "misbehaved"
    }
}
