//! Requests to the writer.
use fugato_state::{Seq, ThreadId};
use fugato_store::{
    AppendResult, Commit, DocWrite, LeaseOutcome, LeaseRequest, Namespace, Snapshot, StoreError,
    Version,
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
    /// A checked batch, and its values as JSON text.
    Write(Vec<DocWrite>, Vec<Option<String>>),
    Clear(Namespace),
}

#[derive(Debug)]
pub(crate) enum Answer {
    Appended(AppendResult),
    Leased(LeaseOutcome),
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
            Self::Lease(LeaseRequest::Claim(_)) | Self::Write(..) | Self::Clear(..) => None,
        }
    }

    /// Returns true if the request must not be lost in a power failure.
    ///
    /// A lease may be lost: its owner died in the same failure, and no survivor saw the fence that
    /// may be granted again. A record written under a lease comes after it in the same file, so a
    /// durable record makes its lease durable. A lost snapshot is taken again. A signal must not be
    /// lost, because its sender was promised that it will be delivered.
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
