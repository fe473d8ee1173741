use std::{collections::BTreeMap, time::Duration};

use fugato_state::{Message, Schema, ToolSchema};
use serde::{Deserialize, Serialize};

/// A request to a model; it holds everything that the answer depends on.
///
/// A model is not changed by a request, so that one model can serve many callers at once.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ChatRequest {
    /// The conversation so far, oldest first.
    pub messages: Vec<Message>,
    /// The tools that the model may propose to call.
    #[serde(default)]
    pub tools: Vec<ToolSchema>,
    /// The choice of the tools to call.
    #[serde(default)]
    pub tool_choice: ToolChoice,
    /// The form of the text.
    #[serde(default)]
    pub response_format: ResponseFormat,
    /// The sampling parameters.
    #[serde(default)]
    pub sampling: Sampling,
    /// The thinking mode of the model.
    #[serde(default)]
    pub thinking: Thinking,
    /// The time limit of the whole answer.
    #[serde(default)]
    pub timeout: Option<Duration>,
    /// The greatest number of attempts, counted over retries and backups together.
    #[serde(default)]
    pub attempts: Option<u32>,
    /// Data for traces, such as the stage; it is not sent to a server.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
}

impl ChatRequest {
    /// Creates a request for the next message of a conversation.
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

    /// Sets the choice of the tools to call.
    #[must_use]
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = choice;
        self
    }

    /// Sets the form of the text.
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

    /// Sets the thinking mode of the model.
    #[must_use]
    pub fn thinking(mut self, thinking: Thinking) -> Self {
        self.thinking = thinking;
        self
    }

    /// Sets the time limit of the whole answer.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets the greatest number of attempts.
    #[must_use]
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = Some(attempts);
        self
    }

    /// Adds data for traces.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }
}

/// The choice of the tools that a model should call.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No tool; the answer must be text.
    None,
    /// At least one tool.
    Required,
    /// The tool of this name.
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
        /// True if the server must enforce the schema strictly.
        strict: bool,
    },
}

/// The sampling parameters. A parameter of `None` is left to the server.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Sampling {
    /// The temperature: 0 is the most likely text, 1 the model's own spread.
    pub temperature: Option<f32>,
    /// The probability of the most likely tokens among which the next one is chosen.
    pub top_p: Option<f32>,
    /// The longest answer, in tokens.
    pub max_tokens: Option<u32>,
    /// The texts at which the model stops.
    #[serde(default)]
    pub stop: Vec<String>,
    /// The seed of the random choice; equal seeds give equal answers where the server supports
    /// that.
    pub seed: Option<u64>,
}

/// The thinking mode of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Thinking {
    /// The default of the server.
    #[default]
    Auto,
    /// The model thinks before it answers.
    On,
    /// The model answers at once.
    Off,
}
