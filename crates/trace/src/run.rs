use std::time::Duration;

use fugato_graph::{HistoryEntry, RunError, Runner};
use fugato_state::{Millis, RunId, Seq, State, ThreadId};
use fugato_stream::EventKind;
use futures::TryStreamExt as _;

use crate::fold::TraceBuilder;

/// The trace of one run: every task with its attempts, in the order in which they were due.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RunTrace {
    /// The run.
    pub run: RunId,
    /// The position of its first record.
    pub seq: Seq,
    /// The time of that record, in milliseconds of the store's clock.
    pub began: Millis,
    /// The time of its end; none if it is open.
    pub ended: Option<Millis>,
    /// The end; none if it is open.
    pub end: Option<RunStatus>,
    /// Its tasks.
    pub tasks: Vec<TaskTrace>,
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunStatus {
    /// It reached its end.
    Finished,
    /// It failed.
    Failed {
        /// The error.
        error: String,
    },
    /// It was cancelled.
    Cancelled {
        /// The caller that cancelled it.
        by: String,
        /// The reason.
        why: String,
    },
}

/// The trace of one task.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TaskTrace {
    /// The subgraph of the task, by the address of its task; empty for the graph itself.
    pub scope: String,
    /// Its address within the scope: `node#visit`, or `node#visit[index]` inside a scatter.
    pub task: String,
    /// The description of its node; none if the graph has no label for it.
    pub label: Option<String>,
    /// The state of the task.
    pub end: AttemptStatus,
    /// Its attempts, the first one first.
    pub attempts: Vec<AttemptTrace>,
    /// The time for which it waited for answers.
    pub waited: Duration,
    /// The input: the updates of the step before, or the item of a scatter; cut to
    /// [`Self::MOST_CHARACTERS`].
    pub input: String,
    /// The updates of the task; cut in the same way.
    pub output: String,
    /// The durable notes to the reader.
    pub notes: Vec<EventKind>,
    /// The keys of the actions that it performed or intended; true for those with a receipt.
    pub effects: Vec<(String, bool)>,
}

/// The state of a task in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttemptStatus {
    /// It is under way, or was when the log ends.
    Open,
    /// It waits for an answer.
    Waiting,
    /// It is done.
    Done,
    /// Its last attempt failed.
    Failed,
    /// It will never end: its run was cancelled.
    Dropped,
}

/// One try at a task.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttemptTrace {
    /// The number of the attempt, from 1.
    pub number: u32,
    /// The time at which it was due, in milliseconds of the store's clock.
    pub began: Millis,
    /// The time at which its end was stored; none if it was not.
    pub ended: Option<Millis>,
    /// The error; none if it did not fail.
    pub error: Option<String>,
}

impl TaskTrace {
    /// The largest number of characters in a summary of the input or output.
    pub const MOST_CHARACTERS: usize = 200;

    /// Returns the name of the node.
    pub fn node(&self) -> &str {
        self.task.split('#').next().unwrap_or_default()
    }

    /// Returns the total time of its attempts, without the time for which it waited for answers;
    /// none while one is under way.
    ///
    /// The times are those of the records: from when it was due until its outcome was stored. With
    /// [`Durability::Strict`](fugato_graph::Durability::Strict) that is the time of the work and of one
    /// append; in the other modes several records share the time of their append.
    pub fn took(&self) -> Option<Duration> {
        let took = |attempt: &AttemptTrace| Some(span(attempt.began, attempt.ended?));
        let sum: Option<Duration> = self.attempts.iter().map(took).sum();
        Some(sum?.saturating_sub(self.waited))
    }
}

pub(crate) fn span(from: Millis, to: Millis) -> Duration {
    Duration::from_millis(u64::try_from(to.saturating_sub(from)).unwrap_or(0))
}

impl RunTrace {
    /// Returns the traces of all runs in the records of a thread, oldest first. If the log begins
    /// in the middle of a run, so does its trace.
    pub fn of(entries: impl IntoIterator<Item = HistoryEntry>) -> Vec<Self> {
        let mut fold = TraceBuilder::default();
        for entry in entries {
            fold.push(&entry);
        }
        fold.runs
    }

    /// Returns the traces of all runs of a thread, the oldest first: the tasks with their
    /// durations, attempts and errors. The log is enough for that; the graph only adds its labels.
    pub async fn read<S: State>(
        runner: &Runner<S>,
        thread: &ThreadId,
    ) -> Result<Vec<Self>, RunError> {
        let mut fold = TraceBuilder::default();
        let mut records = runner.records(thread);
        while let Some(entry) = records.try_next().await? {
            fold.push(&entry);
        }
        for task in fold.runs.iter_mut().flat_map(|run| &mut run.tasks) {
            // Inside a subgraph it is the label of the node that the subgraph is.
            let address = format!("{}/{}", task.scope, task.task);
            let outermost = address.split(['/', '#']).find(|part| !part.is_empty());
            let label = outermost.and_then(|node| runner.graph().label(node));
            task.label = label.map(str::to_owned);
        }
        Ok(fold.runs)
    }
}
