//! The plan of a conversation: tasks, one after the other.
use fugato::form::Fields;
use serde::{Deserialize, Serialize};

use crate::{
    form::FormKind,
    ledger::Document,
    read::{Goal, UNSURE},
};

/// The tasks of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskPlan {
    /// The tasks, oldest first.
    pub tasks: Vec<PlanTask>,
    /// The fields that were filled in by actions on their own, without a task.
    pub form: Fields,
}

/// One thing that is to be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanTask {
    /// Its name within the conversation.
    pub task_id: String,
    /// Its form.
    pub form: FormKind,
    /// The goal: handed in, or kept as a draft.
    pub goal: Goal,
    /// The filled fields.
    pub fields: Fields,
    /// The confidence that this is meant, from 0 to 1.
    pub confidence: f64,
    /// The status.
    #[serde(default)]
    pub status: WorkStatus,
    /// The names of the missing fields, in the order of the form.
    #[serde(default)]
    pub missing_fields: Vec<String>,
    /// The document that came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
    /// The document that it withdraws, restores or changes, as it was when this was planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<Document>,
    /// The parts of the words that look like facts and were not taken up: the person is told of them
    /// before a card is shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
    /// The steps that carry it out.
    #[serde(default)]
    pub action_steps: Vec<ActionStep>,
}

/// The status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkStatus {
    /// It is still to be done.
    #[default]
    Open,
    /// It is done.
    Done,
    /// It is not wanted any more, or nothing can come of it.
    Closed,
}

/// A step of a task, as a page shows and requests it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionStep {
    /// The action.
    pub action: String,
    /// True if it writes.
    pub side_effect: bool,
    /// True if a person has to agree to it first.
    pub confirmation_required: bool,
}

impl TaskPlan {
    /// Returns the task that is worked on: the first one that is open.
    pub fn current(&self) -> Option<&PlanTask> {
        self.tasks
            .iter()
            .find(|task| task.status == WorkStatus::Open)
    }

    pub(super) fn current_mut(&mut self) -> Option<&mut PlanTask> {
        self.tasks
            .iter_mut()
            .find(|task| task.status == WorkStatus::Open)
    }

    /// Lets the next task come before the current one.
    pub(super) fn turn(&mut self) {
        let current = self
            .tasks
            .iter()
            .position(|task| task.status == WorkStatus::Open);
        if let Some(at) = current {
            let task = self.tasks.remove(at);
            self.tasks.push(task);
        }
    }

    /// Closes the open tasks, but not forms of other kinds that were begun, and returns the place before
    /// these.
    pub(super) fn give_way(&mut self, forms: &[FormKind]) -> usize {
        for task in &mut self.tasks {
            let is_begun = task.confidence > UNSURE && !task.fields.is_empty();
            let stays = is_begun && !forms.contains(&task.form);
            if task.status == WorkStatus::Open && !stays {
                task.status = WorkStatus::Closed;
            }
        }
        let is_open = |task: &PlanTask| task.status == WorkStatus::Open;
        let first = self.tasks.iter().position(is_open);
        first.unwrap_or(self.tasks.len())
    }

    pub(super) fn find_mut(&mut self, id: &str) -> Option<&mut PlanTask> {
        self.tasks.iter_mut().find(|task| task.task_id == id)
    }

    /// Returns the name of the `nth` new task, from 0; the names start at `t1`.
    pub fn next_id(&self, nth: usize) -> String {
        format!("t{}", self.tasks.len() + nth + 1)
    }
}
