use fugato_state::{State, ToolCall, ToolStatus};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The action that is requested, and how far it came.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Actions {
    /// What is requested.
    pub request: Option<ActionRequest>,
    /// The calls that carry it out, in order.
    pub steps: Vec<ToolCall>,
    /// What came out of those that were made, in order.
    pub done: Vec<ActionDone>,
    /// How it ended; none while it has not.
    pub end: Option<ActionEnd>,
}

/// An action that somebody wants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActionRequest {
    /// The client's own name for the request: a repeat has the same.
    pub id: String,
    /// The action.
    pub action: String,
    /// Its arguments, an object.
    #[serde(default)]
    pub arguments: Value,
}

impl ActionRequest {
    /// An action that somebody wants.
    pub fn new(id: impl Into<String>, action: impl Into<String>, arguments: Value) -> Self {
        Self {
            id: id.into(),
            action: action.into(),
            arguments,
        }
    }
}

/// What came out of one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ActionDone {
    /// The step: the name of its tool.
    pub action: String,
    /// How it ended.
    pub status: ToolStatus,
    /// What came out, in words.
    pub text: String,
    /// The same for programs.
    #[serde(default)]
    pub data: Value,
}

/// How an action ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ActionEnd {
    /// Every step ended well.
    Done,
    /// There is no such action, and nothing was done.
    Rejected {
        /// What is allowed.
        why: String,
    },
    /// A rule did not let a step, or a person did not agree to it.
    Blocked {
        /// The step.
        at: String,
        /// Why.
        why: String,
    },
    /// A step could not be done.
    Failed {
        /// The step.
        at: String,
        /// Why.
        why: String,
    },
}

/// A change of how far an action came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ActionsUpdate {
    /// An action is requested; what there was of another is gone.
    Requested(ActionRequest),
    /// These calls carry it out.
    Planned(Vec<ToolCall>),
    /// A step was made.
    Performed(ActionDone),
    /// It has ended.
    Ended(ActionEnd),
}

impl State for Actions {
    type Update = ActionsUpdate;

    fn apply(&mut self, update: ActionsUpdate) {
        match update {
            ActionsUpdate::Requested(request) => {
                *self = Self {
                    request: Some(request),
                    ..Self::default()
                }
            }
            ActionsUpdate::Planned(steps) => self.steps = steps,
            ActionsUpdate::Performed(done) => self.done.push(done),
            ActionsUpdate::Ended(end) => self.end = Some(end),
        }
    }
}
