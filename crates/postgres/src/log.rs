use std::sync::Arc;

use async_trait::async_trait;
use fugato_state::{Seq, ThreadId};
use fugato_store::{
    AppendResult, Commit, Head, LeaseOutcome, LeaseRequest, Record, Snapshot, Snapshots,
    StoreError, ThreadAdmin, ThreadFilter, ThreadLog, ThreadSummary,
};
use futures::Stream;

use crate::{PostgresOptions, WakeReason, database::Database, error::Refusal};

/// The logs of many threads in one schema of a `PostgreSQL` database. Clones share its connections.
///
/// Any number of processes may use it: of two that write one position exactly one wins.
///
/// A request that is dropped before its answer may have been carried out. Its connection is closed
/// and not used again.
#[derive(Debug, Clone)]
pub struct PostgresLog {
    pub(crate) database: Arc<Database>,
}

impl PostgresLog {
    /// Connects to a database such as `postgres://user:password@host/database`, and creates or
    /// migrates the tables. Must be called on a tokio runtime, and used only while it runs.
    ///
    /// # Errors
    /// `Unavailable` if the server does not answer. `Corrupt` if the tables are newer than this
    /// crate; they are left as they are. `Invalid` if the server refuses the user, is a standby or
    /// too old, or cannot keep the [promised](crate::Synchronous) durability.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        Self::connect_with(url, PostgresOptions::default()).await
    }

    /// Connects with options; see [`connect`](Self::connect).
    pub async fn connect_with(url: &str, options: PostgresOptions) -> Result<Self, StoreError> {
        let database = Database::open(url, options).await?;
        Ok(Self { database })
    }

    /// Returns a stream that wakes a waiting worker as soon as a thread without a lease can go on,
    /// or a signal was sent. The worker need not poll all the time. The stream never ends; it
    /// reconnects after a lost connection.
    ///
    /// Notifications can be lost, so also poll now and then. A thread that becomes due while it
    /// sleeps or waits is not announced again, and a step of a thread with a lease is never
    /// announced.
    pub fn woken(&self) -> impl Stream<Item = WakeReason> + Send + 'static {
        Arc::clone(&self.database).woken()
    }
}

fn on<T>(
    outcome: Result<T, Refusal>,
    operation: &'static str,
    thread: &ThreadId,
) -> Result<T, StoreError> {
    outcome.map_err(|refused| refused.into_store(operation).on(thread))
}

#[async_trait]
impl ThreadLog for PostgresLog {
    async fn append(&self, thread: &ThreadId, commit: &Commit) -> Result<AppendResult, StoreError> {
        on(self.database.append(thread, commit).await, "append", thread)
    }

    async fn read(
        &self,
        thread: &ThreadId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, Record)>, StoreError> {
        on(
            self.database.read(thread, from, limit).await,
            "read",
            thread,
        )
    }

    async fn head(&self, thread: &ThreadId) -> Result<Option<Head>, StoreError> {
        on(self.database.head(thread).await, "read the head of", thread)
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseOutcome, StoreError> {
        let leased = self.database.lease(&request).await;
        let (operation, thread) = match &request {
            LeaseRequest::Acquire { thread, .. } => ("lease", Some(thread)),
            LeaseRequest::Claim(_) => ("claim threads", None),
            LeaseRequest::Renew { thread, .. } => ("renew the lease of", Some(thread)),
            LeaseRequest::Release { thread, .. } => ("release", Some(thread)),
            LeaseRequest::Signal { thread, .. } => ("signal", Some(thread)),
        };
        leased.map_err(|refused| {
            let error = refused.into_store(operation);
            match thread {
                Some(thread) => error.on(thread),
                None => error,
            }
        })
    }
}

#[async_trait]
impl Snapshots for PostgresLog {
    async fn put(&self, thread: &ThreadId, snapshot: Snapshot) -> Result<(), StoreError> {
        let put = self.database.put(thread, &snapshot).await;
        on(put, "put a snapshot of", thread)
    }

    async fn latest_at(&self, thread: &ThreadId, seq: Seq) -> Result<Option<Snapshot>, StoreError> {
        let latest = self.database.latest_at(thread, seq).await;
        on(latest, "read a snapshot of", thread)
    }

    async fn delete(&self, thread: &ThreadId, seq: Seq) -> Result<(), StoreError> {
        let deleted = self.database.delete(thread, seq).await;
        on(deleted, "delete a snapshot of", thread)
    }
}

#[async_trait]
impl ThreadAdmin for PostgresLog {
    async fn list(&self, filter: ThreadFilter) -> Result<Vec<ThreadSummary>, StoreError> {
        let listed = self.database.list(&filter).await;
        listed.map_err(|refused| refused.into_store("list threads"))
    }

    async fn fork(
        &self,
        thread: &ThreadId,
        base: Snapshot,
        commit: &Commit,
    ) -> Result<AppendResult, StoreError> {
        on(
            self.database.fork(thread, &base, commit).await,
            "fork",
            thread,
        )
    }

    async fn compact(&self, thread: &ThreadId, base: Snapshot) -> Result<(), StoreError> {
        on(
            self.database.compact(thread, &base).await,
            "compact",
            thread,
        )
    }

    async fn remove(&self, thread: &ThreadId) -> Result<(), StoreError> {
        on(self.database.remove(thread).await, "remove", thread)
    }
}
