use async_trait::async_trait;
use fugato_state::{Seq, ThreadId};
use fugato_store::{
    AppendResult, Commit, Snapshot, Snapshots, StoreError, ThreadAdmin, ThreadFilter, ThreadLog,
    ThreadSummary,
};

use super::{BrokenLog, Flaw};

#[async_trait]
impl Snapshots for BrokenLog {
    async fn put(&self, thread: &ThreadId, mut snapshot: Snapshot) -> Result<(), StoreError> {
        let name = self.name(thread);
        if self.has(Flaw::AcceptsFuture)
            && let Some(head) = self.inner.head(&name).await?
        {
            snapshot.seq = snapshot.seq.min(head.seq);
        }
        if self.has(Flaw::LeavesOrphans) {
            self.remember(|memory| memory.orphans.push(snapshot.clone()));
        }
        self.inner.put(&name, snapshot).await
    }

    async fn latest_at(&self, thread: &ThreadId, seq: Seq) -> Result<Option<Snapshot>, StoreError> {
        let seq = seq.saturating_add(self.has(Flaw::LooksAhead).into());
        let latest = self.inner.latest_at(&self.name(thread), seq).await?;
        Ok(latest.or_else(|| self.remember(|memory| memory.orphans.last().cloned())))
    }

    async fn delete(&self, thread: &ThreadId, seq: Seq) -> Result<(), StoreError> {
        if self.has(Flaw::KeepsDeleted) {
            return Ok(());
        }
        self.inner.delete(&self.name(thread), seq).await
    }
}

#[async_trait]
impl ThreadAdmin for BrokenLog {
    async fn list(&self, filter: ThreadFilter) -> Result<Vec<ThreadSummary>, StoreError> {
        let mut listed = self.inner.list(filter).await?;
        if self.has(Flaw::ListsBackwards) {
            listed.reverse();
        }
        Ok(listed)
    }

    async fn fork(
        &self,
        thread: &ThreadId,
        base: Snapshot,
        commit: &Commit,
    ) -> Result<AppendResult, StoreError> {
        let name = self.name(thread);
        match self.inner.fork(&name, base.clone(), commit).await {
            Err(error) if error.is_conflict() && self.has(Flaw::ForksOver) => {
                self.inner.remove(&name).await?;
                self.inner.fork(&name, base, commit).await
            }
            other => other,
        }
    }

    async fn compact(&self, thread: &ThreadId, mut base: Snapshot) -> Result<(), StoreError> {
        let name = self.name(thread);
        if self.has(Flaw::CompactsAll)
            && let Some(head) = self.inner.head(&name).await?
            && base.seq <= head.seq
        {
            base.seq = head.seq;
        }
        self.inner.compact(&name, base).await
    }

    async fn remove(&self, thread: &ThreadId) -> Result<(), StoreError> {
        self.inner.remove(&self.name(thread)).await
    }
}
