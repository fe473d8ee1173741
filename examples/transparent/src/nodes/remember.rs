use async_trait::async_trait;
use fugato::{BoxError, Context, Node, Outcome, agent::with_note_receipt};

use crate::agent::{AgentState, Update};

/// The node that stores a note that the person asks for; the turn knows whether it was stored.
#[derive(Debug)]
pub struct Remember<N>(pub N);

#[async_trait]
impl<N: Node<AgentState>> Node<AgentState> for Remember<N> {
    async fn run(&self, cx: Context<AgentState>) -> Result<Outcome<Update>, BoxError> {
        let outcome = self.0.run(cx).await?;
        Ok(with_note_receipt(outcome, Update::Remembered))
    }
}
