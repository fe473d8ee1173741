//! The equipment of scenarios: a log under test, a small state, and nodes that count.
use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use fugato_graph::{
    Answers, BoxError, BuildError, Context, Graph, Node, Outcome, RunError, RunErrorKind,
    RunResult, Runner,
};
use fugato_state::{Interrupt, Seq, State, ThreadId};
use fugato_store::ThreadLog;
use serde::{Deserialize, Serialize};

use super::RecordingLog;
use crate::log::{CheckResult, Failure, LogFactory, OpenedLog, TestClock, same};

/// The state of scenarios: lines, a number, and a target for routing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Page {
    pub(crate) lines: Vec<String>,
    pub(crate) count: i64,
    pub(crate) route: String,
}

/// A change of the page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Change {
    Line(String),
    Count(i64),
    Route(String),
}

impl State for Page {
    type Update = Change;

    fn apply(&mut self, change: Change) {
        match change {
            Change::Line(line) => self.lines.push(line),
            Change::Count(by) => self.count += by,
            Change::Route(route) => self.route = route,
        }
    }
}

pub(crate) fn line(text: impl Into<String>) -> Change {
    Change::Line(text.into())
}

/// The tasks that ran, in the order in which they started.
#[derive(Debug, Clone, Default)]
pub(crate) struct Calls(Arc<Mutex<Vec<String>>>);

impl Calls {
    pub(crate) fn note(&self, what: impl Into<String>) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(what.into());
    }

    /// Returns the notes since the last call, sorted: tasks of one step start in any order.
    pub(crate) fn take(&self) -> Vec<String> {
        let mut calls = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        calls.sort();
        calls
    }

    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Returns the number of those who can add notes: the nodes of a graph, and actions that are
    /// under way.
    pub(crate) fn owners(&self) -> usize {
        Arc::strong_count(&self.0)
    }

    /// Waits until the actions that were under way have ended, so that no more than these can add
    /// notes.
    pub(crate) async fn settle(&self, owners: usize) -> CheckResult {
        for _ in 0..10_000 {
            if self.owners() <= owners {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Err(Failure::new("an action that had begun does not end"))
    }
}

/// A node that says its own name.
#[derive(Debug, Clone)]
pub(crate) struct NamedNode(pub(crate) &'static str, pub(crate) Calls);

#[async_trait]
impl Node<Page> for NamedNode {
    async fn run(&self, cx: Context<Page>) -> Result<Outcome<Change>, BoxError> {
        self.1.note(cx.task());
        Ok(Outcome::done([line(self.0)]))
    }
}

/// A node that fails as long as a switch is on.
#[derive(Debug, Clone)]
pub(crate) struct FailingNode(pub(crate) &'static str, pub(crate) Calls, pub(crate) Switch);

#[async_trait]
impl Node<Page> for FailingNode {
    async fn run(&self, cx: Context<Page>) -> Result<Outcome<Change>, BoxError> {
        self.1.note(cx.task());
        if self.2.is_on() {
            return Err("boom".into());
        }
        Ok(Outcome::done([line(self.0)]))
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Switch(Arc<std::sync::atomic::AtomicBool>);

impl Switch {
    pub(crate) fn on() -> Self {
        Self(Arc::new(true.into()))
    }

    pub(crate) fn is_on(&self) -> bool {
        self.0.load(std::sync::atomic::Ordering::SeqCst)
    }

    pub(crate) fn turn_on(&self) {
        self.0.store(true, std::sync::atomic::Ordering::SeqCst);
    }

    pub(crate) fn turn_off(&self) {
        self.0.store(false, std::sync::atomic::Ordering::SeqCst);
    }
}

/// A log under test, and one thread in it.
pub(crate) struct Fixture {
    pub(crate) clock: TestClock,
    pub(crate) opened: OpenedLog,
    pub(crate) log: RecordingLog,
    pub(crate) thread: ThreadId,
}

impl Fixture {
    pub(crate) async fn of(factory: &dyn LogFactory) -> Result<Self, Failure> {
        // Some day in 2033.
        let clock = TestClock::at(2_000_000_000_000);
        let opened = factory.fresh(&clock).await?;
        let log = RecordingLog::over(opened.clone());
        Ok(Self {
            clock,
            opened,
            log,
            thread: thread("desk"),
        })
    }

    pub(crate) fn runner<S: State>(&self, graph: &Graph<S>) -> Runner<S> {
        Runner::new(graph.clone(), Arc::new(self.log.clone()))
    }

    /// Starts a run of the thread without an input, and waits for its end.
    pub(crate) async fn start<S: State>(&self, graph: &Graph<S>) -> Result<RunResult<S>, RunError> {
        self.runner(graph).start(&self.thread, ()).await
    }

    /// Continues the thread with these answers.
    pub(crate) async fn resume<S: State>(
        &self,
        graph: &Graph<S>,
        answers: Answers,
    ) -> Result<RunResult<S>, RunError> {
        self.runner(graph).resume(&self.thread, answers).await
    }

    /// Continues the run that a dead process has left.
    pub(crate) async fn recover<S: State>(
        &self,
        graph: &Graph<S>,
    ) -> Result<RunResult<S>, RunError> {
        self.runner(graph).recover(&self.thread).await
    }

    /// Replaces the process: the old one died, its leases ran out, and another one opens the same
    /// log.
    pub(crate) fn another_process(&mut self) {
        self.clock.advance(60_000);
        self.log = RecordingLog::over(self.opened.clone());
    }

    pub(crate) async fn head(&self) -> Result<Seq, Failure> {
        Ok(self
            .log
            .head(&self.thread)
            .await?
            .map_or(0, |head| head.seq))
    }

    /// Returns the head of another thread.
    pub(crate) async fn log_head(&self, thread: &ThreadId) -> Result<Seq, Failure> {
        Ok(self.log.head(thread).await?.map_or(0, |head| head.seq))
    }

    /// Returns the log itself, without the recording.
    pub(crate) fn log_of(&self) -> &dyn ThreadLog {
        &*self.opened.log
    }
}

pub(crate) fn thread(name: &str) -> ThreadId {
    ThreadId::new(name).expect("scenarios use short names without control characters")
}

/// Returns the final state of a run that is expected to finish.
pub(crate) fn finished<S>(ended: Result<RunResult<S>, RunError>) -> Result<S, Failure>
where
    S: State + fmt::Debug,
{
    match ended? {
        RunResult::Finished { state, .. } => Ok((*state).clone()),
        other => Err(Failure::new(format!(
            "the run should have ended, not {other:?}"
        ))),
    }
}

/// Returns the questions of a run that is expected to park.
pub(crate) fn parked<S>(ended: Result<RunResult<S>, RunError>) -> Result<Vec<Interrupt>, Failure>
where
    S: State + fmt::Debug,
{
    match ended? {
        RunResult::Interrupted { interrupts, .. } => Ok(interrupts),
        other => Err(Failure::new(format!(
            "the run should have parked, not {other:?}"
        ))),
    }
}

/// Returns the one question of a run that is expected to park.
pub(crate) fn question<S>(ended: Result<RunResult<S>, RunError>) -> Result<Interrupt, Failure>
where
    S: State + fmt::Debug,
{
    let mut questions = parked(ended)?;
    match (questions.pop(), questions.len()) {
        (Some(question), 0) => Ok(question),
        _ => Err(Failure::new("one question should be open, not several")),
    }
}

/// Returns the kind of error of a run that is expected to fail.
pub(crate) fn kind<S>(ended: Result<RunResult<S>, RunError>) -> Result<RunErrorKind, Failure>
where
    S: State + fmt::Debug,
{
    match ended {
        Err(error) => Ok(error.kind),
        Ok(other) => Err(Failure::new(format!(
            "the run should have failed, not {other:?}"
        ))),
    }
}

/// Checks that a run failed, with this kind of error.
pub(crate) fn fails<S>(ended: Result<RunResult<S>, RunError>, expected: RunErrorKind) -> CheckResult
where
    S: State + fmt::Debug,
{
    same("the error", kind(ended)?, expected)
}

/// Returns the text of an error with its causes.
pub(crate) fn whole(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", whole(source)),
        None => error.to_string(),
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        Self::new(format!("unexpected error: {}", whole(&error)))
    }
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        Self::new(error.to_string())
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::new(format!("unexpected error: {error}"))
    }
}
