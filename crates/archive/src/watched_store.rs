use async_trait::async_trait;
use fugato_state::{Seq, ThreadId};
use fugato_store::{
    AppendResult, Commit, Head, LeaseOutcome, LeaseRequest, Record, Snapshot, Snapshots,
    StoreError, ThreadAdmin, ThreadFilter, ThreadLog, ThreadSummary,
};

use crate::Archives;

/// A store whose archives follow every thread that is written.
#[derive(Debug, Clone)]
pub struct WatchedStore<T> {
    inner: T,
    archives: Archives,
}

impl<T> WatchedStore<T> {
    pub(crate) fn new(inner: T, archives: Archives) -> Self {
        Self { inner, archives }
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<T: ThreadLog> ThreadLog for WatchedStore<T> {
    async fn append(&self, thread: &ThreadId, commit: &Commit) -> Result<AppendResult, StoreError> {
        let appended = self.inner.append(thread, commit).await;
        // Also after an error: the commit may have been written without an acknowledgement.
        self.archives.follow(thread);
        appended
    }

    async fn read(
        &self,
        thread: &ThreadId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, Record)>, StoreError> {
        self.inner.read(thread, from, limit).await
    }

    async fn head(&self, thread: &ThreadId) -> Result<Option<Head>, StoreError> {
        self.inner.head(thread).await
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseOutcome, StoreError> {
        self.inner.lease(request).await
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<T: Snapshots> Snapshots for WatchedStore<T> {
    async fn put(&self, thread: &ThreadId, snapshot: Snapshot) -> Result<(), StoreError> {
        self.inner.put(thread, snapshot).await
    }

    async fn latest_at(&self, thread: &ThreadId, seq: Seq) -> Result<Option<Snapshot>, StoreError> {
        self.inner.latest_at(thread, seq).await
    }

    async fn delete(&self, thread: &ThreadId, seq: Seq) -> Result<(), StoreError> {
        self.inner.delete(thread, seq).await
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<T: ThreadAdmin> ThreadAdmin for WatchedStore<T> {
    async fn list(&self, filter: ThreadFilter) -> Result<Vec<ThreadSummary>, StoreError> {
        self.inner.list(filter).await
    }

    async fn fork(
        &self,
        thread: &ThreadId,
        base: Snapshot,
        commit: &Commit,
    ) -> Result<AppendResult, StoreError> {
        let appended = self.inner.fork(thread, base, commit).await;
        self.archives.follow(thread);
        appended
    }

    async fn compact(&self, thread: &ThreadId, base: Snapshot) -> Result<(), StoreError> {
        self.inner.compact(thread, base).await
    }

    async fn remove(&self, thread: &ThreadId) -> Result<(), StoreError> {
        self.inner.remove(thread).await
    }
}
