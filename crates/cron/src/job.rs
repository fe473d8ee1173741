use fugato_state::Millis;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Job {
    /// The id of the job.
    pub id: String,
    /// The conversation in which it was created.
    pub thread: String,
    /// The task and its schedule.
    pub wish: JobSpec,
    /// The zone of its schedule; that of the clock if empty.
    pub zone: String,
    /// The time at which it is due next, in milliseconds since the Unix epoch.
    pub due: Millis,
    /// The number of times that it was done.
    pub fired: u64,
}

impl Job {
    /// Returns the thread in which it runs: next to its conversation, and of the same owner.
    pub fn place(&self) -> String {
        format!("{}.{}", self.thread, self.id)
    }
}

/// The specification of a job.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct JobSpec {
    /// A cron expression.
    pub schedule: String,
    /// The task, in words.
    pub task: String,
    /// True if it is done only once.
    #[serde(default)]
    pub once: bool,
    /// True if it is done although nobody has spoken in its conversation, as a job that the
    /// application itself has made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub standing: bool,
    /// The policy for times that passed while no process was running.
    #[serde(default)]
    pub catch_up: CatchUp,
    /// Application data that is stored with the job, such as a language.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub extra: Value,
}

impl JobSpec {
    /// Creates a job that does this task on this schedule.
    pub fn new(schedule: impl Into<String>, task: impl Into<String>) -> Self {
        Self {
            schedule: schedule.into(),
            task: task.into(),
            ..Self::default()
        }
    }

    /// Limits the job to the first time of its schedule.
    #[must_use]
    pub fn once(self) -> Self {
        self.only_once(true)
    }

    fugato_state::setters! {
        /// Sets whether the job is limited to the first time of its schedule.
        pub fn only_once(once: bool) { once = once }

        /// Sets whether it is done although nobody has spoken in its conversation.
        pub fn standing(standing: bool) { standing = standing }

        /// Sets the policy for times that passed while no process was running.
        pub fn catch_up(catch_up: CatchUp) { catch_up = catch_up }

        /// Sets application data that is stored with the job.
        pub fn extra(extra: Value) { extra = extra }
    }
}

/// A policy for times that passed while no process was running.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CatchUp {
    /// One run stands for all of them.
    #[default]
    Once,
    /// Each is done, the oldest first.
    Each {
        /// The greatest number of times that are caught up, the newest ones; 0 counts as 1.
        most: u32,
    },
    /// Only the last one is done, and only if it is recent enough.
    Within {
        /// The greatest age of that time in seconds.
        seconds: u32,
    },
}
