use std::{collections::BTreeMap, time::Duration};

use fugato_state::{Message, Schema, ToolSchema};
use serde::{Deserialize, Serialize};

/// A request to a model; it holds everything that the answer depends on.
///
/// A model is not changed by a request, so that one model can serve many callers at once.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ChatRequest {
    /// The name of the model to ask; none for the default of whoever answers. See
    /// [`Models`](crate::Models).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
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

    fugato_state::setters! {
        /// Sets the name of the model to ask.
        pub fn model(name: impl Into<String>) { model = Some(name.into()) }

        /// Appends a message.
        pub fn message(message: Message) { messages.push(message) }

        /// Adds tools.
        pub fn tools(tools: impl IntoIterator<Item = ToolSchema>) { tools.extend(tools) }

        /// Sets the choice of the tools to call.
        pub fn tool_choice(choice: ToolChoice) { tool_choice = choice }

        /// Sets the form of the text.
        pub fn response_format(format: ResponseFormat) { response_format = format }

        /// Sets the temperature: 0 is the most likely text, 1 the model's own spread.
        pub fn temperature(temperature: f32) { sampling.temperature = Some(temperature) }

        /// Limits the length of the answer, in tokens.
        pub fn max_tokens(tokens: u32) { sampling.max_tokens = Some(tokens) }

        /// Sets the thinking mode of the model.
        pub fn thinking(thinking: Thinking) { thinking = thinking }

        /// Sets the time limit of the whole answer.
        pub fn timeout(timeout: Duration) { timeout = Some(timeout) }

        /// Sets the greatest number of attempts.
        pub fn attempts(attempts: u32) { attempts = Some(attempts) }

        /// Adds data for traces.
        pub fn metadata(key: impl Into<String>, value: impl Into<String>) {
            metadata.insert(key.into(), value.into())
        }
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
