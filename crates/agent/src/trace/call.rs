use fugato_llm::{Attempt, Usage};
use fugato_stream::EventKind;
use serde::{Deserialize, Serialize};

use crate::text::{custom, told};

/// The record of one request to a model: the models that were called, durations and errors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ModelCall {
    /// The purpose: the `stage` in the request's metadata; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stage: String,
    /// The chain of attempts, the first one first; empty if the answer was not read to its end.
    pub attempts: Vec<Attempt>,
    /// The usage, if the server reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The end of the prompt, each message after the name of its role; empty unless it is stored.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompt: String,
    /// The beginning of the answer, with its calls; empty unless it is stored.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub answer: String,
}

impl ModelCall {
    /// The name of the event in a thread's stream.
    pub const NAME: &str = "model_call";

    /// The number of bytes of a prompt and of an answer that is enough to inspect a thread.
    pub const WORDS: usize = 8 << 10;

    pub(super) fn new(stage: String) -> Self {
        Self {
            stage,
            attempts: vec![],
            usage: None,
            prompt: String::new(),
            answer: String::new(),
        }
    }

    /// Returns the call as an event, to be stored as a note.
    pub fn to_event(&self) -> EventKind {
        custom(Self::NAME, serde_json::to_value(self).unwrap_or_default())
    }

    /// Returns the call in an event; none if the event is of another kind.
    pub fn of(event: &EventKind) -> Option<Self> {
        told(Self::NAME, event)
    }
}

impl std::fmt::Display for ModelCall {
    /// Writes one line: `plan: main 120 ms rate_limited, backup 80 ms`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut gap = "";
        if !self.stage.is_empty() {
            write!(f, "{}", self.stage)?;
            gap = ": ";
        }
        for attempt in &self.attempts {
            write!(f, "{gap}{} {} ms", attempt.model, attempt.took.as_millis())?;
            if let Some(failure) = &attempt.failure {
                write!(f, " {}", failure.kind.as_str())?;
            }
            gap = ", ";
        }
        Ok(())
    }
}

/// Returns the calls of models in the notes of a task, in the order in which they ended.
pub fn model_calls(notes: &[EventKind]) -> Vec<ModelCall> {
    notes.iter().filter_map(ModelCall::of).collect()
}
