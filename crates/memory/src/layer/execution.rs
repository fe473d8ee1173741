use std::collections::BTreeMap;

use fugato_state::{Millis, Plan};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::cut;

/// How far the present work is: its plan, what was observed, and what it waits for.
///
/// It holds nothing about the person that outlives the work.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Execution {
    /// What the work is for.
    pub goal: String,
    /// Where it stands.
    pub status: ExecutionStatus,
    /// Its steps.
    pub plan: Plan,
    /// The newest observations, oldest first: at most [`Self::MOST_OBSERVED`].
    pub observed: Vec<Observation>,
    /// What older observations came to, oldest first: at most [`Self::MOST_NOTES`].
    pub notes: Vec<String>,
    /// What it waits for.
    pub waiting: Option<Waiting>,
    /// What words such as "this one" stand for, by kind.
    pub references: BTreeMap<String, Reference>,
    /// What the world was like when it was last asked, by kind.
    pub snapshots: BTreeMap<String, Snapshot>,
    /// Why it failed; empty if it did not.
    pub error: String,
}

/// Where the work stands.
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
    /// Whether work that stands here may come to stand there.
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
            // A yes lets the very step go on that was asked about; a no is planned for.
            WaitingUserConfirmation => matches!(next, Planning | Running),
        }
    }
}

/// Something that was learnt on the way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// The step that it came from; empty for none.
    #[serde(default)]
    pub step: String,
    /// What it is: of a tool, a thought, a reply of the person.
    pub kind: String,
    /// In short: at most [`Execution::MOST_CHARACTERS`] characters.
    pub summary: String,
    /// In full, where there is more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Value>,
    /// When, in milliseconds since the Unix epoch.
    pub at: Millis,
}

/// A question that the work cannot go on without.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// What was asked.
    pub question: String,
    /// What for.
    #[serde(default)]
    pub intent: String,
    /// Which fields are missing.
    #[serde(default)]
    pub missing: Vec<String>,
    /// Since when, in milliseconds since the Unix epoch.
    pub since: Millis,
}

/// What "this one" stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
}

/// What the world was like at a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// What was seen.
    pub value: Value,
    /// When, in milliseconds since the Unix epoch.
    pub at: Millis,
}

/// A change to how far it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ExecutionUpdate {
    /// New work; whatever was there is gone.
    Began {
        /// What for.
        goal: String,
    },
    /// It is planned, and its steps are carried out from now on.
    Planned(Plan),
    /// The current step is done.
    Advanced,
    /// Something was learnt.
    Observed(Observation),
    /// It waits for an answer.
    Asked(Waiting),
    /// It waits for a yes or a no.
    AskedToConfirm(Waiting),
    /// There is an answer, and it is planned anew.
    Answered,
    /// The answer was yes.
    Confirmed,
    /// It is done.
    Completed,
    /// It cannot go on.
    Failed {
        /// Why.
        error: String,
    },
    /// A kind of word stands for this from now on.
    Referred {
        /// Which kind.
        kind: String,
        /// What for.
        to: Reference,
    },
    /// The world was asked; an older look of the same kind is replaced.
    Seen {
        /// At what.
        kind: String,
        /// What it was like.
        snapshot: Snapshot,
    },
    /// What was seen of this kind is not known to hold any more.
    Unseen {
        /// Which kind.
        kind: String,
    },
    /// All is forgotten.
    Cleared,
}

impl Execution {
    /// How many observations are kept in full.
    pub const MOST_OBSERVED: usize = 8;
    /// How many notes are kept of older ones.
    pub const MOST_NOTES: usize = 4;
    /// How long the summary of an observation is.
    pub const MOST_CHARACTERS: usize = 400;
    /// How long a note is.
    pub const MOST_CHARACTERS_OF_A_NOTE: usize = 500;

    /// Applies one change. One that the status does not allow changes nothing.
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

    fn wait(&mut self, status: ExecutionStatus, waiting: Waiting) {
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

    fn see(&mut self, kind: String, snapshot: Snapshot) {
        let newer = self
            .snapshots
            .get(&kind)
            .is_none_or(|there| there.at <= snapshot.at);
        if newer {
            self.snapshots.insert(kind, snapshot);
        }
    }
}
