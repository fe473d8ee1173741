use fugato_state::Millis;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Job {
    /// Its name.
    pub id: String,
    /// The conversation in which it was made.
    pub thread: String,
    /// What is to be done, and when.
    pub wish: Wish,
    /// The zone in which its schedule is meant; that of the clock if it has no name.
    pub zone: String,
    /// When it is due next, in milliseconds since the Unix epoch.
    pub due: Millis,
    /// How often it was done.
    pub fired: u64,
}

impl Job {
    /// The thread in which it is done: beside its conversation, and of the same owner.
    pub fn place(&self) -> String {
        format!("{}.{}", self.thread, self.id)
    }
}

/// What is wanted of a job.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Wish {
    /// A cron expression.
    pub schedule: String,
    /// What is to be done.
    pub task: String,
    /// Whether only once.
    #[serde(default)]
    pub once: bool,
    /// What becomes of the times that nobody was there for.
    #[serde(default)]
    pub catch_up: CatchUp,
    /// What the program wants to know again when the time has come, such as a language.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub extra: Value,
}

impl Wish {
    /// Does this whenever the schedule says so.
    pub fn new(schedule: impl Into<String>, task: impl Into<String>) -> Self {
        Self {
            schedule: schedule.into(),
            task: task.into(),
            ..Self::default()
        }
    }

    /// Does it only the first time.
    #[must_use]
    pub fn once(self) -> Self {
        self.only_once(true)
    }

    /// Whether it is done only the first time.
    #[must_use]
    pub fn only_once(mut self, once: bool) -> Self {
        self.once = once;
        self
    }

    /// What becomes of the times that nobody was there for.
    #[must_use]
    pub fn catch_up(mut self, catch_up: CatchUp) -> Self {
        self.catch_up = catch_up;
        self
    }

    /// Keeps something of the program's with it.
    #[must_use]
    pub fn extra(mut self, extra: Value) -> Self {
        self.extra = extra;
        self
    }
}

/// What becomes of the times that passed while nobody was there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CatchUp {
    /// One run makes up for all of them.
    #[default]
    Once,
    /// Each is done, the oldest first.
    Each {
        /// Of more than these only the newest; none is as one.
        most: u32,
    },
    /// The last is done if it is not too long ago, and the others are left out.
    Within {
        /// How long ago it may be.
        seconds: u32,
    },
}
