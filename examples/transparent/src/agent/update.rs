use fugato::{
    memory::{CompactionUpdate, FoundNote},
    state::{Message, Millis, ToolStatus},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Lang, Policy, Stop};
use crate::{intent::Intent, plan::Step};

/// What a turn is started with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Request {
    /// What the person wants.
    pub text: String,
    /// The language; that of the text if not said.
    pub lang: Option<Lang>,
    /// The job whose time has come, if no person said it.
    pub job: Option<String>,
}

impl Request {
    /// A person says this.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// The time of a job has come.
    pub fn of_job(job: impl Into<String>, task: impl Into<String>) -> Self {
        Self {
            job: Some(job.into()),
            ..Self::new(task)
        }
    }
}

/// A change of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Update {
    /// A turn begins.
    Asked(Request),
    /// What the program knows of it: where and when it is.
    Began {
        /// The thread.
        thread: String,
        /// The time, in milliseconds since the Unix epoch.
        at: Millis,
        /// The name of the person's time zone.
        zone: String,
        /// When conversations are compacted.
        policy: Policy,
    },
    /// Older messages came to this.
    Compacted(CompactionUpdate),
    /// What the person wants.
    Understood(Intent),
    /// The steps by which it may be reached; those that were left of an older plan are gone.
    Planned {
        /// The steps.
        steps: Vec<Step>,
        /// Whether it takes the place of another plan.
        again: bool,
    },
    /// What happens next.
    Moved {
        /// Why.
        thought: String,
        /// What.
        next: Move,
        /// The step of the plan that this is; none for a deviation.
        step: Option<usize>,
    },
    /// The memory was searched.
    Retrieved {
        /// For what.
        query: String,
        /// What was found, best first.
        found: Vec<FoundNote>,
    },
    /// A tool was called.
    Called {
        /// How it ended.
        status: ToolStatus,
        /// What the model reads.
        text: String,
        /// The same for programs.
        data: Value,
        /// Whether other arguments may be tried.
        repairable: bool,
    },
    /// A call that failed is tried again with these arguments.
    Repaired {
        /// The arguments.
        params: Map<String, Value>,
    },
    /// A call that failed is left.
    GaveUp,
    /// The model's answer could not be used.
    Corrected(Box<[Message; 2]>),
    /// The model cannot be used: rules decide for the rest of the turn.
    ByRule {
        /// Why.
        why: String,
    },
    /// No more is tried.
    Stopped(Stop),
    /// The person is answered.
    Answered {
        /// With this.
        text: String,
    },
}

/// What a turn does next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Move {
    /// Searches the memory.
    Retrieve {
        /// For what.
        query: String,
    },
    /// Calls a tool.
    Call {
        /// Which.
        name: String,
        /// With what.
        params: Map<String, Value>,
    },
    /// Leaves a step of the plan that cannot be done, and says why.
    Skip {
        /// Why.
        why: String,
    },
    /// Makes another plan.
    Replan,
    /// Answers.
    Finish,
}
