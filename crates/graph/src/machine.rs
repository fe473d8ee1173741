//! The step machine: the control flow of a thread, without its state.
//!
//! *Sans-IO*: the machine does not wait, does not store and has no clock. A driver calls
//! [`Machine::directive`], does the work, and records the result as a [`Fact`]. Replaying the facts of a
//! log gives the same machine as the live run.

mod address;
mod effect;
mod evolve;
mod fact;
mod fit;
mod path;
mod saved;
mod task;

use std::collections::{BTreeMap, HashMap};

use fugato_state::{Interrupt, InterruptId, Millis, RunId};
use serde::{Deserialize, Serialize};

pub use effect::BudgetUnit;
pub(crate) use effect::{BudgetUsage, EffectRecord, EffectStage, KeyedRequest, RequestStatus};
pub use fact::Attribution;
pub(crate) use fact::{Fact, Json, NextTask, ProgramVersion, RequestKey, Routes, ScatterItem};
pub(crate) use fit::InvalidFact;
pub(crate) use path::{BadPath, Names, NodeIx, TaskPath};
pub(crate) use saved::SavedMachine;
pub(crate) use task::{Ask, Task, TaskStatus};

use task::Counts;

/// The control flow of a thread: its phase, and the tasks of the open step.
#[derive(Debug, Clone, Default)]
pub(crate) struct Machine {
    run: u64,
    steps: u64,
    phase: ThreadPhase,
    under: Option<ProgramVersion>,
    visits: Vec<u32>,
    frontier: Vec<Task<TaskPath>>,
    positions: HashMap<TaskPath, usize>,
    counts: Counts,
    /// Half-filled joins: the joining node, and the nodes that have arrived.
    joins: BTreeMap<String, Vec<String>>,
    asked: u64,
    /// The final failures in the open step, in their order: the task, and the error.
    failures: Vec<(TaskPath, String)>,
    output: Option<Json>,
    incarnation: u64,
    /// Effects of the whole thread.
    effects: Vec<EffectRecord>,
    spent: BudgetUsage,
    /// The requests that callers named.
    keys: BTreeMap<String, KeyedRequest>,
    /// True if the run was left to others between two steps.
    left: bool,
}

/// The phase of a thread.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub(crate) enum ThreadPhase {
    /// No run has begun.
    #[default]
    New,
    /// A run is under way: it runs, waits for answers, or was left unfinished by a crash.
    Running,
    /// The last run reached its end.
    Ended,
    /// The last run failed and can be tried again.
    Failed {
        /// The error.
        error: String,
    },
    /// The last run was cancelled.
    Cancelled,
}

/// The next work of a driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Directive {
    /// Start the tasks that are ready.
    Run,
    /// Wait for an outcome of a running task.
    Wait,
    /// Wait for the time at which a failed task is tried again, in milliseconds of the store's
    /// clock.
    Sleep(Millis),
    /// Every task has an outcome: fold, route, close the step.
    Route,
    /// A task failed for good and the others are settled: record that the run failed.
    Fail,
    /// Wait for answers: only they let the thread go on.
    Park,
    /// Nothing is left to do: record the end of the run.
    End,
    /// No run is under way.
    Rest,
}

impl Machine {
    /// Returns the next work.
    pub(crate) fn directive(&self) -> Directive {
        let counts = self.counts;
        match self.phase {
            ThreadPhase::Running if counts.ready > 0 => Directive::Run,
            ThreadPhase::Running if counts.running > 0 => Directive::Wait,
            ThreadPhase::Running if counts.sleeping > 0 => {
                Directive::Sleep(self.wakes().unwrap_or(0))
            }
            ThreadPhase::Running if counts.failed > 0 => Directive::Fail,
            ThreadPhase::Running if counts.asking > 0 => Directive::Park,
            ThreadPhase::Running if counts.done > 0 => Directive::Route,
            ThreadPhase::Running => Directive::End,
            _ => Directive::Rest,
        }
    }

    /// Returns the phase of the thread.
    pub(crate) fn phase(&self) -> &ThreadPhase {
        &self.phase
    }

    /// Returns the time at which the first failed task is tried again, in milliseconds of the
    /// store's clock.
    pub(crate) fn wakes(&self) -> Option<Millis> {
        let sleeping = self.frontier.iter();
        let sleeping = sleeping.filter(|task| task.state == TaskStatus::Sleeping);
        sleeping.filter_map(|task| task.until).min()
    }

    /// Makes failed tasks ready whose retry is due. This is no fact: a process that opens the
    /// thread later has the same clock.
    pub(crate) fn wake(&mut self, now: Millis) {
        for position in 0..self.frontier.len() {
            let due = self.frontier.get(position).is_some_and(|task| {
                task.state == TaskStatus::Sleeping && task.until.is_none_or(|until| until <= now)
            });
            if due {
                self.set(position, TaskStatus::Ready);
            }
        }
    }

    /// Returns true if the run was left to others between two steps, so that nothing of it was
    /// under way.
    pub(crate) fn was_handed_over(&self) -> bool {
        self.left
    }

    /// Returns the number that no other thread of this name had.
    pub(crate) fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// Returns the amounts that the current or last run has used.
    pub(crate) fn spent(&self) -> &BudgetUsage {
        &self.spent
    }

    /// Returns the record of a request that its caller named.
    pub(crate) fn keyed(&self, key: &str) -> Option<&KeyedRequest> {
        self.keys.get(key)
    }

    /// Returns the record of an effect of a task, or of the whole thread.
    pub(crate) fn effect(&self, task: Option<&TaskPath>, key: &str) -> Option<&EffectRecord> {
        match task {
            Some(path) => self.task(self.position(path)?)?.effect(key),
            None => self.effects.iter().find(|effect| *effect.key == *key),
        }
    }

    /// Returns the current or last run.
    pub(crate) fn run(&self) -> RunId {
        RunId(self.run)
    }

    /// Returns the number of steps that the current or last run has closed.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// Returns the graph and state version that wrote last.
    pub(crate) fn under(&self) -> Option<&ProgramVersion> {
        self.under.as_ref()
    }

    /// Returns the output of the last run that ended.
    pub(crate) fn output(&self) -> Option<&Json> {
        self.output.as_ref()
    }

    /// Returns the tasks of the open step.
    pub(crate) fn frontier(&self) -> &[Task<TaskPath>] {
        &self.frontier
    }

    /// Returns the task at a position of the frontier.
    pub(crate) fn task(&self, position: usize) -> Option<&Task<TaskPath>> {
        self.frontier.get(position)
    }

    /// Returns the first task of the open step that failed for good, with its error.
    pub(crate) fn failure(&self) -> Option<(TaskPath, &str)> {
        let failure = self.failures.first();
        failure.map(|(task, error)| (*task, error.as_str()))
    }

    /// Returns the half-filled joins: the joining node, and the nodes that have arrived.
    pub(crate) fn half_filled(&self) -> &BTreeMap<String, Vec<String>> {
        &self.joins
    }

    /// Returns the open questions, in the order of the frontier.
    pub(crate) fn interrupts(&self) -> impl Iterator<Item = &Interrupt> {
        self.frontier
            .iter()
            .filter_map(|task| task.ask.as_deref())
            .flat_map(|ask| &ask.open)
    }

    /// Returns the time at which the first open question expires.
    pub(crate) fn expires(&self) -> Option<Millis> {
        self.interrupts()
            .filter_map(|interrupt| interrupt.question.expires_at)
            .min()
    }

    /// Returns the position of the task that asks a question.
    pub(crate) fn asker(&self, id: &InterruptId) -> Option<usize> {
        let asks = |task: &Task<TaskPath>| task.ask.as_ref().is_some_and(|ask| ask.is_open(id));
        self.frontier.iter().position(asks)
    }

    /// Returns a name for the next question that was never used in this incarnation of the thread.
    pub(crate) fn interrupt_name(&self, task: &str, ahead: u64) -> String {
        let number = self.asked.saturating_add(ahead).saturating_add(1);
        format!("{task}~{number}")
    }

    /// Returns the address of a node's next activation.
    pub(crate) fn next_path(&self, node: NodeIx) -> TaskPath {
        let visit = self.visits.get(node.at()).copied().unwrap_or(0);
        TaskPath {
            node,
            visit: visit.saturating_add(1),
            index: None,
        }
    }

    /// Sets the state of a task that is a subgraph, taken from its scope.
    pub(crate) fn mirror(&mut self, position: usize, state: TaskStatus, until: Option<Millis>) {
        if let Some(task) = self.frontier.get_mut(position) {
            task.until = until;
        }
        self.set(position, state);
    }

    /// Returns true if no task runs or waits for a retry.
    pub(crate) fn is_still(&self) -> bool {
        self.counts.running == 0 && self.counts.sleeping == 0
    }

    /// Returns true if a task is done that no step has closed.
    pub(crate) fn is_done(&self) -> bool {
        self.counts.done > 0
    }

    /// Returns the effects of the whole thread that are in doubt.
    pub(crate) fn doubts(&self) -> impl Iterator<Item = &EffectRecord> {
        self.effects.iter().filter(|effect| effect.is_in_doubt())
    }

    /// Returns true if another task of the same activation is open: the rest of a scatter.
    pub(crate) fn has_siblings(&self, path: &TaskPath) -> bool {
        let same = |other: &&Task<TaskPath>| {
            other.path.node == path.node && other.path.visit == path.visit && other.path != *path
        };
        path.index.is_some() && self.frontier.iter().any(|task| same(&task))
    }

    /// Returns true if a task of the node has been routed to and has not begun.
    pub(crate) fn unbegun(&self, node: NodeIx) -> bool {
        let same = |task: &Task<TaskPath>| {
            task.path.node == node && task.state == TaskStatus::Ready && task.attempt == 1
        };
        self.frontier.iter().any(same)
    }

    /// Returns the position of a task in the frontier.
    pub(crate) fn position(&self, path: &TaskPath) -> Option<usize> {
        match self.frontier.as_slice() {
            [only] => (only.path == *path).then_some(0),
            _ => self.positions.get(path).copied(),
        }
    }

    fn task_mut(&mut self, path: &TaskPath) -> Option<&mut Task<TaskPath>> {
        let position = self.position(path)?;
        self.frontier.get_mut(position)
    }

    fn set_at(&mut self, path: &TaskPath, state: TaskStatus) {
        if let Some(position) = self.position(path) {
            self.set(position, state);
        }
    }

    /// Sets the state of a task without a fact: that it runs, which is over after a crash, or that
    /// it is done, before the fact of it is recorded.
    pub(crate) fn set(&mut self, position: usize, state: TaskStatus) {
        if let Some(task) = self.frontier.get_mut(position) {
            *self.counts.of(task.state) -= 1;
            *self.counts.of(state) += 1;
            task.state = state;
        }
    }
}
