use jiff::civil::DateTime;
use serde::{Deserialize, Serialize};

use super::DEFAULT_MAX_ROUNDS;
use crate::{calendar::Lang, contract::Call, llm_config::ModelChoice};

/// A request of a person.
#[derive(smart_default::SmartDefault, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// In words.
    pub text: String,
    /// The language to answer in; that of the words if none is given.
    pub lang: Option<Lang>,
    /// The time on the person's clock; none if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<DateTime>,
    /// The classes that it is about; empty for those of the conversation so far.
    pub task_class_ids: Vec<u32>,
    /// True if writes are made without asking.
    pub always_execute: bool,
    /// The thinking of the model, on or off; none to let the route decide.
    pub thinking: Option<bool>,
    /// The message or the run that the person wants answered once more, by the client's id of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<String>,
    /// The models that answer it.
    #[serde(skip_serializing_if = "ModelChoice::is_empty")]
    pub models: ModelChoice,
    /// The number of rounds of execution that the run has.
    #[default(DEFAULT_MAX_ROUNDS)]
    pub max_rounds: u64,
    /// The memories of other conversations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// The text that the person gets before anything else, such as news of changes elsewhere.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// The one call that the person makes by hand, such as moving an item; the run does nothing
    /// else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<Call>,
}

/// The names of the tools that a person may call by hand.
pub const BY_HAND: [&str; 4] = ["move", "place", "swap", "unplace"];

impl Request {
    /// Makes a request from a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    fugato::state::setters! {
        /// Names the classes that it is about.
        pub fn classes(ids: impl IntoIterator<Item = u32>) {
            task_class_ids = ids.into_iter().collect()
        }

        /// Makes this call and nothing else; a call by hand counts as consent.
        pub fn by_hand(call: Call) { call = Some(call) }

        /// Limits the rounds of execution.
        pub fn max_rounds(rounds: u64) { max_rounds = rounds }

        /// Sets the language of the answer, regardless of that of the text.
        pub fn in_lang(lang: Lang) { lang = Some(lang) }
    }

    /// Lets writes be made without asking.
    #[must_use]
    pub fn always_execute(mut self) -> Self {
        self.always_execute = true;
        self
    }
}
