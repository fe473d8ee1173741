use fugato_state::{Message, ToolStatus};
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
    /// The result as people are told it, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<String>,
    /// The status of the result.
    #[serde(default = "well")]
    pub status: ToolStatus,
}

/// The value of a message with a result as people are told it.
const FOR_PEOPLE: &str = "for_people";

/// Returns the result in the message of a tool as people are told it: without what is meant for a
/// model.
pub fn for_people(message: &Message) -> &str {
    let told = message.kept.get(FOR_PEOPLE);
    let told = told.and_then(|told| told.first()?.as_str());
    told.unwrap_or(&message.content)
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
            told: None,
            status: well(),
        }
    }

    fugato_state::setters! {
        /// Sets the status; `Ok` without this.
        pub fn status(status: ToolStatus) { status = status }

        /// Sets the result as people are told it, if it differs.
        pub fn told(told: Option<String>) { told = told }
    }

    /// Returns the message with the result of this call, in which [`for_people`] finds what people
    /// are told.
    pub(crate) fn message(&self, call: impl Into<String>) -> Message {
        let mut message = Message::tool(call, self.result.clone());
        let told = self.told.iter().map(|told| told.clone().into());
        let told: Vec<Value> = told.collect();
        if !told.is_empty() {
            message.kept.insert(FOR_PEOPLE.to_owned(), told);
        }
        message
    }

    /// Returns the result as people are told it.
    pub fn for_people(&self) -> &str {
        self.told.as_ref().unwrap_or(&self.result)
    }
}
