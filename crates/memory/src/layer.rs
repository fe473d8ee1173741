//! The layers of memory, which do not mix: each has its own type, its own updates and its own
//! limits, and no update of one can reach another.
mod cut;
mod execution;
mod history;
mod preference;
mod task;

use serde::{Deserialize, Serialize};

pub use self::{
    cut::cut,
    execution::{
        Execution, ExecutionStatus, ExecutionUpdate, Observation, Reference, Snapshot, Waiting,
    },
    history::{History, HistoryUpdate, Speaker, Turn},
    preference::{PreferenceUpdate, Preferences},
    task::{Decision, TaskState, TaskSummary, TaskUpdate},
};

/// All layers of what one agent remembers of one person and one piece of work.
///
/// It is a part of a state: a `State` that holds it passes its updates on to [`Memory::apply`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// What was said lately; never a source of truth about the world.
    pub history: History,
    /// What the person is about, over many requests.
    pub task: TaskState,
    /// How far the present work is.
    pub execution: Execution,
    /// What the person wants in general.
    pub preferences: Preferences,
}

/// A change to one layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MemoryUpdate {
    /// To what was said.
    History(HistoryUpdate),
    /// To what it is about.
    Task(TaskUpdate),
    /// To how far it is.
    Execution(ExecutionUpdate),
    /// To what is wanted in general.
    Preference(PreferenceUpdate),
    /// Empties all layers of the work; preferences stay.
    Cleared,
}

impl Memory {
    /// Applies one change. What makes no sense changes nothing.
    pub fn apply(&mut self, update: MemoryUpdate) {
        match update {
            MemoryUpdate::History(update) => self.history.apply(update),
            MemoryUpdate::Task(update) => self.task.apply(update),
            MemoryUpdate::Execution(update) => self.execution.apply(update),
            MemoryUpdate::Preference(update) => self.preferences.apply(update),
            MemoryUpdate::Cleared => {
                self.history.apply(HistoryUpdate::Cleared);
                self.task.apply(TaskUpdate::Cleared);
                self.execution.apply(ExecutionUpdate::Cleared);
            }
        }
    }
}
