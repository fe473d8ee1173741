use fugato_graph::TaskTrace;
use fugato_llm::{Attempt, Usage};
use fugato_stream::EventKind;
use serde::{Deserialize, Serialize};

/// What one question to a model took: who was asked, for how long, and why not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ModelCall {
    /// What it was for: what the metadata of the request call `stage`; empty for nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stage: String,
    /// The chain of attempts, the first one first; empty if nobody waited for the end.
    pub attempts: Vec<Attempt>,
    /// What it cost, where the server tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The end of the prompt, each message after the name of its role; empty unless it is kept.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompt: String,
    /// The beginning of the answer, and the calls in it; empty unless it is kept.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub answer: String,
}

impl ModelCall {
    /// The name under which a call is told to the readers of a thread.
    pub const NAME: &str = "model_call";

    /// How many bytes of a prompt and of an answer are enough for whoever looks into a thread.
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

    /// The call as an event, to be kept as a note.
    pub fn to_event(&self) -> EventKind {
        EventKind::Custom {
            name: Self::NAME.to_owned(),
            data: serde_json::to_value(self).unwrap_or_default(),
        }
    }

    /// The call that an event tells of; none if it tells of something else.
    pub fn of(event: &EventKind) -> Option<Self> {
        match event {
            EventKind::Custom { name, data } if name == Self::NAME => Self::deserialize(data).ok(),
            _ => None,
        }
    }
}

impl std::fmt::Display for ModelCall {
    /// In one line: `plan: main 120 ms rate_limited, backup 80 ms`.
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

/// The models that a task asked, in the order in which they ended.
pub fn model_calls(task: &TaskTrace) -> Vec<ModelCall> {
    task.notes.iter().filter_map(ModelCall::of).collect()
}
