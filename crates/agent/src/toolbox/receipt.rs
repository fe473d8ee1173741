//! The stored result of a call that was carried out.
use fugato_tool::{ToolOutput, ToolResult};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

/// The result of a call, or the result that an operator supplied for a call that is known to have
/// happened.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
#[serde(bound = "ToolResult<U>: Serialize + DeserializeOwned")]
pub(super) enum Receipt<U> {
    Result(Box<ToolResult<U>>),
    Told(Value),
}

impl<U> From<Receipt<U>> for ToolResult<U> {
    fn from(receipt: Receipt<U>) -> Self {
        match receipt {
            Receipt::Result(result) => *result,
            Receipt::Told(Value::String(text)) => ToolOutput::new(text).into(),
            Receipt::Told(other) => ToolOutput::new(other.to_string()).into(),
        }
    }
}
