//! Snapshots, and administration of threads.
use async_trait::async_trait;
use fugato_state::{Seq, ThreadId};
use fugato_store::{
    AppendResult, Commit, Snapshot, Snapshots, StoreError, ThreadAdmin, ThreadFilter, ThreadSummary,
};

use crate::{
    RedisLog,
    log::found,
    reply::{ReadResult, Reply, refused},
    request::{MAX_SEQ, range},
    script,
};

/// The most lines of a list that one script reads, so that other requests get their turn.
const PAGE: usize = 1_000;

#[async_trait]
impl Snapshots for RedisLog {
    async fn put(&self, thread: &ThreadId, snapshot: Snapshot) -> Result<(), StoreError> {
        let mut request = self.request(&script::PUT, thread.as_str());
        request.arg(snapshot.seq).arg(snapshot.body);
        self.with(thread, &request, "put a snapshot of", |_| Ok(()))
            .await
    }

    async fn latest_at(&self, thread: &ThreadId, seq: Seq) -> Result<Option<Snapshot>, StoreError> {
        let mut request = self.request(&script::LATEST, thread.as_str());
        request.arg(seq);
        let ran = self.run(&request, "read a snapshot of").await;
        let latest = ran.and_then(|reply| {
            let latest = reply.and_then(|mut reply| {
                let (seq, body) = (reply.number()?, reply.bytes()?);
                Ok(Snapshot { seq, body })
            });
            found(latest, "read a snapshot of")
        });
        latest.map_err(|error| error.on(thread))
    }

    async fn delete(&self, thread: &ThreadId, seq: Seq) -> Result<(), StoreError> {
        let mut request = self.request(&script::DELETE, thread.as_str());
        request.arg(seq);
        self.with(thread, &request, "delete a snapshot of", |_| Ok(()))
            .await
    }
}

#[async_trait]
impl ThreadAdmin for RedisLog {
    async fn list(&self, filter: ThreadFilter) -> Result<Vec<ThreadSummary>, StoreError> {
        let mut listed = vec![];
        let mut after = filter.after.map(String::from);
        while listed.len() < filter.limit {
            let page = PAGE.min(filter.limit - listed.len());
            let (begin, end) = range(&filter.prefix, after.as_deref());
            let mut request = self.request(&script::LIST, "");
            request.arg(begin).arg(end).arg(page);
            let reply = self.run(&request, "list threads").await?;
            let lines = reply.and_then(|mut reply| {
                let (looked_at, last) = (reply.number::<usize>()?, reply.text()?);
                let lines = reply.lists()?.into_iter().map(line);
                Ok((looked_at, last, lines.collect::<ReadResult<Vec<_>>>()?))
            });
            let (looked_at, last, lines) =
                lines.map_err(|refusal| refused(refusal, "list threads"))?;
            listed.extend(lines);
            if looked_at < page {
                break;
            }
            after = Some(last);
        }
        Ok(listed)
    }

    async fn fork(
        &self,
        thread: &ThreadId,
        base: Snapshot,
        commit: &Commit,
    ) -> Result<AppendResult, StoreError> {
        let failed = |kind| StoreError::new(kind, "fork").on(thread);
        commit.check_size().map_err(failed)?;
        commit.check_base(base.seq, base.seq).map_err(failed)?;
        commit.check_end(base.seq, MAX_SEQ).map_err(failed)?;
        let mut request = self.request(&script::FORK, thread.as_str());
        request.commit(commit, Some(&base));
        let read = |reply| self.read_appended(reply);
        self.with(thread, &request, "fork", read).await
    }

    async fn compact(&self, thread: &ThreadId, base: Snapshot) -> Result<(), StoreError> {
        let mut request = self.request(&script::COMPACT, thread.as_str());
        request.arg(base.seq).arg(base.body);
        self.with(thread, &request, "compact", |_| Ok(())).await
    }

    async fn remove(&self, thread: &ThreadId) -> Result<(), StoreError> {
        let request = self.request(&script::REMOVE, thread.as_str());
        self.with(thread, &request, "remove", |_| Ok(())).await
    }
}

fn line(mut line: Reply) -> ReadResult<ThreadSummary> {
    Ok(ThreadSummary {
        thread: line.thread()?,
        head: line.number()?,
        status: line.status()?,
    })
}
