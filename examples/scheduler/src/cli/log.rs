//! The log of conversations, wherever it lies.
use std::{path::Path, sync::Arc};

use anyhow::{Context as _, Result, bail};
use async_trait::async_trait;
use fugato::{
    postgres::PostgresLog,
    redis::RedisLog,
    sqlite::SqliteLog,
    state::{Seq, ThreadId},
    store::{
        Appended, Commit, Head, LeaseRequest, Leased, Record, Snapshot, Snapshots, StoreError,
        ThreadAdmin, ThreadFilter, ThreadLog, ThreadStore, ThreadSummary,
    },
};
use scheduler::store::without_password;

use super::args::Args;

/// A log of any kind.
#[derive(Clone)]
pub(crate) struct AnyLog(Arc<dyn ThreadStore>);

/// Opens the log that the command line names. A file is made only if `new` is allowed; none if it
/// is not there.
pub(crate) async fn open(args: &Args, new: bool) -> Result<Option<AnyLog>> {
    let default = || args.dir.join("threads.db").display().to_string();
    let address = args.store.clone().unwrap_or_else(default);
    let named = || format!("--store {}", without_password(&address));
    let store: Arc<dyn ThreadStore> = match address.split_once("://") {
        Some(("postgres" | "postgresql", _)) => {
            Arc::new(PostgresLog::connect(&address).await.with_context(named)?)
        }
        Some(("redis" | "rediss", _)) => {
            Arc::new(RedisLog::connect(&address).await.with_context(named)?)
        }
        None => {
            let path = Path::new(address.strip_prefix("sqlite:").unwrap_or(&address));
            if !new && !path.exists() {
                return Ok(None);
            }
            Arc::new(SqliteLog::open(path)?)
        }
        Some(_) => bail!(
            "{} is no log: allowed are a path, sqlite:PATH, postgres://… and redis://…",
            named()
        ),
    };
    Ok(Some(AnyLog(store)))
}

#[async_trait]
impl ThreadLog for AnyLog {
    async fn append(&self, thread: &ThreadId, commit: &Commit) -> Result<Appended, StoreError> {
        self.0.append(thread, commit).await
    }

    async fn read(
        &self,
        thread: &ThreadId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, Record)>, StoreError> {
        self.0.read(thread, from, limit).await
    }

    async fn head(&self, thread: &ThreadId) -> Result<Option<Head>, StoreError> {
        self.0.head(thread).await
    }

    async fn lease(&self, request: LeaseRequest) -> Result<Leased, StoreError> {
        self.0.lease(request).await
    }
}

#[async_trait]
impl Snapshots for AnyLog {
    async fn put(&self, thread: &ThreadId, snapshot: Snapshot) -> Result<(), StoreError> {
        self.0.put(thread, snapshot).await
    }

    async fn latest_at(&self, thread: &ThreadId, seq: Seq) -> Result<Option<Snapshot>, StoreError> {
        self.0.latest_at(thread, seq).await
    }

    async fn delete(&self, thread: &ThreadId, seq: Seq) -> Result<(), StoreError> {
        self.0.delete(thread, seq).await
    }
}

#[async_trait]
impl ThreadAdmin for AnyLog {
    async fn list(&self, filter: ThreadFilter) -> Result<Vec<ThreadSummary>, StoreError> {
        self.0.list(filter).await
    }

    async fn fork(
        &self,
        thread: &ThreadId,
        base: Snapshot,
        commit: &Commit,
    ) -> Result<Appended, StoreError> {
        self.0.fork(thread, base, commit).await
    }

    async fn compact(&self, thread: &ThreadId, base: Snapshot) -> Result<(), StoreError> {
        self.0.compact(thread, base).await
    }

    async fn remove(&self, thread: &ThreadId) -> Result<(), StoreError> {
        self.0.remove(thread).await
    }
}
