use async_trait::async_trait;
use auto_impl::auto_impl;
use fugato_state::{Seq, ThreadId};
use futures::{StreamExt as _, TryStreamExt as _, stream, stream::BoxStream};

use crate::{
    AppendResult, Commit, Head, LeaseOutcome, LeaseRequest, Record, Snapshot, Status, StoreError,
    StoreErrorKind,
};

/// The logs of many threads, as the engine needs them of a store. Records are opaque to the store.
///
/// Head and fence make every append a compare-and-set, the nonce makes a repeated append harmless,
/// and a lease keeps other processes from running the thread.
///
/// ```
/// # futures::executor::block_on(async {
/// use fugato_state::ThreadId;
/// use fugato_store::{Commit, Expect, MemoryLog, Record, Status, ThreadLog};
///
/// let (log, thread) = (MemoryLog::default(), ThreadId::new("desk")?);
/// let commit = Commit {
///     expect: Expect { head: 0, fence: 0 },
///     nonce: 1,
///     records: vec![Record(b"hello".to_vec())],
///     status: Status::Idle,
///     base: None,
/// };
/// assert_eq!(log.append(&thread, &commit).await?.head, 1);
/// // The response was lost: the same commit is repeated, and nothing is written twice.
/// assert_eq!(log.append(&thread, &commit).await?.head, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
///
/// Wrong: repeating an append under a new nonce. If the first one was written and only its response
/// was lost, the second is a `Conflict`, and the writer takes its own record for that of another.
///
/// ```text
/// while log.append(&thread, &commit).await.is_err() {
///     commit.nonce = random();
/// }
/// ```
///
/// *Contract*, each a scenario of the conformance suite:
/// - **atomic**: `append` writes all records of a commit or none.
/// - **compare and set**: `append` succeeds only if the thread's head and fence are as expected;
///   otherwise it is a `Conflict` and has written nothing. A thread that does not exist has head 0
///   and fence 0.
/// - **idempotent**: a commit whose nonce is that of the thread's last commit returns the same head
///   and signals again and writes nothing, whatever it expects.
/// - **gap free**: records of a commit take the positions after the head, in order.
/// - **isolated**: threads do not see each other.
/// - **read your writes**: what `append` acknowledged, `read` and `head` return at once.
/// - **bounded read**: `read` returns at most `limit` records with positions from `from` on, in
///   order; none past the end. Reading what was compacted away is `Compacted`.
/// - **sizes**: a record over 1 MiB or a commit over 16 MiB is `TooLarge` and writes nothing; a
///   commit without records is `Invalid`.
/// - **lease**: `Acquire` grants a lease with a fence greater than all before, or is `Busy` while
///   another lease lasts. An append under an older fence is a `Conflict`. `Renew` of a lease that
///   was given back, or after which another was granted, is `LeaseLost`; one whose time is over and
///   that nobody took lasts again. Time is the store's, and never runs backwards.
/// - **release**: an append with status `Waiting` or `Idle` gives the lease back.
/// - **claim**: `Claim` grants leases on threads that are `Runnable`, or `Sleeping` or `Waiting`
///   past their time, and that nobody holds; those first that could go on the longest.
/// - **claim of an agent**: a claim grants threads whose names begin with its prefix, and no others
///   are in its way, however long they could go on.
/// - **claim of what one runs**: a claim grants none of the threads that it excepts, whatever became
///   of their leases, and grants others in their place.
/// - **signal**: a signal needs no lease; the owner gets it once, with its next append or renewal.
///   To a thread that never was it is `NotFound`.
///
/// # Errors
/// Every method returns a [`StoreError`]. After a `Conflict` the writer reads the thread again
/// before it decides anything. After an `Unavailable` append the commit may or may not be written:
/// the writer repeats the same commit. `Busy` and `Full` can pass; `TooLarge` and `Invalid` do not.
///
/// # Cancellation safety
/// A dropped `append` is like one without a response: the commit is written whole or not at all,
/// and repeating it settles which. A dropped request for a lease may have been granted; that lease
/// ends with its time to live. `read` and `head` change nothing.
///
/// # Cost
/// An append is one transaction of the store, however many records it has. The engine makes about
/// one for each step, or fewer in the batched modes, and one renewal of each lease for each third
/// of its time to live. Opening a thread reads the records after its last snapshot, in pages.
#[async_trait]
#[auto_impl(Arc)]
pub trait ThreadLog: Send + Sync {
    /// Appends the records of one commit.
    async fn append(&self, thread: &ThreadId, commit: &Commit) -> Result<AppendResult, StoreError>;

    /// Reads up to `limit` records from position `from` on.
    async fn read(
        &self,
        thread: &ThreadId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, Record)>, StoreError>;

    /// Returns the end of the log; none if the thread has no records.
    async fn head(&self, thread: &ThreadId) -> Result<Option<Head>, StoreError>;

    /// Requests, renews or releases a lease, or leaves a signal.
    async fn lease(&self, request: LeaseRequest) -> Result<LeaseOutcome, StoreError>;
}

/// Checks that what was read from a position on begins there and has each position once, in order:
/// a record that is read twice would be applied twice.
///
/// # Errors
/// [`StoreErrorKind::Corrupt`] names the first position that is not the one that follows.
pub fn check_page(from: Seq, page: &[(Seq, Record)]) -> Result<(), StoreErrorKind> {
    let mut expected = (from.max(1)..=Seq::MAX).zip(page);
    match expected.find(|(expected, (seq, _))| seq != expected) {
        None => Ok(()),
        Some((expected, (seq, _))) => {
            let what = format!("record {seq} was read where record {expected} is due");
            Err(StoreErrorKind::Corrupt(what))
        }
    }
}

/// Stored folds, which make opening a thread faster. Only the base of a compacted log is needed;
/// any other lost fold costs time and no data.
#[async_trait]
#[auto_impl(Arc)]
pub trait Snapshots: Send + Sync {
    /// Stores a fold. Past the head of the log it is `NotFound`, before its base `Compacted`.
    async fn put(&self, thread: &ThreadId, snapshot: Snapshot) -> Result<(), StoreError>;

    /// Returns the newest fold at or before a position.
    async fn latest_at(&self, thread: &ThreadId, seq: Seq) -> Result<Option<Snapshot>, StoreError>;

    /// Removes the fold at exactly this position; removing none is no error. The base of a
    /// compacted log cannot be removed: `Invalid`.
    async fn delete(&self, thread: &ThreadId, seq: Seq) -> Result<(), StoreError>;
}

/// The administration of threads.
#[async_trait]
#[auto_impl(Arc)]
pub trait ThreadAdmin: Send + Sync {
    /// Returns the threads that match, in the order of their names, after `filter.after`.
    async fn list(&self, filter: ThreadFilter) -> Result<Vec<ThreadSummary>, StoreError>;

    /// Creates a new thread whose log begins with `base` and the records of `commit`, which take
    /// the positions after it. In one transaction: it exists whole or not at all. `Conflict` if the
    /// thread has records, or another fence than the commit expects; repeating it is no conflict.
    async fn fork(
        &self,
        thread: &ThreadId,
        base: Snapshot,
        commit: &Commit,
    ) -> Result<AppendResult, StoreError>;

    /// Replaces all records up to and including the position of `base` by it, and drops older
    /// snapshots, in one transaction. Past the head it is `NotFound`, before an earlier base
    /// `Compacted`. Head, fence, status and nonce stay.
    async fn compact(&self, thread: &ThreadId, base: Snapshot) -> Result<(), StoreError>;

    /// Removes a thread with all its data; removing none is no error. A later thread of the same
    /// name never grants the fences of the old one.
    async fn remove(&self, thread: &ThreadId) -> Result<(), StoreError>;
}

/// Convenience methods for every [`ThreadAdmin`].
pub trait ThreadAdminExt: ThreadAdmin {
    /// Returns every thread that matches, in the order of their names, however many there are; the
    /// limit of the filter is the page size.
    fn all(&self, filter: ThreadFilter) -> BoxStream<'_, Result<ThreadSummary, StoreError>> {
        let pages = stream::try_unfold(filter, async |mut filter| {
            let page = self.list(filter.clone()).await?;
            let Some(last) = page.last() else {
                return Ok(None);
            };
            filter.after = Some(last.thread.clone());
            Ok(Some((stream::iter(page).map(Ok), filter)))
        });
        pages.try_flatten().boxed()
    }
}

impl<T: ThreadAdmin + ?Sized> ThreadAdminExt for T {}

/// A filter for a list of threads.
#[derive(smart_default::SmartDefault, Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadFilter {
    /// The prefix of the names.
    pub prefix: String,
    /// The name after which the list begins.
    pub after: Option<ThreadId>,
    /// The largest number of threads.
    #[default(1000)]
    pub limit: usize,
}

/// An entry in a list of threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadSummary {
    /// The thread.
    pub thread: ThreadId,
    /// Its last position.
    pub head: Seq,
    /// Its status.
    pub status: Status,
}

/// The traits of a complete store of threads.
pub trait ThreadStore: ThreadLog + Snapshots + ThreadAdmin {}

impl<T: ThreadLog + Snapshots + ThreadAdmin + ?Sized> ThreadStore for T {}

const _: fn(&dyn ThreadLog, &dyn Snapshots, &dyn ThreadAdmin, &dyn ThreadStore) = |_, _, _, _| ();

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;
    use crate::{Expect, MemoryLog};

    #[test]
    fn all_threads_come_however_many_are_asked_for_at_once() {
        let log = MemoryLog::default();
        let commit = Commit {
            expect: Expect { head: 0, fence: 0 },
            nonce: 1,
            records: vec![Record(vec![])],
            status: Status::Idle,
            base: None,
        };
        for name in ["a1", "b1", "b2", "b3", "b4", "b5"] {
            let thread = ThreadId::new(name).unwrap();
            block_on(log.append(&thread, &commit)).unwrap();
        }
        for limit in 1..=6 {
            let filter = ThreadFilter {
                prefix: "b".into(),
                after: Some(ThreadId::new("b1").unwrap()),
                limit,
            };
            let all = log.all(filter).map_ok(|summary| summary.thread.to_string());
            let all: Vec<_> = block_on(all.try_collect()).unwrap();
            assert_eq!(all, ["b2", "b3", "b4", "b5"], "{limit} at once");
        }
    }
}
