//! What the writer is asked to do.
use fugato_state::{Seq, ThreadId};
use fugato_store::{
    Appended, Commit, DocWrite, LeaseRequest, Leased, Namespace, Snapshot, StoreError, Version,
};

#[derive(Debug)]
pub(crate) enum Request {
    Append(ThreadId, Commit),
    Lease(LeaseRequest),
    Put(ThreadId, Snapshot),
    Delete(ThreadId, Seq),
    Fork(ThreadId, Snapshot, Commit),
    Compact(ThreadId, Snapshot),
    Remove(ThreadId),
    /// A checked batch, and its values as text.
    Write(Vec<DocWrite>, Vec<Option<String>>),
    Clear(Namespace),
}

#[derive(Debug)]
pub(crate) enum Answer {
    Appended(Appended),
    Leased(Leased),
    Written(Vec<Option<Version>>),
    Done,
}

pub(crate) type Outcome = Result<Answer, StoreError>;

impl Request {
    pub(crate) fn operation(&self) -> &'static str {
        match self {
            Self::Append(..) => "append",
            Self::Lease(LeaseRequest::Renew { .. }) => "renew",
            Self::Lease(LeaseRequest::Release { .. }) => "release",
            Self::Lease(LeaseRequest::Signal { .. }) => "signal",
            Self::Lease(_) => "lease",
            Self::Put(..) => "put a snapshot of",
            Self::Delete(..) => "delete a snapshot of",
            Self::Fork(..) => "fork",
            Self::Compact(..) => "compact",
            Self::Remove(..) | Self::Clear(..) => "remove",
            Self::Write(..) => "write",
        }
    }

    pub(crate) fn thread(&self) -> Option<&ThreadId> {
        match self {
            Self::Append(thread, _)
            | Self::Put(thread, _)
            | Self::Delete(thread, _)
            | Self::Fork(thread, ..)
            | Self::Compact(thread, _)
            | Self::Remove(thread)
            | Self::Lease(
                LeaseRequest::Acquire { thread, .. }
                | LeaseRequest::Renew { thread, .. }
                | LeaseRequest::Release { thread, .. }
                | LeaseRequest::Signal { thread, .. },
            ) => Some(thread),
            Self::Lease(LeaseRequest::Claim { .. }) | Self::Write(..) | Self::Clear(..) => None,
        }
    }

    /// Whether losing it in a power failure would lose something.
    ///
    /// A lease lost in a power failure harms nobody: whoever held it died in the same failure, and
    /// the fence that may be granted again was seen by no survivor. Whatever was written under a
    /// lease was written after it in the same file, so that a durable record makes its lease
    /// durable. A lost snapshot is only taken again. A signal is not such a request: somebody was
    /// told that the run will stop.
    pub(crate) fn must_survive_power_failure(&self) -> bool {
        match self {
            Self::Append(..)
            | Self::Fork(..)
            | Self::Compact(..)
            | Self::Remove(..)
            | Self::Write(..)
            | Self::Clear(..) => true,
            Self::Lease(request) => matches!(request, LeaseRequest::Signal { .. }),
            Self::Put(..) | Self::Delete(..) => false,
        }
    }
}
