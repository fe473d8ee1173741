//! The store traits for `Arc`, so that `Arc<dyn ThreadStore>` is a store as well.
use std::sync::Arc;

use async_trait::async_trait;
use fugato_state::{Seq, ThreadId};

use crate::{
    AppendResult, Commit, Head, LeaseOutcome, LeaseRequest, Record, Snapshot, Snapshots,
    StoreError, ThreadAdmin, ThreadFilter, ThreadLog, ThreadSummary,
};

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<T: ThreadLog + ?Sized> ThreadLog for Arc<T> {
    async fn append(&self, thread: &ThreadId, commit: &Commit) -> Result<AppendResult, StoreError> {
        (**self).append(thread, commit).await
    }

    async fn read(
        &self,
        thread: &ThreadId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, Record)>, StoreError> {
        (**self).read(thread, from, limit).await
    }

    async fn head(&self, thread: &ThreadId) -> Result<Option<Head>, StoreError> {
        (**self).head(thread).await
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseOutcome, StoreError> {
        (**self).lease(request).await
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<T: Snapshots + ?Sized> Snapshots for Arc<T> {
    async fn put(&self, thread: &ThreadId, snapshot: Snapshot) -> Result<(), StoreError> {
        (**self).put(thread, snapshot).await
    }

    async fn latest_at(&self, thread: &ThreadId, seq: Seq) -> Result<Option<Snapshot>, StoreError> {
        (**self).latest_at(thread, seq).await
    }

    async fn delete(&self, thread: &ThreadId, seq: Seq) -> Result<(), StoreError> {
        (**self).delete(thread, seq).await
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<T: ThreadAdmin + ?Sized> ThreadAdmin for Arc<T> {
    async fn list(&self, filter: ThreadFilter) -> Result<Vec<ThreadSummary>, StoreError> {
        (**self).list(filter).await
    }

    async fn fork(
        &self,
        thread: &ThreadId,
        base: Snapshot,
        commit: &Commit,
    ) -> Result<AppendResult, StoreError> {
        (**self).fork(thread, base, commit).await
    }

    async fn compact(&self, thread: &ThreadId, base: Snapshot) -> Result<(), StoreError> {
        (**self).compact(thread, base).await
    }

    async fn remove(&self, thread: &ThreadId) -> Result<(), StoreError> {
        (**self).remove(thread).await
    }
}

const _: fn(&Arc<dyn crate::ThreadStore>) -> &dyn crate::ThreadStore = |store| store;
