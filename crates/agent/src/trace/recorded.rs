use async_trait::async_trait;
use fugato_graph::{BoxError, Context, Node, Outcome};
use fugato_llm::SpendScope;
use fugato_state::State;
use thiserror::Error;

use super::{CALLS, Calls, ModelCall};

/// Returns a node that records the calls of [`RecordedModel`](super::RecordedModel) models while
/// this node runs: as notes of its outcome, and so in the log, or in its error. The cost of these
/// calls counts towards the allowances of its stage and its run: see
/// [`SpendLimit`](fugato_llm::SpendLimit).
///
/// # Notes
/// - Calls before a question to a person are only recorded if the node makes them again after the
///   answer: an outcome that asks has no notes.
pub fn recorded<S: State>(node: impl Node<S>) -> impl Node<S> {
    RecordedNode(node)
}

struct RecordedNode<N>(N);

#[async_trait]
impl<S: State, N: Node<S>> Node<S> for RecordedNode<N> {
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        let calls = Calls::default();
        let run = format!("{}/{}", cx.thread(), cx.run());
        let asks = SpendScope::new(run, stage(&cx.task()));
        let work = CALLS.scope(calls.clone(), self.0.run(cx));
        let outcome = asks.hold(work).await;
        let calls = calls.take();
        match outcome {
            Ok(outcome) => {
                let notes = calls.iter().map(ModelCall::to_event);
                Ok(notes.fold(outcome, Outcome::note))
            }
            Err(error) if calls.is_empty() => Err(error),
            Err(source) => Err(FailedNode { calls, source }.into()),
        }
    }
}

/// Returns the address of a task without its visits: repeated visits of a node to correct an answer
/// belong to the same decision.
fn stage(task: &str) -> String {
    let mut parts = task.split('#');
    let mut stage = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        stage.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    stage
}

/// The error of a node that failed after calls of models.
#[derive(Debug, Error)]
#[error("it had asked {}", calls.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
struct FailedNode {
    calls: Vec<ModelCall>,
    source: BoxError,
}

#[cfg(test)]
mod tests {
    use super::stage;

    #[test]
    fn visits_of_a_node_are_one_stage() {
        for (task, expected) in [
            ("decide#1", "decide"),
            ("decide#12", "decide"),
            ("work#2[3]/think#1", "work[3]/think"),
        ] {
            assert_eq!(stage(task), expected);
        }
    }
}
