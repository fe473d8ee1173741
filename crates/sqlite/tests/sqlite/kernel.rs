//! Runs the engine's tests on SQLite.
use std::sync::atomic::{AtomicU32, Ordering};

use fugato_sqlite::{SqliteLog, SqliteOptions};
use fugato_testkit::log::{Abilities, LogFactory, OpenError, OpenedLog, TestClock};
use tempfile::TempDir;

/// A factory of databases in a temporary folder.
struct Databases {
    folder: TempDir,
    made: AtomicU32,
}

impl Databases {
    fn new() -> Self {
        Self {
            folder: fugato_testkit::tempdir().expect("the system has room for a folder"),
            made: AtomicU32::new(0),
        }
    }
}

#[async_trait::async_trait]
impl LogFactory for Databases {
    fn abilities(&self) -> Abilities {
        Abilities::log_only().with_snapshots().with_admin()
    }

    async fn fresh(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        let clock = clock.clone();
        let options = SqliteOptions::default().clock(move || clock.now());
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.path().join(format!("{number}.db"));
        Ok(OpenedLog::whole(SqliteLog::open_with(path, options)?))
    }
}

fugato_testkit::kernel_suite!(Databases::new());
