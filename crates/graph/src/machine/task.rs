use std::collections::BTreeMap;

use fugato_state::{Interrupt, InterruptId, Millis};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{EffectRecord, ScatterItem};

/// One activation of a node in the open step.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Task<P> {
    /// Its address.
    pub path: P,
    /// Its item, inside a scatter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<ScatterItem>,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The number of attempts that ended with their process.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub crashes: u32,
    /// The state of the task.
    pub state: TaskStatus,
    /// The time of the next try, in milliseconds of the store's clock, while it sleeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Millis>,
    /// The actions on the outside world that it performed, or intended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<EffectRecord>,
    /// The questions of the task, with the answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<Box<Ask>>,
}

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TaskStatus {
    /// It can be started.
    Ready,
    /// It was started in this process. Never at rest: a crash makes it ready again.
    Running,
    /// It failed, and is tried again at its time.
    Sleeping,
    /// It has its outcome, which is folded when the step closes.
    Done,
    /// It failed for good.
    Failed,
    /// It waits for answers.
    Asking,
}

/// The questions of a task, with the answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ask {
    /// The memo that the task gets back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memo: Option<Value>,
    /// The questions that are open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<Interrupt>,
    /// The answers so far, by the key of the question.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<(String, Value)>,
    /// The digests of answered approvals, by the key of the question.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub digests: BTreeMap<String, String>,
    /// True if a question expired since it last asked.
    #[serde(default)]
    pub expired: bool,
}

impl Ask {
    /// Returns true if this question is open.
    pub(crate) fn is_open(&self, id: &InterruptId) -> bool {
        self.open.iter().any(|interrupt| interrupt.id == *id)
    }

    /// Returns the newest answer to the question of this key.
    pub(crate) fn answer(&self, key: &str) -> Option<&Value> {
        self.answers
            .iter()
            .rev()
            .find(|(asked, _)| asked == key)
            .map(|(_, value)| value)
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(crashes: &u32) -> bool {
    *crashes == 0
}

impl<P> Task<P> {
    /// Returns the number of tries, without those that ended with their process.
    pub(crate) fn tries(&self) -> u32 {
        self.attempt.saturating_sub(self.crashes)
    }

    /// Returns the record of one of its effects.
    pub(crate) fn effect(&self, key: &str) -> Option<&EffectRecord> {
        self.effects.iter().find(|effect| *effect.key == *key)
    }

    /// Returns the effects in doubt.
    pub(crate) fn doubts(&self) -> impl Iterator<Item = &EffectRecord> {
        self.effects.iter().filter(|effect| effect.is_in_doubt())
    }

    pub(super) fn new(path: P, item: Option<ScatterItem>) -> Self {
        Self {
            path,
            item,
            attempt: 1,
            crashes: 0,
            state: TaskStatus::Ready,
            until: None,
            effects: vec![],
            ask: None,
        }
    }

    /// Makes it another task that is ready, without an item. Dropping what is not there costs more than
    /// looking.
    pub(super) fn renew(&mut self, next: P) {
        let Self {
            path,
            item,
            attempt,
            crashes,
            state,
            until,
            effects,
            ask,
        } = self;
        (*path, *attempt, *crashes) = (next, 1, 0);
        (*state, *until) = (TaskStatus::Ready, None);
        effects.clear();
        if item.is_some() {
            *item = None;
        }
        if ask.is_some() {
            *ask = None;
        }
    }

    pub(super) fn with_path<Q>(self, path: Q) -> Task<Q> {
        let Self {
            item,
            attempt,
            crashes,
            state,
            until,
            effects,
            ask,
            ..
        } = self;
        Task {
            path,
            item,
            attempt,
            crashes,
            state,
            until,
            effects,
            ask,
        }
    }
}

/// The number of tasks of the open step in each state, so that the next work is known at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) ready: usize,
    pub(super) running: usize,
    pub(super) sleeping: usize,
    pub(super) done: usize,
    pub(super) failed: usize,
    pub(super) asking: usize,
}

impl Counts {
    pub(super) fn of(&mut self, state: TaskStatus) -> &mut usize {
        match state {
            TaskStatus::Ready => &mut self.ready,
            TaskStatus::Running => &mut self.running,
            TaskStatus::Sleeping => &mut self.sleeping,
            TaskStatus::Done => &mut self.done,
            TaskStatus::Failed => &mut self.failed,
            TaskStatus::Asking => &mut self.asking,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::to_raw_value;

    use super::*;
    use crate::machine::EffectStage;

    #[test]
    fn a_renewed_task_is_as_a_new_one() {
        let item = ScatterItem(to_raw_value("x").unwrap().into());
        let mut task = Task {
            attempt: 3,
            crashes: 2,
            state: TaskStatus::Sleeping,
            until: Some(7),
            effects: vec![EffectRecord {
                key: "pay".into(),
                digest: "d".into(),
                intents: 1,
                stage: EffectStage::Undone,
            }],
            ask: Some(Box::default()),
            ..Task::new("worker#1[0]", Some(item))
        };
        task.renew("join#1");
        let new = Task::new("join#1", None);
        assert_eq!(format!("{task:?}"), format!("{new:?}"));
    }
}
