//! The log of this service passes the suites that fugato's own logs pass.
use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use downstream::JsonLines;
use fugato::async_trait;
use fugato_testkit::log::{Abilities, LogFactory, OpenError, OpenedLog, TestClock};
use tempfile::TempDir;

/// Logs in files of a folder of its own.
#[derive(Default)]
struct Files {
    folder: Mutex<Option<TempDir>>,
}

impl Files {
    fn open(path: &Path, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        let clock = clock.clone();
        let log = JsonLines::open(path)?.with_clock(move || clock.now());
        let log = Arc::new(log);
        Ok(OpenedLog {
            log: log.clone(),
            snapshots: Some(log),
            admin: None,
        })
    }
}

#[async_trait]
impl LogFactory for Files {
    fn abilities(&self) -> Abilities {
        Abilities::log_only().with_snapshots().persistent()
    }

    async fn fresh(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("threads.jsonl");
        *self.folder.lock().map_err(|_| "a test panicked")? = Some(folder);
        Self::open(&path, clock)
    }

    async fn reopen(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        let folder = self.folder.lock().map_err(|_| "a test panicked")?;
        let folder = folder.as_ref().ok_or("nothing was opened")?;
        Self::open(&folder.path().join("threads.jsonl"), clock)
    }
}

mod log {
    fugato_testkit::thread_log_suite!(super::Files::default());
}

mod kernel {
    fugato_testkit::kernel_suite!(super::Files::default(), if true, in shares);
}
