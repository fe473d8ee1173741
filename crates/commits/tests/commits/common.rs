//! Stores for the suites, in memory and in folders, and requests to them.
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use fugato_commits::{
    CommitLog, CommitLogOptions,
    object_store::{ObjectStore, local::LocalFileSystem, memory::InMemory},
};
use fugato_state::{Millis, Seq, ThreadId};
use fugato_store::{
    Commit, Expect, Fence, Lease, LeaseOutcome, LeaseRequest, Record, Snapshot, Status, StoreError,
    StoreErrorKind, ThreadLog,
};
use fugato_testkit::log::{Abilities, LogFactory, OpenError, OpenedLog, TestClock};
use tempfile::TempDir;

/// A factory of logs: each `fresh` has objects of its own.
#[derive(Default)]
pub(crate) struct Objects {
    place: Place,
    zombie_age: Option<Duration>,
    one_process: bool,
    last: Mutex<Option<TestStore>>,
}

/// A store, and the folder that goes when it does.
type TestStore = (Arc<dyn ObjectStore>, Option<TempDir>);

#[derive(Default, Clone, Copy)]
enum Place {
    #[default]
    Memory,
    Folder,
}

impl Objects {
    pub(crate) fn in_memory() -> Self {
        Self::default()
    }

    pub(crate) fn in_a_folder() -> Self {
        let place = Place::Folder;
        Self {
            place,
            ..Self::default()
        }
    }

    /// Opens each store once.
    pub(crate) fn in_one_process(self) -> Self {
        let one_process = true;
        Self {
            one_process,
            ..self
        }
    }

    /// Deletes what nobody reads at once.
    pub(crate) fn swept_at_once(self) -> Self {
        let zombie_age = Some(Duration::ZERO);
        Self { zombie_age, ..self }
    }

    fn last(&self) -> MutexGuard<'_, Option<TestStore>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn open(
        &self,
        store: Arc<dyn ObjectStore>,
        clock: &TestClock,
    ) -> Result<CommitLog, OpenError> {
        let clock = clock.clone();
        // Leases end to the millisecond, as the suites expect of one clock.
        let options = CommitLogOptions::default()
            .max_skew(Duration::ZERO)
            .zombie_age(self.zombie_age.unwrap_or(Duration::from_secs(1 << 40)))
            .clock(move || clock.now());
        Ok(CommitLog::open(store, options).await?)
    }

    /// Makes a store, and opens it.
    pub(crate) async fn fresh_log(&self, clock: &TestClock) -> Result<CommitLog, OpenError> {
        let (store, folder): (Arc<dyn ObjectStore>, _) = match self.place {
            Place::Memory => (Arc::new(InMemory::new()), None),
            Place::Folder => {
                let folder = fugato_testkit::tempdir()?;
                let store = LocalFileSystem::new_with_prefix(folder.path())?.with_fsync(true);
                let store = store.with_automatic_cleanup(true);
                (Arc::new(store), Some(folder))
            }
        };
        self.last().replace((store.clone(), folder));
        self.open(store, clock).await
    }

    /// Opens the last store once more.
    pub(crate) async fn reopened_log(&self, clock: &TestClock) -> Result<CommitLog, OpenError> {
        let store = self.last().as_ref().map(|(store, _)| store.clone());
        self.open(store.ok_or("nothing was opened")?, clock).await
    }
}

#[async_trait::async_trait]
impl LogFactory for Objects {
    fn abilities(&self) -> Abilities {
        if self.one_process {
            Abilities::log_only().with_snapshots().with_admin()
        } else {
            Abilities::all()
        }
    }

    async fn fresh(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        Ok(OpenedLog::whole(self.fresh_log(clock).await?))
    }

    async fn reopen(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        Ok(OpenedLog::whole(self.reopened_log(clock).await?))
    }
}

pub(crate) fn thread(name: &str) -> ThreadId {
    ThreadId::new(name).expect("tests use short names")
}

pub(crate) fn commit(head: Seq, fence: Fence, text: &str) -> Commit {
    Commit {
        expect: Expect { head, fence },
        nonce: u128::from(head) + 1,
        records: vec![Record(text.into())],
        status: Status::Runnable,
        base: None,
    }
}

pub(crate) fn fold(seq: Seq) -> Snapshot {
    let body = format!("up to {seq}").into_bytes();
    Snapshot { seq, body }
}

pub(crate) async fn acquire(
    log: &impl ThreadLog,
    name: &str,
    ttl: Millis,
) -> Result<Lease, StoreError> {
    let (thread, owner) = (thread(name), "owner".to_owned());
    let request = LeaseRequest::Acquire { thread, owner, ttl };
    match log.lease(request).await? {
        LeaseOutcome::Granted(leases) => Ok(leases.into_iter().next().expect("one was asked for")),
        other => panic!("no lease: {other:?}"),
    }
}

/// Returns the records of a thread after its fold.
pub(crate) async fn texts(log: &impl ThreadLog, name: &str) -> Vec<String> {
    let base = log.head(&thread(name)).await.expect("it can be read");
    let base = base.map_or(0, |head| head.base);
    let read = log.read(&thread(name), base + 1, 1_000).await;
    let records = read.expect("it can be read").into_iter();
    let texts = records.map(|(_, record)| String::from_utf8_lossy(&record.0).into_owned());
    texts.collect()
}

pub(crate) fn kind<T>(result: Result<T, StoreError>) -> Result<T, StoreErrorKind> {
    result.map_err(|error| error.kind)
}
