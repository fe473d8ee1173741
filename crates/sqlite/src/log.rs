use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use fugato_state::{Seq, ThreadId};
use fugato_store::{
    AppendResult, Commit, Head, LeaseOutcome, LeaseRequest, Record, Snapshot, Snapshots,
    StoreError, StoreErrorKind, ThreadAdmin, ThreadFilter, ThreadLog, ThreadSummary,
};

use crate::{
    blocking::Place,
    clock::StoreClock,
    error::{Refusal, on},
    group::{Group, GroupTurn, LeaderGuard},
    open::{absolute, open_writer},
    options::{SqliteOptions, Synchronous},
    readers::Readers,
    request::{Answer, Outcome, Request},
    writer::Writer,
};

/// The most requests that share one transaction.
const MOST_IN_A_GROUP: usize = 512;

/// The logs of many threads in one `SQLite` file. Clones share it.
///
/// Several processes may have the file open: of two that write one position exactly one wins. The
/// file must be on a disk of this machine, because `SQLite` shares memory between the processes.
///
/// Dropping the last clone closes the file; acknowledged commits are already written. If no other
/// process has it open, everything then lies in the one file.
#[derive(Debug, Clone)]
pub struct SqliteLog {
    pub(crate) shared: Arc<LogInner>,
}

#[derive(Debug)]
pub(crate) struct LogInner {
    group: Group<Request, Outcome>,
    /// Closed before the writer, as fields are dropped in order: whoever closes last copies the
    /// write-ahead log into the file, and a connection that only reads cannot.
    pub(crate) readers: Readers,
    writer: Mutex<Writer>,
    /// True if a commit waits until the disk has confirmed it.
    waits_for_disk: bool,
}

impl SqliteLog {
    /// Opens a database, or creates one if there is no file or an empty one.
    ///
    /// # Errors
    /// `Corrupt` for a file that is no such database, has a newer version, is damaged, or has lost
    /// commits with its write-ahead log; the files are left as they are. `Unavailable` if another process holds it for longer than the busy
    /// timeout. `Invalid` if it cannot be written. The message names the file, the found value and
    /// the expected one.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_with(path, SqliteOptions::default())
    }

    /// Opens a database with options; see [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Self, StoreError> {
        let path = absolute(path.as_ref())?;
        let connection = open_writer(&path, &options)?;
        let clock = Arc::new(StoreClock::new(Arc::clone(&options.clock)));
        let writer = Writer::new(
            connection,
            path.clone(),
            Arc::clone(&clock),
            options.synchronous,
        )
        .map_err(|error| Refusal::from(error).into_store("open"))?;
        let shared = LogInner {
            group: Group::new(MOST_IN_A_GROUP),
            writer: Mutex::new(writer),
            waits_for_disk: options.synchronous == Synchronous::Full,
            readers: Readers::new(path, options, clock),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Reads every page of the database and checks its integrity. Opening does so only with small
    /// databases.
    pub async fn verify(&self) -> Result<(), StoreError> {
        self.read_with(|shared| shared.readers.check()).await
    }

    /// Writes a copy of the current database to a new file, which can be opened like this one.
    ///
    /// Others may read and write meanwhile. Fails with `Invalid` if the file exists.
    pub async fn copy_to(&self, path: impl AsRef<Path>) -> Result<(), StoreError> {
        let path = absolute(path.as_ref())?;
        self.read_with(move |shared| shared.readers.copy_to(&path))
            .await
    }

    pub(crate) async fn write(&self, request: Request) -> Outcome {
        let operation = request.operation();
        let thread = request.thread().cloned();
        // The outcome is unknown then; the nonce of a commit makes repeating it safe.
        let lost = || {
            let error = StoreError::new(StoreErrorKind::Unavailable, operation);
            on(error, thread.as_ref())
        };
        match self.shared.group.enter(request).await {
            GroupTurn::Done(outcome) => outcome,
            GroupTurn::Lost => Err(lost()),
            GroupTurn::Lead(lead) => self.lead(lead).await.unwrap_or_else(|| Err(lost())),
        }
    }

    async fn lead(&self, lead: LeaderGuard<Request, Outcome>) -> Option<Outcome> {
        let shared = Arc::clone(&self.shared);
        let waits =
            shared.waits_for_disk && lead.jobs().iter().any(Request::must_survive_power_failure);
        let work = move || lead.execute(|requests| shared.commit(requests));
        match Place::current() {
            Place::Worker if waits => tokio::task::block_in_place(work),
            Place::Pool(handle) if waits => handle.spawn_blocking(work).await.ok().flatten(),
            // Moving the work to another thread would take longer than the work.
            _ => work(),
        }
    }

    pub(crate) async fn read_with<T: Send + 'static>(
        &self,
        read: impl FnOnce(&LogInner) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let shared = Arc::clone(&self.shared);
        match Place::current() {
            Place::Here => read(&shared),
            Place::Worker => tokio::task::block_in_place(|| read(&shared)),
            Place::Pool(handle) => handle
                .spawn_blocking(move || read(&shared))
                .await
                .unwrap_or_else(|_| Err(StoreError::new(StoreErrorKind::Unavailable, "read"))),
        }
    }

    async fn appended(&self, request: Request) -> Result<AppendResult, StoreError> {
        match self.write(request).await? {
            Answer::Appended(appended) => Ok(appended),
            other => Err(unexpected(&other)),
        }
    }

    pub(crate) async fn done(&self, request: Request) -> Result<(), StoreError> {
        match self.write(request).await? {
            Answer::Done => Ok(()),
            other => Err(unexpected(&other)),
        }
    }
}

impl LogInner {
    fn commit(&self, requests: &[Request]) -> Vec<Outcome> {
        self.writer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .commit(requests)
    }
}

pub(crate) fn unexpected(answer: &Answer) -> StoreError {
    StoreError::new(StoreErrorKind::Other, "write").because(format!("answered {answer:?}"))
}

/// The most records that are read on the current thread. They are mostly in pages that are in
/// memory, and moving to another thread takes longer than reading them.
const AT_ONCE: usize = 1024;

#[async_trait]
impl ThreadLog for SqliteLog {
    async fn append(&self, thread: &ThreadId, commit: &Commit) -> Result<AppendResult, StoreError> {
        self.appended(Request::Append(thread.clone(), commit.clone()))
            .await
    }

    async fn read(
        &self,
        thread: &ThreadId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, Record)>, StoreError> {
        let name = thread.clone();
        let read = move |shared: &LogInner| {
            let read = shared.readers.read(&name, from, limit);
            read.map_err(|refused| refused.into_store("read").on(&name))
        };
        if limit <= AT_ONCE {
            return read(&self.shared);
        }
        self.read_with(read).await
    }

    async fn head(&self, thread: &ThreadId) -> Result<Option<Head>, StoreError> {
        // A read of two pages is not worth another thread.
        let head = self.shared.readers.head(thread);
        head.map_err(|refused| refused.into_store("read the head of").on(thread))
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseOutcome, StoreError> {
        match self.write(Request::Lease(request)).await? {
            Answer::Leased(leased) => Ok(leased),
            other => Err(unexpected(&other)),
        }
    }
}

#[async_trait]
impl Snapshots for SqliteLog {
    async fn put(&self, thread: &ThreadId, snapshot: Snapshot) -> Result<(), StoreError> {
        self.done(Request::Put(thread.clone(), snapshot)).await
    }

    async fn latest_at(&self, thread: &ThreadId, seq: Seq) -> Result<Option<Snapshot>, StoreError> {
        // One row is not worth another thread.
        let latest = self.shared.readers.latest_at(thread, seq);
        latest.map_err(|refused| refused.into_store("read a snapshot of").on(thread))
    }

    async fn delete(&self, thread: &ThreadId, seq: Seq) -> Result<(), StoreError> {
        self.done(Request::Delete(thread.clone(), seq)).await
    }
}

#[async_trait]
impl ThreadAdmin for SqliteLog {
    async fn list(&self, filter: ThreadFilter) -> Result<Vec<ThreadSummary>, StoreError> {
        self.read_with(move |shared| {
            let listed = shared.readers.list(&filter);
            listed.map_err(|refused| refused.into_store("list threads"))
        })
        .await
    }

    async fn fork(
        &self,
        thread: &ThreadId,
        base: Snapshot,
        commit: &Commit,
    ) -> Result<AppendResult, StoreError> {
        self.appended(Request::Fork(thread.clone(), base, commit.clone()))
            .await
    }

    async fn compact(&self, thread: &ThreadId, base: Snapshot) -> Result<(), StoreError> {
        self.done(Request::Compact(thread.clone(), base)).await
    }

    async fn remove(&self, thread: &ThreadId) -> Result<(), StoreError> {
        self.done(Request::Remove(thread.clone())).await
    }
}
