//! The step machine: what a thread is doing, without the state that it does it to.
//!
//! *Sans-IO*: the machine waits for nothing, stores nothing and knows no clock. A driver asks
//! [`Machine::todo`], does it, and tells the machine what came out by a [`Fact`]. Replaying the
//! facts of a log gives the same machine as living through them did.

mod fact;
mod path;
mod saved;
mod task;

use std::collections::{BTreeMap, HashMap};

use fugato_state::{Interrupt, InterruptId, Millis, RunId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use fact::{Fact, Item, Json, Next, Routes, Under};
pub use path::{BadPath, Names, NodeIx, Path};
pub use saved::{SavedMachine, SavedMachineError};
pub use task::{Ask, Task, TaskState};

use task::Counts;

/// What a thread is doing.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    run: u64,
    steps: u64,
    phase: Phase,
    under: Option<Under>,
    visits: Vec<u32>,
    frontier: Vec<Task<Path>>,
    positions: HashMap<Path, usize>,
    counts: Counts,
    /// Half-filled joins: the joining node, and who has arrived.
    joins: BTreeMap<String, Vec<String>>,
    asked: u64,
    /// The first failure for good in the open step: the task, and why.
    failure: Option<(Path, String)>,
    output: Option<Json>,
}

/// Where a thread stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Phase {
    /// No run has begun.
    #[default]
    New,
    /// A run is under way: it runs, waits for answers, or was left unfinished by a crash.
    Running,
    /// The last run reached its end.
    Ended,
    /// The last run failed and can be tried again.
    Failed {
        /// Why.
        error: String,
    },
    /// The last run was cancelled.
    Cancelled,
}

/// What a driver should do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Todo {
    /// Start the tasks that are ready.
    Run,
    /// Wait for an outcome of a running task.
    Wait,
    /// Every task has an outcome: fold, route, close the step.
    Route,
    /// A task failed for good and the others have settled: record that the run failed.
    Fail,
    /// Only answers can let the thread go on.
    Park,
    /// Nothing is left to do: record the end of the run.
    End,
    /// No run is under way.
    Rest,
}

impl Machine {
    /// What to do now.
    pub fn todo(&self) -> Todo {
        let counts = self.counts;
        match self.phase {
            Phase::Running if counts.ready > 0 => Todo::Run,
            Phase::Running if counts.running > 0 => Todo::Wait,
            Phase::Running if counts.failed > 0 => Todo::Fail,
            Phase::Running if counts.asking > 0 => Todo::Park,
            Phase::Running if counts.done > 0 => Todo::Route,
            Phase::Running => Todo::End,
            _ => Todo::Rest,
        }
    }

    /// Where the thread stands.
    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    /// The current or last run.
    pub fn run(&self) -> RunId {
        RunId(self.run)
    }

    /// How many steps the current or last run has closed.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The program that wrote last.
    pub fn under(&self) -> Option<&Under> {
        self.under.as_ref()
    }

    /// The output of the last run that ended.
    pub fn output(&self) -> Option<&Json> {
        self.output.as_ref()
    }

    /// The tasks of the open step.
    pub fn frontier(&self) -> &[Task<Path>] {
        &self.frontier
    }

    /// The task at a position of the frontier.
    pub fn task(&self, position: usize) -> Option<&Task<Path>> {
        self.frontier.get(position)
    }

    /// The first task of the open step that failed for good, and why.
    pub fn failure(&self) -> Option<(Path, &str)> {
        let failure = self.failure.as_ref();
        failure.map(|(task, error)| (*task, error.as_str()))
    }

    /// The joins that are half filled: the joining node, and who has arrived.
    pub fn half_filled(&self) -> &BTreeMap<String, Vec<String>> {
        &self.joins
    }

    /// The questions that are open, in the order of the frontier.
    pub fn interrupts(&self) -> impl Iterator<Item = &Interrupt> {
        self.frontier
            .iter()
            .filter_map(|task| task.ask.as_deref())
            .flat_map(|ask| &ask.open)
    }

    /// When the first open question expires.
    pub fn expires(&self) -> Option<Millis> {
        self.interrupts()
            .filter_map(|interrupt| interrupt.question.expires_at)
            .min()
    }

    /// The position of the task that asks a question.
    pub fn asker(&self, id: &InterruptId) -> Option<usize> {
        let asks = |task: &Task<Path>| task.ask.as_ref().is_some_and(|ask| ask.is_open(id));
        self.frontier.iter().position(asks)
    }

    /// A name for the next question that was never used in the thread.
    pub fn interrupt_id(&self, task: &str, ahead: u64) -> InterruptId {
        InterruptId(format!("{task}~{}", self.asked + ahead + 1).into())
    }

    /// The address that a node's next activation gets.
    pub fn next_path(&self, node: NodeIx) -> Path {
        let visit = self.visits.get(node.at()).copied().unwrap_or(0) + 1;
        Path {
            node,
            visit,
            index: None,
        }
    }

    /// Notes that a task was started. Not a fact: a crash forgets it, and the task is ready again.
    pub fn begin(&mut self, position: usize) {
        self.set(position, TaskState::Running);
    }

    /// Notes that a task is done before the fact that will say so.
    pub fn settle(&mut self, position: usize) {
        self.set(position, TaskState::Done);
    }

    /// Learns a fact. The same facts give the same machine.
    pub fn evolve(&mut self, fact: &Fact<Path>) {
        match fact {
            Fact::Created { .. } | Fact::Forked { .. } => {}
            Fact::Started {
                run, under, next, ..
            } => self.start(*run, under, next),
            Fact::Stepped { routes, .. } | Fact::Closed { routes } => self.close(routes),
            Fact::Finished { task, .. } => self.set_at(task, TaskState::Done),
            Fact::Failed { task, error, .. } => {
                self.failure.get_or_insert_with(|| (*task, error.clone()));
                self.set_at(task, TaskState::Failed);
            }
            Fact::Asked {
                task,
                memo,
                questions,
                ..
            } => self.ask(task, memo.as_ref(), questions),
            Fact::Answered { answers } => answers.iter().for_each(|(id, value)| {
                self.answer(id, Some(value));
            }),
            Fact::Expired { id } => self.answer(id, None),
            Fact::Resumed { under, tasks } => self.go_on(under, tasks),
            Fact::Migrated { under } => self.under = Some(under.clone()),
            Fact::RunEnded { output } => {
                self.output.clone_from(output);
                self.phase = Phase::Ended;
            }
            Fact::RunFailed { error } => {
                self.phase = Phase::Failed {
                    error: error.clone(),
                }
            }
            Fact::Cancelled { .. } => {
                self.phase = Phase::Cancelled;
                self.joins.clear();
                self.open(&[]);
            }
        }
    }

    fn start(&mut self, run: RunId, under: &Under, next: &[Next<Path>]) {
        self.run = run.0;
        self.steps = 0;
        self.phase = Phase::Running;
        self.under = Some(under.clone());
        self.output = None;
        self.joins.clear();
        self.open(next);
    }

    fn close(&mut self, routes: &Routes<Path>) {
        self.steps += 1;
        for (join, from) in &routes.arrived {
            let arrived = self.joins.entry(join.clone()).or_default();
            if !arrived.contains(from) {
                arrived.push(from.clone());
            }
        }
        for join in &routes.joined {
            self.joins.remove(join);
        }
        self.open(&routes.next);
    }

    fn open(&mut self, next: &[Next<Path>]) {
        self.failure = None;
        self.frontier.clear();
        self.positions.clear();
        for Next { task, items } in next {
            if self.visits.len() <= task.node.at() {
                self.visits.resize(task.node.at() + 1, 0);
            }
            if let Some(visit) = self.visits.get_mut(task.node.at()) {
                *visit = task.visit;
            }
            match items {
                None => self.frontier.push(Task::new(*task, None)),
                Some(items) => self.frontier.extend(items.iter().zip(0..).map(|(item, n)| {
                    Task::new(
                        Path {
                            index: Some(n),
                            ..*task
                        },
                        Some(item.clone()),
                    )
                })),
            }
        }
        if self.frontier.len() > 1 {
            let paths = self.frontier.iter().map(|task| task.path);
            self.positions.extend(paths.zip(0..));
        }
        self.counts = Counts {
            ready: self.frontier.len(),
            ..Counts::default()
        };
    }

    fn ask(&mut self, task: &Path, memo: Option<&Value>, questions: &[Interrupt]) {
        self.asked += questions.len() as u64;
        if let Some(task) = self.position(task).and_then(|at| self.frontier.get_mut(at)) {
            let ask = task.ask.get_or_insert_default();
            ask.memo = memo.cloned();
            ask.open = questions.to_vec();
            ask.expired = false;
        }
        self.set_at(task, TaskState::Asking);
    }

    /// An answer, or the news that none will come.
    fn answer(&mut self, id: &InterruptId, value: Option<&Value>) {
        let Some(position) = self.asker(id) else {
            return;
        };
        let Some(ask) = self.frontier.get_mut(position).and_then(|t| t.ask.as_mut()) else {
            return;
        };
        if let Some(at) = ask.open.iter().position(|interrupt| interrupt.id == *id) {
            let interrupt = ask.open.remove(at);
            match value {
                Some(value) => ask.answers.push((interrupt.question.key, value.clone())),
                None => ask.expired = true,
            }
        }
        if ask.open.is_empty() {
            self.set(position, TaskState::Ready);
        }
    }

    fn go_on(&mut self, under: &Under, tasks: &[(Path, u32)]) {
        self.under = Some(under.clone());
        self.phase = Phase::Running;
        for (path, attempt) in tasks {
            if self
                .failure
                .as_ref()
                .is_some_and(|(failed, _)| failed == path)
            {
                self.failure = None;
            }
            if let Some(task) = self.position(path).and_then(|at| self.frontier.get_mut(at)) {
                task.attempt = *attempt;
            }
            self.set_at(path, TaskState::Ready);
        }
    }

    /// The position of a task in the frontier.
    pub fn position(&self, path: &Path) -> Option<usize> {
        match self.frontier.as_slice() {
            [only] => (only.path == *path).then_some(0),
            _ => self.positions.get(path).copied(),
        }
    }

    fn set_at(&mut self, path: &Path, state: TaskState) {
        if let Some(position) = self.position(path) {
            self.set(position, state);
        }
    }

    fn set(&mut self, position: usize, state: TaskState) {
        if let Some(task) = self.frontier.get_mut(position) {
            *self.counts.of(task.state) -= 1;
            *self.counts.of(state) += 1;
            task.state = state;
        }
    }
}
