use async_trait::async_trait;
use fugato::{BoxError, Context, EventKind, Node, Outcome};
use serde_json::json;

use super::act::NOTIFICATION;
use crate::agent::{AgentState, Update};

/// The node that tells in a conversation what one of its jobs has to say: whoever has its page open
/// sees it, and whoever opens it later finds it.
#[derive(Debug)]
pub struct TellNode;

#[async_trait]
impl Node<AgentState> for TellNode {
    async fn run(&self, cx: Context<AgentState>) -> Result<Outcome<Update>, BoxError> {
        let request = &cx.state().turn.request;
        let text = request.text.clone();
        let shown = EventKind::Card {
            card: NOTIFICATION.to_owned(),
            data: json!({ "text": text, "job": request.job }),
        };
        Ok(Outcome::done([Update::Answered { text }]).note(shown))
    }
}
