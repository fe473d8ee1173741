use fugato::{
    memory::{CompactionUpdate, FoundNote},
    state::{Message, Millis, ToolStatus},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{HistoryPolicy, Lang, TurnStop};
use crate::{intent::Intent, plan::TurnStep};

/// The input of a turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Request {
    /// The message of the person, or the task of the job.
    pub text: String,
    /// The language; none for that of the text.
    pub lang: Option<Lang>,
    /// The job that is due; none if a person sent the message.
    pub job: Option<String>,
    /// True for the words of a job that was done elsewhere, which are only told here.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub told: bool,
    /// The earlier messages, by the account of a client that keeps its conversations itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Message>,
}

impl Request {
    /// Returns a request of a person.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// Returns the words of a job that was done, for its conversation.
    pub fn told_by(job: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            told: true,
            ..Self::of_job(job, text)
        }
    }

    /// Returns a request of a job that is due.
    pub fn of_job(job: impl Into<String>, task: impl Into<String>) -> Self {
        Self {
            job: Some(job.into()),
            ..Self::new(task)
        }
    }
}

/// An update of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Update {
    /// A turn is requested.
    Asked(Request),
    /// A turn begins, with its place and time.
    Began {
        /// The name of the thread.
        thread: String,
        /// The time, in milliseconds since the Unix epoch.
        at: Millis,
        /// The name of the person's time zone.
        zone: String,
        /// The policy by which conversations are compacted.
        policy: HistoryPolicy,
    },
    /// A note was stored, as the person asked.
    Remembered,
    /// The content of a document was noted, as the person asked.
    Quoted {
        /// The path of the document.
        source: String,
    },
    /// A note could not be stored.
    NotRemembered {
        /// The reason.
        why: String,
    },
    /// Older messages were summarised.
    Compacted(CompactionUpdate),
    /// The intent is known.
    Understood(Intent),
    /// A plan was made; the remaining steps of an older plan are dropped.
    Planned {
        /// The steps.
        steps: Vec<TurnStep>,
        /// True if it replaces another plan.
        again: bool,
    },
    /// The next move was decided.
    Moved {
        /// The reason.
        thought: String,
        /// The move.
        next: Move,
        /// The index of the plan's step that it follows; none for a deviation.
        step: Option<usize>,
    },
    /// The memory was searched.
    Retrieved {
        /// The query.
        query: String,
        /// The notes that were found, best first.
        found: Vec<FoundNote>,
    },
    /// A tool was called.
    Called {
        /// The status of the result.
        status: ToolStatus,
        /// The result as the model reads it.
        text: String,
        /// The result as people are told it, if it differs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        told: Option<String>,
        /// The result as data.
        data: Value,
        /// True if the call may be repaired.
        repairable: bool,
    },
    /// A failed call is tried again with these arguments.
    Repaired {
        /// The arguments.
        params: Map<String, Value>,
    },
    /// A failed call is given up.
    GaveUp,
    /// The model's answer was unusable; the pair is the answer and its correction.
    Corrected(Box<[Message; 2]>),
    /// The model cannot be used: rules decide for the rest of the turn.
    ByRule {
        /// The reason.
        why: String,
    },
    /// The turn stops early.
    Stopped(TurnStop),
    /// The person is answered.
    Answered {
        /// The answer.
        text: String,
    },
}

/// A move of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Move {
    /// Searches the memory.
    Retrieve {
        /// The query.
        query: String,
    },
    /// Calls a tool.
    Call {
        /// The name of the tool.
        name: String,
        /// The arguments.
        params: Map<String, Value>,
    },
    /// Skips a step of the plan that cannot be carried out.
    Skip {
        /// The reason.
        why: String,
    },
    /// Makes another plan.
    Replan,
    /// Answers the person.
    Finish,
}
