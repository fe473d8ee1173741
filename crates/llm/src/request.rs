use std::{collections::BTreeMap, time::Duration};

use fugato_state::{Message, Schema, ToolSchema};
use serde::{Deserialize, Serialize};

/// What a model is asked: everything that an answer depends on travels here.
///
/// Nothing is bound to a model by mutation, so that one model can serve many callers at once.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ChatRequest {
    /// The conversation so far, oldest first.
    pub messages: Vec<Message>,
    /// The tools that the model may propose to call.
    #[serde(default)]
    pub tools: Vec<ToolSchema>,
    /// Whether and which tools it should call.
    #[serde(default)]
    pub tool_choice: ToolChoice,
    /// The form of the text.
    #[serde(default)]
    pub response_format: ResponseFormat,
    /// How the text is chosen.
    #[serde(default)]
    pub sampling: Sampling,
    /// Whether the model thinks before it speaks.
    #[serde(default)]
    pub thinking: Thinking,
    /// How long the whole answer may take.
    #[serde(default)]
    pub timeout: Option<Duration>,
    /// How often it may be tried at most, counted over retries and backups together.
    #[serde(default)]
    pub attempts: Option<u32>,
    /// What traces should know, such as the stage; no server sees it.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
}

impl ChatRequest {
    /// A request for the next message of a conversation.
    pub fn new(messages: impl IntoIterator<Item = Message>) -> Self {
        Self {
            messages: messages.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Appends a message.
    #[must_use]
    pub fn message(mut self, message: Message) -> Self {
        self.messages.push(message);
        self
    }

    /// Adds tools.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = ToolSchema>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Says whether and which tools should be called.
    #[must_use]
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = choice;
        self
    }

    /// Says what form the text must have.
    #[must_use]
    pub fn response_format(mut self, format: ResponseFormat) -> Self {
        self.response_format = format;
        self
    }

    /// Sets the temperature: 0 is the most likely text, 1 the model's own spread.
    #[must_use]
    pub fn temperature(mut self, temperature: f32) -> Self {
        self.sampling.temperature = Some(temperature);
        self
    }

    /// Limits the length of the answer, in tokens.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.sampling.max_tokens = Some(tokens);
        self
    }

    /// Says whether the model thinks before it speaks.
    #[must_use]
    pub fn thinking(mut self, thinking: Thinking) -> Self {
        self.thinking = thinking;
        self
    }

    /// Limits how long the whole answer may take.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Limits how often it is tried.
    #[must_use]
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = Some(attempts);
        self
    }

    /// Adds something that traces should know.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }
}

/// Whether and which tools a model should call.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolChoice {
    /// As it sees fit.
    #[default]
    Auto,
    /// None; it must answer in text.
    None,
    /// At least one.
    Required,
    /// This one.
    Named(String),
}

/// The form of the text.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResponseFormat {
    /// Any text.
    #[default]
    Text,
    /// A JSON object.
    JsonObject,
    /// JSON that fits a schema.
    JsonSchema {
        /// A name for it: letters, digits, `_` and `-`.
        name: String,
        /// The schema.
        schema: Schema,
        /// Whether the server must refuse to produce anything else.
        strict: bool,
    },
}

/// How the text is chosen. What is none is left to the server.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Sampling {
    /// 0 is the most likely text, 1 the model's own spread.
    pub temperature: Option<f32>,
    /// Only the most likely tokens that together have this probability.
    pub top_p: Option<f32>,
    /// The longest answer, in tokens.
    pub max_tokens: Option<u32>,
    /// Texts at which to stop.
    #[serde(default)]
    pub stop: Vec<String>,
    /// The same seed gives the same answer where the server can.
    pub seed: Option<u64>,
}

/// Whether a model thinks before it speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Thinking {
    /// As the server does by default.
    #[default]
    Auto,
    /// It thinks.
    On,
    /// It answers at once.
    Off,
}
