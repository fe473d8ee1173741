use std::{fmt, sync::Arc, time::Duration};

use fugato_state::Millis;

use crate::clock::system_clock;

/// When a commit counts as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Synchronous {
    /// When the disk has confirmed it: an acknowledged commit survives a power failure.
    #[default]
    Full,
    /// When the operating system has it: an acknowledged commit survives the death of the
    /// process; a power failure may undo the newest ones, never one in the middle.
    Normal,
}

impl Synchronous {
    pub(crate) fn pragma(self) -> &'static str {
        match self {
            Self::Full => "PRAGMA synchronous=FULL",
            Self::Normal => "PRAGMA synchronous=NORMAL",
        }
    }
}

/// How a database is opened.
#[derive(Clone)]
#[must_use]
pub struct SqliteOptions {
    pub(crate) synchronous: Synchronous,
    pub(crate) busy_timeout: Duration,
    pub(crate) wal_pages: u32,
    pub(crate) max_bytes: Option<u64>,
    pub(crate) clock: Arc<dyn Fn() -> Millis + Send + Sync>,
}

impl SqliteOptions {
    /// The most pages that the write-ahead log may hold before it is copied into the database.
    pub const MAX_WAL_PAGES: u32 = 256;

    /// When a commit counts as written; [`Synchronous::Full`] if not said.
    pub fn synchronous(mut self, synchronous: Synchronous) -> Self {
        self.synchronous = synchronous;
        self
    }

    /// How long to wait for another process that writes; five seconds if not said.
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// How many pages of 2 KiB the write-ahead log holds before it is copied into the database: 1
    /// to [`Self::MAX_WAL_PAGES`], which it is if not said. More pages mean fewer copies and a
    /// larger file.
    pub fn wal_pages(mut self, pages: u32) -> Self {
        self.wal_pages = pages.clamp(1, Self::MAX_WAL_PAGES);
        self
    }

    /// How large the database may grow, in bytes, rounded up to pages of 2 KiB. What does not fit
    /// is refused with [`Full`](fugato_store::StoreErrorKind::Full). No limit if not said.
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = Some(bytes);
        self
    }

    /// Where time comes from, in milliseconds since the Unix epoch; the machine's clock if not
    /// said. The store never lets it run backwards.
    pub fn clock(mut self, clock: impl Fn() -> Millis + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            synchronous: Synchronous::default(),
            busy_timeout: Duration::from_secs(5),
            wal_pages: Self::MAX_WAL_PAGES,
            max_bytes: None,
            clock: Arc::new(system_clock),
        }
    }
}

impl fmt::Debug for SqliteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteOptions")
            .field("synchronous", &self.synchronous)
            .field("busy_timeout", &self.busy_timeout)
            .field("wal_pages", &self.wal_pages)
            .field("max_bytes", &self.max_bytes)
            .finish_non_exhaustive()
    }
}
