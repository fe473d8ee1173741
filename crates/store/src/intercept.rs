use std::{future::Future, sync::Arc};

use async_trait::async_trait;
use fugato_state::{Seq, ThreadId};

use crate::{
    AppendResult, Commit, Head, LeaseOutcome, LeaseRequest, Record, Snapshot, Snapshots,
    StoreError, ThreadAdmin, ThreadFilter, ThreadLog, ThreadSummary,
};

/// A request to a store.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum StoreCall<'a> {
    /// An append.
    Append(&'a ThreadId, &'a Commit),
    /// A read of records.
    Read,
    /// A look at the head of a log.
    Head,
    /// A lease, a renewal, or a signal.
    Lease(&'a LeaseRequest),
    /// A snapshot to find, store or remove.
    Snapshot,
    /// A new thread out of another's snapshot.
    Fork(&'a ThreadId),
    /// The removal of a thread.
    Remove(&'a ThreadId),
    /// Other administration of threads.
    Admin,
}

/// An interceptor between a program and its store. It sees every request, and counts, delays or
/// fails it, or does something besides. A function is one that refuses requests: the store gets
/// those for which it returns `Ok`.
///
/// ```
/// use fugato_state::ThreadId;
/// use fugato_store::{
///     InterceptedLog, MemoryLog, StoreCall, StoreError, StoreErrorKind, ThreadLog,
/// };
///
/// // Nothing more can be written.
/// let full = |asked: StoreCall<'_>| match asked {
///     StoreCall::Append(..) => Err(StoreError::new(StoreErrorKind::Full, "append")),
///     _ => Ok(()),
/// };
///
/// # futures::executor::block_on(async {
/// let log = InterceptedLog::new(MemoryLog::default(), full);
/// assert_eq!(log.head(&ThreadId::new("desk")?).await?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub trait Intercept: Send + Sync {
    /// Runs around one request: the store gets it only when `act` is awaited.
    fn around<T: Send>(
        &self,
        asked: StoreCall<'_>,
        act: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> impl Future<Output = Result<T, StoreError>> + Send;
}

impl<I: Intercept> Intercept for Arc<I> {
    fn around<T: Send>(
        &self,
        asked: StoreCall<'_>,
        act: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> impl Future<Output = Result<T, StoreError>> + Send {
        (**self).around(asked, act)
    }
}

impl<F> Intercept for F
where
    F: Fn(StoreCall<'_>) -> Result<(), StoreError> + Send + Sync,
{
    async fn around<T: Send>(
        &self,
        asked: StoreCall<'_>,
        act: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self(asked)?;
        act.await
    }
}

/// A store with an interceptor in front of it.
#[derive(Debug, Clone)]
pub struct InterceptedLog<L, I> {
    store: L,
    between: I,
}

impl<L, I> InterceptedLog<L, I> {
    /// Puts an interceptor in front of a store.
    pub fn new(store: L, between: I) -> Self {
        Self { store, between }
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<L: ThreadLog, I: Intercept> ThreadLog for InterceptedLog<L, I> {
    async fn append(&self, thread: &ThreadId, commit: &Commit) -> Result<AppendResult, StoreError> {
        let act = self.store.append(thread, commit);
        self.between
            .around(StoreCall::Append(thread, commit), act)
            .await
    }

    async fn read(
        &self,
        thread: &ThreadId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, Record)>, StoreError> {
        let act = self.store.read(thread, from, limit);
        self.between.around(StoreCall::Read, act).await
    }

    async fn head(&self, thread: &ThreadId) -> Result<Option<Head>, StoreError> {
        self.between
            .around(StoreCall::Head, self.store.head(thread))
            .await
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseOutcome, StoreError> {
        let act = self.store.lease(request.clone());
        self.between.around(StoreCall::Lease(&request), act).await
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<L: Snapshots, I: Intercept> Snapshots for InterceptedLog<L, I> {
    async fn put(&self, thread: &ThreadId, snapshot: Snapshot) -> Result<(), StoreError> {
        let act = self.store.put(thread, snapshot);
        self.between.around(StoreCall::Snapshot, act).await
    }

    async fn latest_at(&self, thread: &ThreadId, seq: Seq) -> Result<Option<Snapshot>, StoreError> {
        let act = self.store.latest_at(thread, seq);
        self.between.around(StoreCall::Snapshot, act).await
    }

    async fn delete(&self, thread: &ThreadId, seq: Seq) -> Result<(), StoreError> {
        let act = self.store.delete(thread, seq);
        self.between.around(StoreCall::Snapshot, act).await
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<L: ThreadAdmin, I: Intercept> ThreadAdmin for InterceptedLog<L, I> {
    async fn list(&self, filter: ThreadFilter) -> Result<Vec<ThreadSummary>, StoreError> {
        self.between
            .around(StoreCall::Admin, self.store.list(filter))
            .await
    }

    async fn fork(
        &self,
        thread: &ThreadId,
        base: Snapshot,
        commit: &Commit,
    ) -> Result<AppendResult, StoreError> {
        let act = self.store.fork(thread, base, commit);
        self.between.around(StoreCall::Fork(thread), act).await
    }

    async fn compact(&self, thread: &ThreadId, base: Snapshot) -> Result<(), StoreError> {
        let act = self.store.compact(thread, base);
        self.between.around(StoreCall::Admin, act).await
    }

    async fn remove(&self, thread: &ThreadId) -> Result<(), StoreError> {
        let act = self.store.remove(thread);
        self.between.around(StoreCall::Remove(thread), act).await
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;
    use crate::{Expect, MemoryLog, Status, StoreErrorKind};

    /// Lets nothing through, and fails with the name of the request.
    fn closed(asked: StoreCall<'_>) -> Result<(), StoreError> {
        let asked = match asked {
            StoreCall::Append(..) => "append",
            StoreCall::Read => "read",
            StoreCall::Head => "head",
            StoreCall::Lease(_) => "lease",
            StoreCall::Snapshot => "snapshot",
            StoreCall::Fork(_) => "fork",
            StoreCall::Remove(_) => "remove",
            StoreCall::Admin => "admin",
        };
        Err(StoreError::new(StoreErrorKind::Full, asked))
    }

    #[test]
    fn nothing_passes_by() {
        let log = InterceptedLog::new(MemoryLog::default(), closed);
        let desk = ThreadId::new("desk").unwrap();
        let next = Commit {
            expect: Expect { head: 0, fence: 0 },
            nonce: 1,
            records: vec![Record(vec![])],
            status: Status::Idle,
            base: None,
        };
        let claim = LeaseRequest::Claim(crate::Claim::default());
        let fold = || Snapshot {
            seq: 1,
            body: vec![],
        };
        let told = block_on(async {
            [
                log.append(&desk, &next).await.err(),
                log.read(&desk, 1, 1).await.err(),
                log.head(&desk).await.err(),
                log.lease(claim).await.err(),
                log.put(&desk, fold()).await.err(),
                log.latest_at(&desk, 1).await.err(),
                log.delete(&desk, 1).await.err(),
                log.list(ThreadFilter::default()).await.err(),
                log.fork(&desk, fold(), &next).await.err(),
                log.compact(&desk, fold()).await.err(),
                log.remove(&desk).await.err(),
            ]
        });
        let expected = [
            "append", "read", "head", "lease", "snapshot", "snapshot", "snapshot", "admin", "fork",
            "admin", "remove",
        ];
        let expected = expected.map(|asked| Some(StoreError::new(StoreErrorKind::Full, asked)));
        assert_eq!(format!("{told:?}"), format!("{expected:?}"));
    }
}
