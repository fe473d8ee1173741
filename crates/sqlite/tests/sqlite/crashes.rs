//! Tests K24 on files: a process dies at any point, and the file stays as it was then, with a torn
//! end.
use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use async_trait::async_trait;
use fugato_graph::Durability;
use fugato_sqlite::{SqliteLog, SqliteOptions};
use fugato_testkit::{
    log::{Failure, OpenError, OpenedLog, TestClock},
    sim::{CrashStore, Fault, letter},
};
use tempfile::TempDir;

/// A sequence of databases: each is the last one as a crash left it.
struct Files {
    folder: TempDir,
    number: AtomicU32,
}

impl Files {
    fn new() -> Result<Self, OpenError> {
        Ok(Self {
            folder: fugato_testkit::tempdir()?,
            number: AtomicU32::new(0),
        })
    }

    fn path(&self, number: u32) -> PathBuf {
        self.folder.path().join(format!("{number}.db"))
    }

    fn last(&self) -> PathBuf {
        self.path(self.number.load(Ordering::SeqCst))
    }

    fn open(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        let clock = clock.clone();
        let options = SqliteOptions::default().clock(move || clock.now());
        Ok(OpenedLog::whole(SqliteLog::open_with(
            self.last(),
            options,
        )?))
    }
}

fn wal(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

#[async_trait]
impl CrashStore for Files {
    async fn fresh(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        for path in [self.last(), wal(&self.last())] {
            if path.exists() {
                fs::remove_file(path)?;
            }
        }
        self.number.fetch_add(1, Ordering::SeqCst);
        self.open(clock)
    }

    async fn reopen(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        self.open(clock)
    }

    fn length(&self) -> Option<u64> {
        let length = fs::metadata(wal(&self.last())).map(|file| file.len());
        Some(length.unwrap_or(0))
    }

    fn die(&self, torn: Option<u64>) -> Result<(), OpenError> {
        let dead = self.last();
        self.number.fetch_add(1, Ordering::SeqCst);
        let next = self.last();
        fs::copy(&dead, &next)?;
        if wal(&dead).exists() {
            fs::copy(wal(&dead), wal(&next))?;
            if let Some(end) = torn {
                let file = fs::OpenOptions::new().write(true).open(wal(&next))?;
                file.set_len(end)?;
            }
        }
        Ok(())
    }
}

#[tokio::test]
async fn k24_a_file_survives_a_crash_at_any_point() -> Result<(), Failure> {
    let report = letter()
        .store(Files::new()?)
        .durability([Durability::Strict])
        .random(16)
        .run()
        .await?;
    assert!(report.faults.contains_key(&Fault::Torn), "{report}");
    assert!(report.doubts > 0, "{report}");
    Ok(())
}
