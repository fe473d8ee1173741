mod text;

use std::{error::Error, fmt, sync::Arc, time::Duration};

use fugato_state::{InterruptId, MigrateError, SchemaError, ThreadId, say};
use fugato_store::{StoreError, StoreErrorKind};

use crate::machine::BudgetUnit;

/// The error of a node, a router or a question.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// The error of a run, or of a request about a thread.
#[derive(Debug, Clone)]
pub struct RunError {
    /// The kind of the error.
    pub kind: RunErrorKind,
    /// The thread; none for a run without a log.
    pub thread: Option<ThreadId>,
    /// The number of steps that the run had closed.
    pub step: u64,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

/// The kinds of [`RunError`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunErrorKind {
    /// A node failed; its siblings' outcomes are kept, and `retry` runs only this task.
    Node {
        /// The task.
        task: String,
    },
    /// A node panicked. Treated like a failure.
    Panicked {
        /// The task.
        task: String,
    },
    /// A router, a scatter or a question of the wiring failed; `retry` runs it again, and no node.
    Router {
        /// The node whose wiring failed.
        node: String,
    },
    /// A router chose a target that its branch does not declare.
    UndeclaredTarget {
        /// The node whose router it was.
        node: String,
        /// The target that it chose.
        target: String,
        /// The targets that it may choose.
        declared: Vec<String>,
    },
    /// The run ended while a join waited for arrivals.
    HalfFilledJoin {
        /// The joining node.
        join: String,
        /// The nodes that had arrived.
        arrived: Vec<String>,
    },
    /// A node took longer than its policy allows.
    Timeout {
        /// The task.
        task: String,
        /// The time limit.
        after: Duration,
    },
    /// A node was silent for longer than its policy allows.
    Idle {
        /// The task.
        task: String,
        /// The idle timeout.
        after: Duration,
    },
    /// The run was cancelled. What was finished is kept.
    Cancelled {
        /// The caller that cancelled it.
        by: String,
        /// The reason.
        why: String,
    },
    /// The run stopped between two steps because its process shuts down. It goes on where it is
    /// recovered or claimed.
    HandedOver,
    /// The run has used up a budget.
    Budget {
        /// The meter of the budget.
        meter: BudgetUnit,
        /// The limit; for time in milliseconds.
        limit: u64,
    },
    /// The same request was made before, and its run failed.
    FailedBefore {
        /// The error of that run.
        error: String,
    },
    /// The same request key was used with another input.
    RequestChanged {
        /// The key.
        key: String,
    },
    /// The run came to its end with effects of the whole thread in doubt.
    InDoubt {
        /// Their keys.
        effects: Vec<String>,
    },
    /// No effect of the whole thread with this key is in doubt.
    NotInDoubt {
        /// The key.
        key: String,
        /// The keys of the effects in doubt.
        in_doubt: Vec<String>,
    },
    /// Tasks are recorded as running and no attempt of them is under way: a defect of the kernel.
    /// The run stays unfinished, as if its process had ended.
    Stuck {
        /// Their addresses.
        tasks: Vec<String>,
    },
    /// The thread has no open task of this address.
    NoSuchTask {
        /// The address.
        task: String,
    },
    /// An option of the runner is invalid.
    Options(String),
    /// The run reached its step limit.
    StepLimit {
        /// The limit.
        limit: u64,
    },
    /// A task was begun again after a crash more often than allowed.
    CrashLimit {
        /// The task.
        task: String,
        /// The number of times it was begun.
        attempts: u32,
    },
    /// The thread is another agent's: its name does not begin with the prefix of this runner.
    OtherAgent {
        /// The prefix.
        prefix: String,
    },
    /// Another owner runs the thread.
    Busy {
        /// The owner of the lease.
        owner: String,
        /// The time at which the lease ends, in milliseconds of the store's clock.
        until: i64,
    },
    /// Questions are open; they must be answered before a new run.
    Waiting {
        /// The questions.
        open: Vec<InterruptId>,
    },
    /// A run was left unfinished, for example by a crash; it must be recovered before a new run.
    Unfinished,
    /// The thread has nothing to go on with, to retry or to cancel.
    NothingToDo,
    /// An answer was refused; nothing has changed.
    Answer(AnswerError),
    /// The graph no longer has the nodes, subgraphs or joins that the thread refers to; nothing has
    /// changed.
    GraphChanged {
        /// The missing nodes, subgraphs and joins.
        gone: Vec<String>,
    },
    /// A question of a node is malformed.
    Question {
        /// The task.
        task: String,
        /// The problem.
        problem: String,
    },
    /// The log could not be read or written.
    Store(StoreErrorKind),
    /// A record, snapshot or state could not be read or written as JSON.
    Format,
    /// A state or update of an older version could not be read.
    Migrate,
    /// The runner was built without the part that the request needs.
    Unsupported(&'static str),
}

/// The reason to refuse an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// No open question has this id: it never existed, was answered, or expired.
    #[error("{}", say!(
        "no open question has the id {id}; open are {}",
        "没有打开的问题 {id}；打开的有 {}",
        list(open)
    ))]
    Unknown {
        /// The id.
        id: InterruptId,
        /// The questions that are open.
        open: Vec<InterruptId>,
    },
    /// The question has expired.
    #[error("{}", say!("the question {id} has expired", "问题 {id} 已过期"))]
    Expired {
        /// The id.
        id: InterruptId,
    },
    /// An approval was answered without its id.
    #[error("{}", say!(
        "{id} asks for approval, so the answer must name it",
        "{id} 请求同意，回答必须写明它"
    ))]
    Unbound {
        /// The id.
        id: InterruptId,
    },
    /// The answer does not fit the question's schema.
    #[error("{}", say!(
        "the answer to {id} does not fit: {violation}",
        "对 {id} 的回答不合要求：{violation}"
    ))]
    Schema {
        /// The id.
        id: InterruptId,
        /// The violation, with its place.
        violation: SchemaError,
    },
    /// The answer approves another value than the question asks about now.
    #[error("{}", say!(
        "what {id} asks to approve has changed: it has digest {asked}, the answer {answered}",
        "{id} 请求同意的内容已改变：它的摘要是 {asked}，回答的是 {answered}"
    ))]
    Digest {
        /// The id.
        id: InterruptId,
        /// The digest of the question.
        asked: String,
        /// The digest that was approved.
        answered: String,
    },
    /// The pause cannot use the answer.
    #[error("{}", say!(
        "the answer to {id} cannot be used: {why}",
        "对 {id} 的回答无法使用：{why}"
    ))]
    Refused {
        /// The id.
        id: InterruptId,
        /// The reason.
        why: String,
    },
    /// A bare answer needs exactly one open question.
    #[error("{}", say!(
        "a bare answer needs exactly one open question; open are {}",
        "没有写明问题的回答只能用于唯一打开的问题；打开的有 {}",
        list(open)
    ))]
    Bare {
        /// The questions that are open.
        open: Vec<InterruptId>,
    },
    /// No question is open.
    #[error("{}", say!("no question is open", "没有打开的问题"))]
    NothingAsked,
}

fn list(ids: &[InterruptId]) -> String {
    if ids.is_empty() {
        return say!("none", "无");
    }
    ids.iter()
        .map(InterruptId::as_str)
        .collect::<Vec<_>>()
        .join(", ")
}

impl RunErrorKind {
    /// Returns true if a run has failed for good because of its graph.
    pub(crate) fn is_failure(&self) -> bool {
        matches!(
            self,
            Self::Node { .. }
                | Self::Panicked { .. }
                | Self::Router { .. }
                | Self::UndeclaredTarget { .. }
                | Self::HalfFilledJoin { .. }
                | Self::Timeout { .. }
                | Self::Idle { .. }
                | Self::Budget { .. }
                | Self::StepLimit { .. }
                | Self::CrashLimit { .. }
        )
    }
}

impl RunError {
    pub(crate) fn new(kind: RunErrorKind) -> Self {
        Self {
            kind,
            thread: None,
            step: 0,
            source: None,
        }
    }

    /// Returns true if the request was refused because of the state of the thread or the program,
    /// so that repeating it changes nothing.
    pub(crate) fn is_refusal(&self) -> bool {
        use RunErrorKind as Kind;
        matches!(
            self.kind,
            Kind::GraphChanged { .. }
                | Kind::Format
                | Kind::Migrate
                | Kind::NothingToDo
                | Kind::OtherAgent { .. }
                | Kind::Options(_)
        )
    }

    /// Returns true if another process was faster, or has the lease by now: it goes on with the thread.
    pub(crate) fn is_taken_over(&self) -> bool {
        use StoreErrorKind::{Conflict, LeaseLost};
        matches!(self.kind, RunErrorKind::Store(Conflict { .. } | LeaseLost))
    }

    fugato_state::setters! {
        /// Sets the cause, such as the reason for which no fallback may take over.
        pub fn because(source: impl Into<BoxError>) { source = Some(source.into().into()) }
    }

    pub(crate) fn on(mut self, thread: Option<&ThreadId>, step: u64) -> Self {
        self.thread = self.thread.or_else(|| thread.cloned());
        self.step = step;
        self
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(thread) = &self.thread {
            f.write_str(&say!(
                "thread {:?}, after {} steps: ",
                "对话 {:?}，在 {} 步之后：",
                thread.as_str(),
                self.step
            ))?;
        }
        self.kind.fmt(f)
    }
}

impl Error for RunError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl From<StoreError> for RunError {
    fn from(error: StoreError) -> Self {
        match error.kind {
            // Their words say it all.
            StoreErrorKind::Busy { owner, until } => Self::new(RunErrorKind::Busy { owner, until }),
            StoreErrorKind::Invalid(_) | StoreErrorKind::NotFound => {
                Self::new(RunErrorKind::Store(error.kind))
            }
            _ => Self::new(RunErrorKind::Store(error.kind.clone())).because(error),
        }
    }
}

impl From<serde_json::Error> for RunError {
    fn from(error: serde_json::Error) -> Self {
        Self::new(RunErrorKind::Format).because(error)
    }
}

impl From<MigrateError> for RunError {
    fn from(error: MigrateError) -> Self {
        Self::new(RunErrorKind::Migrate).because(error)
    }
}

impl From<AnswerError> for RunError {
    fn from(error: AnswerError) -> Self {
        Self::new(RunErrorKind::Answer(error))
    }
}
