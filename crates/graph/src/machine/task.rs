use fugato_state::{Interrupt, InterruptId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Item;

/// One activation of a node in the open step.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Task<P> {
    /// Its address.
    pub path: P,
    /// Its item, inside a scatter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<Item>,
    /// Which try this is, from 1.
    pub attempt: u32,
    /// How it stands.
    pub state: TaskState,
    /// What it asked and was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<Box<Ask>>,
}

/// How a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// It can be started.
    Ready,
    /// It was started in this process. Never at rest: a crash makes it ready again.
    Running,
    /// It has its outcome, which is folded when the step closes.
    Done,
    /// It failed for good.
    Failed,
    /// It waits for answers.
    Asking,
}

/// What a task asked and was told.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// What it wanted to remember.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memo: Option<Value>,
    /// The questions that are open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<Interrupt>,
    /// The answers so far, by the key of the question.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<(String, Value)>,
    /// Whether a question expired since it last asked.
    #[serde(default)]
    pub expired: bool,
}

impl Ask {
    /// Whether this question is open.
    pub fn is_open(&self, id: &InterruptId) -> bool {
        self.open.iter().any(|interrupt| interrupt.id == *id)
    }

    /// The newest answer to the question of this key.
    pub fn answer(&self, key: &str) -> Option<&Value> {
        self.answers
            .iter()
            .rev()
            .find(|(asked, _)| asked == key)
            .map(|(_, value)| value)
    }
}

impl<P> Task<P> {
    pub(super) fn new(path: P, item: Option<Item>) -> Self {
        Self {
            path,
            item,
            attempt: 1,
            state: TaskState::Ready,
            ask: None,
        }
    }

    pub(super) fn with_path<Q>(self, path: Q) -> Task<Q> {
        let Self {
            item,
            attempt,
            state,
            ask,
            ..
        } = self;
        Task {
            path,
            item,
            attempt,
            state,
            ask,
        }
    }
}

/// How many tasks of the open step stand how, so that asking what to do costs nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) ready: usize,
    pub(super) running: usize,
    pub(super) done: usize,
    pub(super) failed: usize,
    pub(super) asking: usize,
}

impl Counts {
    pub(super) fn of(&mut self, state: TaskState) -> &mut usize {
        match state {
            TaskState::Ready => &mut self.ready,
            TaskState::Running => &mut self.running,
            TaskState::Done => &mut self.done,
            TaskState::Failed => &mut self.failed,
            TaskState::Asking => &mut self.asking,
        }
    }
}
