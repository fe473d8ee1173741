use std::collections::BTreeMap;

use fugato_state::{Millis, Plan};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::cut;

/// The progress of the present work: its plan, its observations, and the question it waits for.
///
/// It holds nothing about the person that outlives the work.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Execution {
    /// The goal of the work.
    pub goal: String,
    /// The status of the work.
    pub status: ExecutionStatus,
    /// The steps of the work.
    pub plan: Plan,
    /// The newest observations, oldest first: at most [`Self::MOST_OBSERVED`].
    pub observed: Vec<Observation>,
    /// Short notes of older observations, oldest first: at most [`Self::MOST_NOTES`].
    pub notes: Vec<String>,
    /// The question that the work waits for.
    pub waiting: Option<PendingQuestion>,
    /// The referents of words such as "this one", by kind.
    pub references: BTreeMap<String, Reference>,
    /// The last snapshots of the outside world, by kind.
    pub snapshots: BTreeMap<String, WorldSnapshot>,
    /// The error of failed work; empty if it did not fail.
    pub error: String,
}

/// The status of the work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionStatus {
    /// It is being planned.
    #[default]
    Planning,
    /// Its steps are carried out.
    Running,
    /// It waits for an answer.
    WaitingUser,
    /// It waits for a yes or a no.
    WaitingUserConfirmation,
    /// It is done.
    Completed,
    /// It cannot go on.
    Failed,
}

impl ExecutionStatus {
    /// Returns true if this status may be followed by `next`.
    pub fn may_become(self, next: Self) -> bool {
        use ExecutionStatus::{
            Completed, Failed, Planning, Running, WaitingUser, WaitingUserConfirmation,
        };
        match self {
            Planning => next == Running,
            Running => matches!(
                next,
                WaitingUser | WaitingUserConfirmation | Completed | Failed
            ),
            WaitingUser | Completed | Failed => next == Planning,
            // After a yes the step that needed it goes on; after a no the work is planned again.
            WaitingUserConfirmation => matches!(next, Planning | Running),
        }
    }
}

/// An observation made during the work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// The step that it came from; empty if none.
    #[serde(default)]
    pub step: String,
    /// The kind of observation, such as the result of a tool, a thought, or a reply of the person.
    pub kind: String,
    /// The observation in short: at most [`Execution::MOST_CHARACTERS`] characters.
    pub summary: String,
    /// The full observation, if it is longer than its summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Value>,
    /// The time, in milliseconds since the Unix epoch.
    pub at: Millis,
}

/// A question that must be answered before the work can go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingQuestion {
    /// The question.
    pub question: String,
    /// The purpose of the question.
    #[serde(default)]
    pub intent: String,
    /// The names of the missing fields.
    #[serde(default)]
    pub missing: Vec<String>,
    /// The time of the question, in milliseconds since the Unix epoch.
    pub since: Millis,
}

/// The referent of a word such as "this one".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// The id of the referent.
    pub id: String,
    /// The name of the referent.
    pub name: String,
}

/// A snapshot of the outside world.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorldSnapshot {
    /// The observed value.
    pub value: Value,
    /// The time, in milliseconds since the Unix epoch.
    pub at: Millis,
}

/// A change to the progress of the work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ExecutionUpdate {
    /// New work begins; the previous state is discarded.
    Began {
        /// The goal of the work.
        goal: String,
    },
    /// The plan is made; its steps are carried out from now on.
    Planned(Plan),
    /// The current step is done.
    Advanced,
    /// An observation was made.
    Observed(Observation),
    /// It waits for an answer.
    Asked(PendingQuestion),
    /// It waits for a yes or a no.
    AskedToConfirm(PendingQuestion),
    /// The question was answered, and the work is planned again.
    Answered,
    /// The person confirmed.
    Confirmed,
    /// It is done.
    Completed,
    /// It cannot go on.
    Failed {
        /// The error message.
        error: String,
    },
    /// A kind of word refers to this from now on.
    Referred {
        /// The kind of word.
        kind: String,
        /// The referent.
        to: Reference,
    },
    /// A new snapshot; it replaces an older one of the same kind.
    Seen {
        /// The kind of snapshot.
        kind: String,
        /// The snapshot.
        snapshot: WorldSnapshot,
    },
    /// The snapshot of a kind is no longer known to hold, and is removed.
    Unseen {
        /// The kind of snapshot.
        kind: String,
    },
    /// Everything is reset.
    Cleared,
}

impl Execution {
    /// The number of observations that are kept in full.
    pub const MOST_OBSERVED: usize = 8;
    /// The number of notes that are kept of older observations.
    pub const MOST_NOTES: usize = 4;
    /// The greatest length of the summary of an observation, in characters.
    pub const MOST_CHARACTERS: usize = 400;
    /// The greatest length of a note, in characters.
    pub const MOST_CHARACTERS_OF_A_NOTE: usize = 500;

    /// Applies one change. A change that the status does not allow has no effect.
    pub fn apply(&mut self, update: ExecutionUpdate) {
        match update {
            ExecutionUpdate::Began { goal } => {
                *self = Self {
                    goal,
                    ..Self::default()
                }
            }
            ExecutionUpdate::Planned(plan) => {
                if self.become_now(ExecutionStatus::Running) {
                    self.plan = plan;
                }
            }
            ExecutionUpdate::Advanced => {
                self.plan.advance();
            }
            ExecutionUpdate::Observed(observation) => self.observe(observation),
            ExecutionUpdate::Asked(waiting) => {
                self.wait(ExecutionStatus::WaitingUser, waiting);
            }
            ExecutionUpdate::AskedToConfirm(waiting) => {
                self.wait(ExecutionStatus::WaitingUserConfirmation, waiting);
            }
            ExecutionUpdate::Answered => {
                self.become_now(ExecutionStatus::Planning);
            }
            ExecutionUpdate::Confirmed => {
                if self.status == ExecutionStatus::WaitingUserConfirmation {
                    self.become_now(ExecutionStatus::Running);
                }
            }
            ExecutionUpdate::Completed => {
                self.become_now(ExecutionStatus::Completed);
            }
            ExecutionUpdate::Failed { error } => {
                if self.become_now(ExecutionStatus::Failed) {
                    self.error = error;
                }
            }
            ExecutionUpdate::Referred { kind, to } => {
                self.references.insert(kind, to);
            }
            ExecutionUpdate::Seen { kind, snapshot } => self.see(kind, snapshot),
            ExecutionUpdate::Unseen { kind } => {
                self.snapshots.remove(&kind);
            }
            ExecutionUpdate::Cleared => *self = Self::default(),
        }
    }

    fn become_now(&mut self, next: ExecutionStatus) -> bool {
        let may = self.status.may_become(next);
        if may {
            self.status = next;
            self.waiting = None;
            self.error.clear();
        }
        may
    }

    fn wait(&mut self, status: ExecutionStatus, waiting: PendingQuestion) {
        if self.become_now(status) {
            self.waiting = Some(waiting);
        }
    }

    fn observe(&mut self, mut observation: Observation) {
        observation.summary = cut(&observation.summary, Self::MOST_CHARACTERS);
        self.observed.push(observation);
        while self.observed.len() > Self::MOST_OBSERVED {
            let oldest = self.observed.remove(0);
            let note = format!("{}: {}", oldest.kind, oldest.summary);
            self.notes.push(cut(&note, Self::MOST_CHARACTERS_OF_A_NOTE));
        }
        let over = self.notes.len().saturating_sub(Self::MOST_NOTES);
        self.notes.drain(..over);
    }

    fn see(&mut self, kind: String, snapshot: WorldSnapshot) {
        let newer = self
            .snapshots
            .get(&kind)
            .is_none_or(|there| there.at <= snapshot.at);
        if newer {
            self.snapshots.insert(kind, snapshot);
        }
    }
}
