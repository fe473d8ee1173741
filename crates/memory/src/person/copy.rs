use fugato_state::State;
use serde::{Deserialize, Serialize};

use crate::{MemoryUpdate, Preferences, TaskState};

/// A session's copy of the stored layers of a person, and the changes that are not stored yet.
///
/// ```
/// use fugato_memory::{MemoryUpdate, PersonCopy, PersonUpdate, Preferences, TaskState, TaskUpdate};
/// use fugato_state::State as _;
///
/// let mut copy = PersonCopy::default();
/// let learnt = TaskUpdate::Learnt { fact: "trades by day".into(), at: 7 };
/// copy.apply(PersonUpdate::Changed(MemoryUpdate::Task(learnt)));
/// // The store is still empty, and the change that is not stored yet stays.
/// let (task, preferences) = (TaskState::default(), Preferences::default());
/// copy.apply(PersonUpdate::Recalled { task, preferences });
/// assert_eq!(copy.task.facts, ["trades by day"]);
/// assert_eq!(copy.unsaved.len(), 1);
/// copy.apply(PersonUpdate::Stored(1));
/// assert_eq!((copy.task.facts.len(), copy.unsaved.len()), (1, 0));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PersonCopy {
    /// The task of the person, over all sessions.
    pub task: TaskState,
    /// The general preferences of the person.
    pub preferences: Preferences,
    /// The changes to the two that are not stored yet.
    pub unsaved: Vec<MemoryUpdate>,
}

/// A change to a copy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PersonUpdate {
    /// The stored layers were read; changes that are not stored yet are applied to them again.
    Recalled {
        /// The stored task.
        task: TaskState,
        /// The stored preferences.
        preferences: Preferences,
    },
    /// A change that is to be stored. A change of a layer that is not here is ignored.
    Changed(MemoryUpdate),
    /// The number of oldest changes that are stored now.
    Stored(usize),
}

impl PersonCopy {
    fn change(&mut self, update: MemoryUpdate) {
        match update.clone() {
            MemoryUpdate::Task(update) => self.task.apply(update),
            MemoryUpdate::Preference(update) => self.preferences.apply(update),
            _ => return,
        }
        self.unsaved.push(update);
    }
}

impl State for PersonCopy {
    type Update = PersonUpdate;

    fn apply(&mut self, update: PersonUpdate) {
        match update {
            PersonUpdate::Recalled { task, preferences } => {
                (self.task, self.preferences) = (task, preferences);
                for update in std::mem::take(&mut self.unsaved) {
                    self.change(update);
                }
            }
            PersonUpdate::Changed(update) => self.change(update),
            PersonUpdate::Stored(many) => {
                self.unsaved.drain(..many.min(self.unsaved.len()));
            }
        }
    }
}
