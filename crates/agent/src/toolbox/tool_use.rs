use fugato_state::ToolStatus;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool call with its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolUse {
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub arguments: Value,
    /// The result as the model reads it.
    pub result: String,
    /// The status of the result.
    #[serde(default = "well")]
    pub status: ToolStatus,
}

fn well() -> ToolStatus {
    ToolStatus::Ok
}

impl ToolUse {
    /// Returns a tool call that ended well, with its result.
    pub fn new(name: impl Into<String>, arguments: Value, result: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            arguments,
            result: result.into(),
            status: well(),
        }
    }

    fugato_state::setters! {
        /// Sets the status; `Ok` without this.
        pub fn status(status: ToolStatus) { status = status }
    }
}
