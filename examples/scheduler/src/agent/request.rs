use jiff::civil::DateTime;
use serde::{Deserialize, Serialize};

use super::DEFAULT_MAX_ROUNDS;
use crate::{calendar::Lang, contract::Call};

/// What a person asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// In words.
    pub text: String,
    /// The language to answer in; that of the words if none is given.
    pub lang: Option<Lang>,
    /// What the person's clock showed; none where nobody knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<DateTime>,
    /// The classes that it is about; empty for those of the conversation so far.
    pub task_class_ids: Vec<u32>,
    /// Whether writes are made without asking.
    pub always_execute: bool,
    /// Whether the model shall think; none to let the route decide.
    pub thinking: Option<bool>,
    /// How many rounds of execution the run has.
    pub max_rounds: u64,
    /// What is remembered of other conversations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// What the person does with their own hands, such as moving an item: this call and nothing
    /// else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<Call>,
}

/// What a person may do with their own hands.
pub const BY_HAND: [&str; 4] = ["move", "place", "swap", "unplace"];

impl Default for Request {
    fn default() -> Self {
        Self {
            text: String::new(),
            lang: None,
            now: None,
            task_class_ids: vec![],
            always_execute: false,
            thinking: None,
            max_rounds: DEFAULT_MAX_ROUNDS,
            memory: None,
            call: None,
        }
    }
}

impl Request {
    /// A request in words.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// Names the classes that it is about.
    #[must_use]
    pub fn classes(mut self, ids: impl IntoIterator<Item = u32>) -> Self {
        self.task_class_ids = ids.into_iter().collect();
        self
    }

    /// Lets writes be made without asking.
    #[must_use]
    pub fn always_execute(mut self) -> Self {
        self.always_execute = true;
        self
    }

    /// Makes this call and nothing else: whoever moves an item by hand has consented to that.
    #[must_use]
    pub fn by_hand(mut self, call: Call) -> Self {
        self.call = Some(call);
        self
    }

    /// Limits the rounds of execution.
    #[must_use]
    pub fn max_rounds(mut self, rounds: u64) -> Self {
        self.max_rounds = rounds;
        self
    }

    /// Answers in this language, whatever the words are in.
    #[must_use]
    pub fn in_lang(mut self, lang: Lang) -> Self {
        self.lang = Some(lang);
        self
    }
}
