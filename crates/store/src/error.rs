use std::{error::Error, fmt};

use fugato_state::{Millis, Seq, ThreadId};

use crate::Fence;

/// What a store could not do, and whether trying again can help.
#[derive(Debug)]
pub struct StoreError {
    /// What went wrong.
    pub kind: StoreErrorKind,
    /// What was being done, such as `append`.
    pub operation: &'static str,
    /// The thread it was done to, if it was one.
    pub thread: Option<ThreadId>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// The kinds of [`StoreError`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// Another writer was first; nothing was written.
    Conflict {
        /// The last position.
        head: Seq,
        /// The fence of the newest lease.
        fence: Fence,
    },
    /// Somebody else holds the lease.
    Busy {
        /// Who.
        owner: String,
        /// When the lease ends, in milliseconds of the store's clock.
        until: Millis,
    },
    /// The lease is no longer held.
    LeaseLost,
    /// There is no such thread or position.
    NotFound,
    /// The records were compacted away up to this position.
    Compacted {
        /// The position.
        base: Seq,
    },
    /// A record or commit is larger than allowed, in bytes.
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The allowed size.
        limit: usize,
    },
    /// The request itself makes no sense.
    Invalid(String),
    /// What is stored cannot be read: unknown, newer, or damaged.
    Corrupt(String),
    /// The disk or server is full.
    Full,
    /// The store did not answer, or not in time: trying again can help.
    Unavailable,
    /// Something else.
    Other,
}

impl StoreError {
    /// An error of this kind.
    pub fn new(kind: StoreErrorKind, operation: &'static str) -> Self {
        Self {
            kind,
            operation,
            thread: None,
            source: None,
        }
    }

    /// Names the thread.
    #[must_use]
    pub fn on(mut self, thread: &ThreadId) -> Self {
        self.thread = Some(thread.clone());
        self
    }

    /// Adds the cause.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Whether another writer was first.
    pub fn is_conflict(&self) -> bool {
        matches!(self.kind, StoreErrorKind::Conflict { .. })
    }

    /// Whether the same request may succeed later.
    pub fn is_temporary(&self) -> bool {
        matches!(
            self.kind,
            StoreErrorKind::Unavailable | StoreErrorKind::Full | StoreErrorKind::Busy { .. }
        )
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.thread {
            Some(thread) => write!(
                f,
                "cannot {} thread {:?}: ",
                self.operation,
                thread.as_str()
            )?,
            None => write!(f, "cannot {}: ", self.operation)?,
        }
        match &self.kind {
            StoreErrorKind::Conflict { head, fence } => {
                write!(
                    f,
                    "another writer was first; its head is {head}, its fence {fence}"
                )
            }
            StoreErrorKind::Busy { owner, until } => {
                write!(f, "{owner} holds its lease until {until} ms")
            }
            StoreErrorKind::LeaseLost => f.write_str("the lease is no longer held"),
            StoreErrorKind::NotFound => f.write_str("there is no such thread or position"),
            StoreErrorKind::Compacted { base } => {
                write!(f, "records up to {base} were compacted away")
            }
            StoreErrorKind::TooLarge { bytes, limit } => {
                write!(f, "{bytes} bytes are more than the allowed {limit}")
            }
            StoreErrorKind::Invalid(what) => write!(f, "invalid request: {what}"),
            StoreErrorKind::Corrupt(what) => write!(f, "unreadable: {what}"),
            StoreErrorKind::Full => f.write_str("no space is left"),
            StoreErrorKind::Unavailable => f.write_str("the store did not answer"),
            StoreErrorKind::Other => f.write_str("the store failed"),
        }
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
