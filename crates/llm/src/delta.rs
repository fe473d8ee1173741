use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Attempt;

/// One piece of an answer as it arrives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ChatDelta {
    /// A piece of the text.
    Text(String),
    /// A piece of the reasoning before the answer.
    Reasoning(String),
    /// A piece of a tool call.
    ToolCall(ToolCallDelta),
    /// The usage so far. A later one replaces an earlier one.
    Usage(Usage),
    /// The reason why the model stopped. Usage may still follow.
    Finish(FinishReason),
    /// A value that the server wants back with the message: see [`Message::kept`].
    ///
    /// [`Message::kept`]: fugato_state::Message::kept
    Kept {
        /// The name of the protocol that the value belongs to.
        by: String,
        /// The value as the server sent it.
        value: Value,
    },
    /// One attempt to get this answer, reported by a decorator.
    Attempt(Attempt),
}

impl ChatDelta {
    /// Creates a piece of the text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Creates a piece of the reasoning.
    pub fn reasoning(text: impl Into<String>) -> Self {
        Self::Reasoning(text.into())
    }
}

/// A piece of a tool call. Pieces with the same index belong to the same call.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolCallDelta {
    /// The position of the call in the answer, from 0.
    pub index: usize,
    /// The id of the call, usually with its first piece only.
    pub id: Option<String>,
    /// A piece of the name of the tool.
    pub name: Option<String>,
    /// A piece of the arguments, as JSON text.
    pub arguments: String,
}

impl ToolCallDelta {
    /// Creates a piece of the call at `index`.
    pub fn new(index: usize, arguments: impl Into<String>) -> Self {
        Self {
            index,
            arguments: arguments.into(),
            ..Self::default()
        }
    }

    fugato_state::setters! {
        /// Sets the id of the call.
        pub fn id(id: impl Into<String>) { id = Some(id.into()) }

        /// Sets the name of the tool.
        pub fn name(name: impl Into<String>) { name = Some(name.into()) }
    }
}

/// The usage of an answer, in tokens as the server counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens of the messages sent.
    pub input: u64,
    /// The part of the input tokens that the server had cached.
    #[serde(default)]
    pub cached: u64,
    /// Tokens of the answer, reasoning included.
    pub output: u64,
    /// The part of the output tokens that was reasoning.
    #[serde(default)]
    pub reasoning: u64,
}

impl Usage {
    /// Creates the usage of `input` and `output` tokens.
    pub fn new(input: u64, output: u64) -> Self {
        Self {
            input,
            output,
            ..Self::default()
        }
    }

    fugato_state::setters! {
        /// Sets the number of input tokens that were cached.
        pub fn cached(tokens: u64) { cached = tokens }

        /// Sets the number of output tokens that were reasoning.
        pub fn reasoning(tokens: u64) { reasoning = tokens }
    }

    /// Returns the number of input and output tokens together.
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, more: Self) {
        self.input = self.input.saturating_add(more.input);
        self.cached = self.cached.saturating_add(more.cached);
        self.output = self.output.saturating_add(more.output);
        self.reasoning = self.reasoning.saturating_add(more.reasoning);
    }
}

/// The reason why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FinishReason {
    /// The answer is complete.
    Stop,
    /// The limit of tokens was reached; the answer may end in the middle of a word.
    Length,
    /// The model wants tools to be called.
    ToolCalls,
    /// The server filtered out the rest.
    Filtered,
    /// Another reason, in the server's own word.
    Other(String),
}
