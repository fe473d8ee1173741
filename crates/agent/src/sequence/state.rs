use fugato_state::{State, ToolCall, ToolStatus};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A requested action with its progress.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Actions {
    /// The request; none before the first one.
    pub request: Option<ActionRequest>,
    /// The calls that carry it out, in order.
    pub steps: Vec<ToolCall>,
    /// The results of the steps that were made, in order.
    pub done: Vec<ActionDone>,
    /// The end of the action; none while it goes on.
    pub end: Option<ActionEnd>,
}

/// A request for an action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActionRequest {
    /// The client's id of the request; a repeated request has the same id.
    pub id: String,
    /// The name of the action.
    pub action: String,
    /// The arguments, an object.
    #[serde(default)]
    pub arguments: Value,
}

impl ActionRequest {
    /// Returns a request for an action.
    pub fn new(id: impl Into<String>, action: impl Into<String>, arguments: Value) -> Self {
        Self {
            id: id.into(),
            action: action.into(),
            arguments,
        }
    }
}

/// The result of one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ActionDone {
    /// The name of the step's tool.
    pub action: String,
    /// The status of the result.
    pub status: ToolStatus,
    /// The result as text.
    pub text: String,
    /// The result as data.
    #[serde(default)]
    pub data: Value,
}

/// The end of an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ActionEnd {
    /// Every step ended well.
    Done,
    /// There is no such action; nothing was done.
    Rejected {
        /// The error, with the allowed actions.
        why: String,
    },
    /// A step was blocked by a rule, or declined by a person.
    Blocked {
        /// The name of the step's tool.
        at: String,
        /// The reason.
        why: String,
    },
    /// A step failed.
    Failed {
        /// The name of the step's tool.
        at: String,
        /// The error.
        why: String,
    },
}

/// An update of an action's progress.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ActionsUpdate {
    /// An action is requested; an earlier one is dropped.
    Requested(ActionRequest),
    /// The calls that carry out the action.
    Planned(Vec<ToolCall>),
    /// A step was made.
    Performed(ActionDone),
    /// The action has ended.
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
