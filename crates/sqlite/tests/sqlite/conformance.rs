//! Runs the conformance tests of a log on `SqliteLog`.
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU32, Ordering},
};

use fugato_sqlite::{SqliteLog, SqliteOptions, Synchronous};
use fugato_testkit::log::{
    Abilities, Failure, LogFactory, OpenError, OpenedLog, TestClock, agrees_with_the_model,
};
use tempfile::TempDir;

/// A factory of databases in a temporary folder.
struct Databases {
    folder: Mutex<Option<TempDir>>,
    made: AtomicU32,
    synchronous: Synchronous,
}

impl Databases {
    fn new(synchronous: Synchronous) -> Self {
        Self {
            folder: Mutex::default(),
            made: AtomicU32::new(0),
            synchronous,
        }
    }

    fn open(&self, number: u32, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        let clock = clock.clone();
        let options = SqliteOptions::default()
            .synchronous(self.synchronous)
            .clock(move || clock.now());
        let mut folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = match &mut *folder {
            Some(folder) => folder,
            none => none.insert(fugato_testkit::tempdir()?),
        };
        let path = folder.path().join(format!("{number}.db"));
        Ok(OpenedLog::whole(SqliteLog::open_with(path, options)?))
    }
}

#[async_trait::async_trait]
impl LogFactory for Databases {
    fn abilities(&self) -> Abilities {
        Abilities::all()
    }

    async fn fresh(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        self.open(self.made.fetch_add(1, Ordering::Relaxed) + 1, clock)
    }

    async fn reopen(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        self.open(self.made.load(Ordering::Relaxed), clock)
    }
}

mod durable {
    use super::*;

    fugato_testkit::thread_log_suite!(Databases::new(Synchronous::Full));
}

mod fast {
    use super::*;

    fugato_testkit::thread_log_suite!(Databases::new(Synchronous::Normal));
}

#[test]
fn random_requests_are_answered_as_by_the_model() -> Result<(), Failure> {
    agrees_with_the_model(
        &Databases::new(Synchronous::Normal),
        fugato_testkit::share_of(96),
    )
}
