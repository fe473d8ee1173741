use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Schema;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Instructions of the program.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// The result of a tool call.
    Tool,
}

/// One message of a conversation, in the shape that model servers share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// The role of the sender.
    pub role: Role,
    /// The text; empty if the message consists of tool calls only.
    #[serde(default)]
    pub content: String,
    /// The reasoning of the model before its text, if the server reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// The tools that an assistant message calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The call that a tool message answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// Values that belong to this message and not to its text, by name. Only the code that stored a
    /// value reads it: a value that a server wants back unchanged, such as signed reasoning, under
    /// the name of its protocol, or a mark of the program.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kept: BTreeMap<String, Vec<Value>>,
}

impl Message {
    fn new(role: Role, content: impl Into<String>) -> Self {
        Self {
            role,
            content: content.into(),
            reasoning: None,
            tool_calls: vec![],
            tool_call_id: None,
            kept: BTreeMap::new(),
        }
    }

    /// Creates a message with instructions of the program.
    pub fn system(content: impl Into<String>) -> Self {
        Self::new(Role::System, content)
    }

    /// Creates a message of the person.
    pub fn user(content: impl Into<String>) -> Self {
        Self::new(Role::User, content)
    }

    /// Creates a message of the model.
    pub fn assistant(content: impl Into<String>) -> Self {
        Self::new(Role::Assistant, content)
    }

    /// Creates a message with the result of the call `id`.
    pub fn tool(id: impl Into<String>, content: impl Into<String>) -> Self {
        Self {
            tool_call_id: Some(id.into()),
            ..Self::new(Role::Tool, content)
        }
    }

    crate::setters! {
        /// Adds tool calls.
        pub fn with_tool_calls(calls: impl IntoIterator<Item = ToolCall>) {
            tool_calls.extend(calls)
        }
    }
}

/// The status of a tool call that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// The tool succeeded.
    Ok,
    /// A rule blocked the call.
    Blocked,
    /// The tool failed.
    Failed,
}

/// The description of a tool in a request to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSchema {
    /// The name of the tool in calls.
    pub name: String,
    /// The purpose of the tool and when to use it.
    pub description: String,
    /// The JSON Schema of its arguments, an object.
    pub parameters: Schema,
}

impl ToolSchema {
    /// Creates the description of a tool.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        parameters: Schema,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters,
        }
    }
}

/// A call of a tool that a model proposes. Proposing is not executing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The name of the call, unique in its conversation.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments: an object for a well-formed call.
    pub arguments: Value,
}

impl ToolCall {
    /// Creates a call.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: Value) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            arguments,
        }
    }
}
