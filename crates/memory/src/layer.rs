//! The layers of memory. Each has its own type, updates and limits, and no update of one layer
//! changes another.
mod cut;
mod execution;
mod history;
mod preference;
mod task;

use serde::{Deserialize, Serialize};

pub use self::{
    cut::cut,
    execution::{
        Execution, ExecutionStatus, ExecutionUpdate, Observation, PendingQuestion, Reference,
        WorldSnapshot,
    },
    history::{DialogueTurn, History, HistoryUpdate, Speaker},
    preference::{PreferenceUpdate, Preferences},
    task::{TaskDecision, TaskState, TaskSummary, TaskUpdate},
};

/// All layers of memory that one agent has of one person and one piece of work.
///
/// It is a part of a state: a `State` that holds it passes its updates on to [`Memory::apply`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// The recent conversation; never a source of truth about the world.
    pub history: History,
    /// The task of the person, over many requests.
    pub task: TaskState,
    /// The progress of the present work.
    pub execution: Execution,
    /// The general preferences of the person.
    pub preferences: Preferences,
}

/// A change to one layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MemoryUpdate {
    /// A change to the conversation.
    History(HistoryUpdate),
    /// A change to the task.
    Task(TaskUpdate),
    /// A change to the progress of the work.
    Execution(ExecutionUpdate),
    /// A change to the preferences.
    Preference(PreferenceUpdate),
    /// Empties all layers except the preferences.
    Cleared,
}

impl Memory {
    /// Applies one change. An update that its layer does not allow changes nothing.
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
