//! A store that removes a thread with all that belongs to it.
use std::sync::Arc;

use async_trait::async_trait;
use fugato_state::{Seq, ThreadId};
use fugato_store::{
    AppendResult, Commit, Head, LeaseOutcome, LeaseRequest, Record, Snapshot, Snapshots,
    StoreError, StoreErrorKind, ThreadAdmin, ThreadFilter, ThreadLog, ThreadStore, ThreadSummary,
};

use crate::ThreadResources;

/// A store whose `remove` deletes what belongs to the thread, too, whoever calls it: a command, a
/// client over HTTP, or the retention of finished threads.
pub(crate) struct WholeStore {
    pub(crate) store: Arc<dyn ThreadStore>,
    pub(crate) belongings: Arc<dyn ThreadResources>,
}

#[async_trait]
impl ThreadAdmin for WholeStore {
    async fn list(&self, filter: ThreadFilter) -> Result<Vec<ThreadSummary>, StoreError> {
        self.store.list(filter).await
    }

    async fn fork(
        &self,
        thread: &ThreadId,
        base: Snapshot,
        commit: &Commit,
    ) -> Result<AppendResult, StoreError> {
        self.store.fork(thread, base, commit).await
    }

    async fn compact(&self, thread: &ThreadId, base: Snapshot) -> Result<(), StoreError> {
        self.store.compact(thread, base).await
    }

    async fn remove(&self, thread: &ThreadId) -> Result<(), StoreError> {
        // The log goes last: by it a partial removal is found and repeated.
        let deleted = self.belongings.delete(thread).await;
        deleted.map_err(|error| {
            let kind = StoreErrorKind::Other;
            StoreError::new(kind, "remove").on(thread).because(error)
        })?;
        self.store.remove(thread).await
    }
}

#[async_trait]
impl ThreadLog for WholeStore {
    async fn append(&self, thread: &ThreadId, commit: &Commit) -> Result<AppendResult, StoreError> {
        self.store.append(thread, commit).await
    }

    async fn read(
        &self,
        thread: &ThreadId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, Record)>, StoreError> {
        self.store.read(thread, from, limit).await
    }

    async fn head(&self, thread: &ThreadId) -> Result<Option<Head>, StoreError> {
        self.store.head(thread).await
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseOutcome, StoreError> {
        self.store.lease(request).await
    }
}

#[async_trait]
impl Snapshots for WholeStore {
    async fn put(&self, thread: &ThreadId, snapshot: Snapshot) -> Result<(), StoreError> {
        self.store.put(thread, snapshot).await
    }

    async fn latest_at(&self, thread: &ThreadId, seq: Seq) -> Result<Option<Snapshot>, StoreError> {
        self.store.latest_at(thread, seq).await
    }

    async fn delete(&self, thread: &ThreadId, seq: Seq) -> Result<(), StoreError> {
        self.store.delete(thread, seq).await
    }
}
