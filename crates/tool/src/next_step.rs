use fugato_state::Question;
use serde::{Deserialize, Serialize};

/// The step that follows the call of a tool.
///
/// A loop of model and tools obeys all of them. Other callers of tools ask the questions, and
/// ignore the rest. In a round of several calls, the first that ends the run decides; the others
/// have their results all the same.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NextStep {
    /// The model reads the result, and goes on.
    #[default]
    RunAgain,
    /// A person is asked, and the answer is the result.
    Interrupt(Question),
    /// The result is the reply of the run.
    FinalOutput,
    /// The run ends for the agent of this name.
    Handoff(String),
}

impl NextStep {
    pub(crate) fn is_run_again(&self) -> bool {
        matches!(self, Self::RunAgain)
    }
}

/// The end of a run for another agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handoff {
    /// The name of the agent.
    pub to: String,
    /// The text of the tool, which is the reply of the run.
    pub text: String,
}
