//! What a request went through, told from the log alone.
mod fold;

use std::time::Duration;

use fugato_state::{Millis, RunId, Seq, State, ThreadId};
use fugato_stream::EventKind;

use crate::{HistoryEntry, RunError, Runner};

/// What one run went through: every task with its attempts, in the order in which they were due.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RunTrace {
    /// The run.
    pub run: RunId,
    /// The position of its first record.
    pub seq: Seq,
    /// When that was written, in milliseconds of the store's clock.
    pub began: Millis,
    /// When it came to rest for good; none if it did not yet.
    pub ended: Option<Millis>,
    /// How it ended; none if it did not yet.
    pub end: Option<RunEnd>,
    /// Its tasks.
    pub tasks: Vec<TaskTrace>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunEnd {
    /// It reached its end.
    Finished,
    /// It failed.
    Failed {
        /// Why.
        error: String,
    },
    /// It was cancelled.
    Cancelled {
        /// By whom.
        by: String,
        /// Why.
        why: String,
    },
}

/// What one task went through.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TaskTrace {
    /// The subgraph that it lives in, by the address of its task; empty for the graph itself.
    pub scope: String,
    /// Its address within the scope: `node#visit`, or `node#visit[index]` inside a scatter.
    pub task: String,
    /// What the graph calls its node for people; none if the graph says nothing.
    pub label: Option<String>,
    /// How it stands.
    pub end: TaskEnd,
    /// Its attempts, the first one first.
    pub attempts: Vec<AttemptTrace>,
    /// How long it waited for answers.
    pub waited: Duration,
    /// What it was due after: the changes of the step before, or its item; cut to
    /// [`Self::MOST_CHARACTERS`].
    pub input: String,
    /// What it changed; cut in the same way.
    pub output: String,
    /// What it told the reader durably.
    pub notes: Vec<EventKind>,
    /// The keys of the actions that it carried out, each with whether a receipt is there.
    pub effects: Vec<(String, bool)>,
}

/// How a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskEnd {
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
    /// Which, from 1.
    pub number: u32,
    /// When it was due, in milliseconds of the store's clock.
    pub began: Millis,
    /// When its end was written; none if it was not.
    pub ended: Option<Millis>,
    /// Why it failed; none if it did not.
    pub error: Option<String>,
}

impl TaskTrace {
    /// How many characters a summary of what went in or came out has at most.
    pub const MOST_CHARACTERS: usize = 200;

    /// The node.
    pub fn node(&self) -> &str {
        self.task.split('#').next().unwrap_or_default()
    }

    /// How long its attempts took in all, without the time for which it waited for answers; none
    /// while one is under way.
    ///
    /// The times are those of the records: from when it was due until what came of it was stored.
    /// With [`Durability::Strict`](crate::Durability::Strict) that is the time of the work and of
    /// one append; in the other modes several records share the time of their append.
    pub fn took(&self) -> Option<Duration> {
        let took = |attempt: &AttemptTrace| Some(span(attempt.began, attempt.ended?));
        let sum: Option<Duration> = self.attempts.iter().map(took).sum();
        Some(sum?.saturating_sub(self.waited))
    }
}

fn span(from: Millis, to: Millis) -> Duration {
    Duration::from_millis(u64::try_from(to.saturating_sub(from)).unwrap_or(0))
}

impl RunTrace {
    /// Tells what happened from the records of a thread, oldest first. A thread whose log begins
    /// in the middle of a run is told from there.
    pub fn of(entries: impl IntoIterator<Item = HistoryEntry>) -> Vec<Self> {
        let mut fold = fold::Fold::default();
        for entry in entries {
            fold.push(entry);
        }
        fold.runs
    }
}

/// How many records are read at once.
const PAGE: usize = 500;

impl<S: State> Runner<S> {
    /// What every run of a thread went through, the oldest first: its tasks with their durations,
    /// attempts and errors. The log is enough for that; the graph only adds its labels.
    pub async fn trace(&self, thread: &ThreadId) -> Result<Vec<RunTrace>, RunError> {
        let Some(head) = self.shop.log.head(thread).await? else {
            return Ok(vec![]);
        };
        let mut fold = fold::Fold::default();
        let mut from = head.base + 1;
        loop {
            let page = self.history(thread, from, PAGE).await?;
            let Some(last) = page.last() else { break };
            from = last.seq + 1;
            for entry in page {
                fold.push(entry);
            }
        }
        for task in fold.runs.iter_mut().flat_map(|run| &mut run.tasks) {
            // Inside a subgraph it is the label of the node that the subgraph is.
            let address = format!("{}/{}", task.scope, task.task);
            let outermost = address.split(['/', '#']).find(|part| !part.is_empty());
            let label = outermost.and_then(|node| self.graph().label(node));
            task.label = label.map(str::to_owned);
        }
        Ok(fold.runs)
    }
}
