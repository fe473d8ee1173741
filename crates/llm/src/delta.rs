use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Attempt;

/// One piece of an answer as it arrives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ChatDelta {
    /// More of the text.
    Text(String),
    /// More of what the model thinks before it speaks.
    Reasoning(String),
    /// More of a tool call.
    ToolCall(ToolCallDelta),
    /// What the answer cost so far; a later one replaces an earlier one.
    Usage(Usage),
    /// Why the model stopped. Usage may still follow.
    Finish(FinishReason),
    /// Something that the server wants back with the message: see [`Message::kept`].
    ///
    /// [`Message::kept`]: fugato_state::Message::kept
    Kept {
        /// The protocol that understands it.
        by: String,
        /// The thing itself, as the server gave it.
        value: Value,
    },
    /// One attempt to get this answer, told by a decorator.
    Attempt(Attempt),
}

impl ChatDelta {
    /// More of the text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// More of what the model thinks before it speaks.
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
    /// More of the name of the tool.
    pub name: Option<String>,
    /// More of the arguments, as JSON text.
    pub arguments: String,
}

impl ToolCallDelta {
    /// A piece of the call at `index`.
    pub fn new(index: usize, arguments: impl Into<String>) -> Self {
        Self {
            index,
            arguments: arguments.into(),
            ..Self::default()
        }
    }

    /// Says which call this is.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Says which tool is called.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }
}

/// What an answer cost, in tokens as the server counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens of the messages sent.
    pub input: u64,
    /// The part of them that the server had cached.
    #[serde(default)]
    pub cached: u64,
    /// Tokens of the answer, reasoning included.
    pub output: u64,
    /// The part of them that was reasoning.
    #[serde(default)]
    pub reasoning: u64,
}

impl Usage {
    /// So many tokens in and out.
    pub fn new(input: u64, output: u64) -> Self {
        Self {
            input,
            output,
            ..Self::default()
        }
    }

    /// Says how many of the tokens in were cached.
    #[must_use]
    pub fn cached(mut self, tokens: u64) -> Self {
        self.cached = tokens;
        self
    }

    /// Says how many of the tokens out were reasoning.
    #[must_use]
    pub fn reasoning(mut self, tokens: u64) -> Self {
        self.reasoning = tokens;
        self
    }

    /// Tokens in and out together.
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

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FinishReason {
    /// It had said everything.
    Stop,
    /// It reached the limit of tokens; the answer may end in the middle of a word.
    Length,
    /// It wants tools to be called.
    ToolCalls,
    /// The server withheld the rest.
    Filtered,
    /// A reason that only this server knows.
    Other(String),
}
