use serde::{Deserialize, Serialize};

/// The phase of the agent, and the smallest signal that routes the graph.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Talking; nothing is being done.
    #[default]
    Chatting,
    /// Making a plan.
    Planning,
    /// Something has to be confirmed.
    WaitingConfirm,
    /// Carrying it out.
    Executing,
    /// A short errand.
    QuickTask,
    /// A question is open.
    Interrupted,
    /// Finished, well or not.
    Done,
}

/// The kind of optimisation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The first placement of everything.
    FirstFull,
    /// Everything once more, because the person asked for it.
    GlobalReopt,
    /// Single changes.
    #[default]
    LocalAdjust,
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalOutcome {
    /// Well, or in which way not.
    pub status: TerminalStatus,
    /// In which stage.
    pub stage: String,
    /// A stable code.
    pub code: String,
    /// The message for the person.
    pub user_message: String,
    /// The reason for an operator.
    pub internal_reason: String,
}

/// The ways in which a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminalStatus {
    /// Everything was done.
    Completed,
    /// It was given up.
    Aborted,
    /// The rounds were used up.
    Exhausted,
}

impl TerminalOutcome {
    /// Returns the outcome of a run that used up its rounds.
    pub fn exhausted(limit: u64) -> Self {
        Self {
            status: TerminalStatus::Exhausted,
            stage: "execute".into(),
            code: "round_exhausted".into(),
            user_message: String::new(),
            internal_reason: format!("all {limit} rounds were used"),
        }
    }

    /// Returns the outcome of a run that was given up.
    pub fn aborted(stage: &str, code: &str, user_message: &str, internal_reason: &str) -> Self {
        Self {
            status: TerminalStatus::Aborted,
            stage: stage.into(),
            code: code.into(),
            user_message: user_message.into(),
            internal_reason: internal_reason.into(),
        }
    }
}
