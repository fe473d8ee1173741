//! The store of the threads of a world.
use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};

use fugato_graph::BoxError;
use fugato_store::{MemoryLog, ThreadStore};
use tempfile::TempDir;

use crate::log::TestClock;

/// When the clock of a simulated world begins, in milliseconds since the Unix epoch.
const BEGINNING: i64 = 1_800_000_000_000;
/// Longer than any lease lasts.
const AFTER_LEASES: i64 = 10 * 60_000;

/// The store of the threads of a [`ConsentWorld`](super::ConsentWorld) or of a
/// [`Session`](crate::session::Session), which outlives its programs.
///
/// Each restart opens it anew, at a time at which all leases of the program before have expired.
pub struct WorldStore {
    clock: TestClock,
    open: Box<Open>,
    is_memory: bool,
}

type Open = dyn Fn(&TestClock) -> Result<Arc<dyn ThreadStore>, BoxError> + Send + Sync;

impl WorldStore {
    /// Creates a store in memory.
    pub fn in_memory() -> Self {
        let store = OnceLock::new();
        let open = move |clock: &TestClock| {
            let clock = clock.clone();
            let new = || Arc::new(MemoryLog::with_clock(move || clock.now()));
            Ok(store.get_or_init(new).clone() as Arc<dyn ThreadStore>)
        };
        Self {
            clock: TestClock::at(BEGINNING),
            open: Box::new(open),
            is_memory: true,
        }
    }

    /// Creates a store that the caller keeps. If it is to let leases expire, it reads time from
    /// this clock.
    pub fn of(store: Arc<dyn ThreadStore>, clock: TestClock) -> Self {
        Self {
            clock,
            open: Box::new(move |_| Ok(store.clone())),
            is_memory: true,
        }
    }

    /// Creates a store in a file of a temporary folder, which `open` opens with this clock.
    ///
    /// # Errors
    /// No folder can be made.
    pub fn in_file<T: ThreadStore + 'static, E: Into<BoxError>>(
        open: impl Fn(PathBuf, TestClock) -> Result<T, E> + Send + Sync + 'static,
    ) -> Result<Self, BoxError> {
        let folder = TempDir::new()?;
        let open = move |clock: &TestClock| {
            let path = Path::new(folder.path()).join("threads.db");
            match open(path, clock.clone()) {
                Ok(store) => Ok(Arc::new(store) as Arc<dyn ThreadStore>),
                Err(error) => Err(error.into()),
            }
        };
        Ok(Self {
            clock: TestClock::at(BEGINNING),
            open: Box::new(open),
            is_memory: false,
        })
    }

    /// Creates a store in a file of `SQLite`, which does not wait for the disk: a process may die in
    /// a test, and the machine does not.
    ///
    /// # Errors
    /// No folder can be made.
    #[cfg(feature = "sqlite")]
    pub fn in_sqlite() -> Result<Self, BoxError> {
        use fugato_sqlite::{SqliteLog, SqliteOptions, Synchronous};
        Self::in_file(|path, clock| {
            let options = SqliteOptions::default().clock(move || clock.now());
            SqliteLog::open_with(path, options.synchronous(Synchronous::Normal))
        })
    }

    /// Returns the clock.
    pub fn clock(&self) -> &TestClock {
        &self.clock
    }

    /// Opens the store for the first program.
    ///
    /// # Errors
    /// The store cannot be opened.
    pub fn open(&self) -> Result<Arc<dyn ThreadStore>, BoxError> {
        (self.open)(&self.clock)
    }

    /// Opens the store for the next program.
    ///
    /// # Errors
    /// The store cannot be opened.
    pub fn restart(&self) -> Result<Arc<dyn ThreadStore>, BoxError> {
        self.clock.advance(AFTER_LEASES);
        self.open()
    }

    /// Returns the length of a turn: zero in memory, and the time of a short wait for the disk
    /// otherwise.
    pub(super) fn turn(&self) -> Duration {
        if self.is_memory {
            Duration::ZERO
        } else {
            Duration::from_micros(100)
        }
    }
}

impl fmt::Debug for WorldStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorldStore")
            .field("clock", &self.clock)
            .finish_non_exhaustive()
    }
}
