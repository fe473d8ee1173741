use async_trait::async_trait;
use fugato_graph::{BoxError, Context, Node, Outcome};
use fugato_state::State;
use thiserror::Error;

use super::{CALLS, Calls, ModelCall};

/// A node that keeps what the [`Watched`](super::Watched) models were asked while it ran: as notes
/// of its outcome, so that the log tells of them, or in its error.
///
/// # Notes
/// - What is asked before a question to a person is kept when the node is called again, if it asks
///   then too: an outcome that asks has no notes.
#[derive(Debug, Clone)]
pub struct Recorded<N> {
    node: N,
}

/// Keeps what models are asked while this node runs.
pub fn recorded<N>(node: N) -> Recorded<N> {
    Recorded { node }
}

#[async_trait]
impl<S: State, N: Node<S>> Node<S> for Recorded<N> {
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        let calls = Calls::default();
        let outcome = CALLS.scope(calls.clone(), self.node.run(cx)).await;
        let calls = calls.take();
        match outcome {
            Ok(outcome) => {
                let notes = calls.iter().map(ModelCall::to_event);
                Ok(notes.fold(outcome, Outcome::note))
            }
            Err(error) if calls.is_empty() => Err(error),
            Err(source) => Err(Asked { calls, source }.into()),
        }
    }
}

/// A node failed that had asked models.
#[derive(Debug, Error)]
#[error("it had asked {}", calls.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
struct Asked {
    calls: Vec<ModelCall>,
    source: BoxError,
}
