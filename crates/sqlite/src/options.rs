use std::{sync::Arc, time::Duration};

use fugato_state::Millis;
use fugato_store::system_clock;

/// The point at which a commit counts as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Synchronous {
    /// A commit counts once the disk has confirmed it: it survives a power failure.
    #[default]
    Full,
    /// A commit counts once the operating system has it: it survives the death of the process. A
    /// power failure may undo the newest commits, never one in the middle.
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

/// Options for opening a database.
#[derive(smart_default::SmartDefault, derive_more::Debug, Clone)]
#[must_use]
pub struct SqliteOptions {
    pub(crate) synchronous: Synchronous,
    #[default(Duration::from_secs(5))]
    pub(crate) busy_timeout: Duration,
    #[default(Self::MAX_WAL_PAGES)]
    pub(crate) wal_pages: u32,
    pub(crate) max_bytes: Option<u64>,
    #[debug(skip)]
    #[default(Arc::new(system_clock))]
    pub(crate) clock: Arc<dyn Fn() -> Millis + Send + Sync>,
}

impl SqliteOptions {
    /// The most pages that the write-ahead log may hold before it is copied into the database.
    pub const MAX_WAL_PAGES: u32 = 256;

    fugato_state::setters! {
        /// Sets the point at which a commit counts as written; [`Synchronous::Full`] if not set.
        pub fn synchronous(synchronous: Synchronous) { synchronous = synchronous }

        /// Sets the time to wait for another process that writes; five seconds if not set.
        pub fn busy_timeout(timeout: Duration) { busy_timeout = timeout }

        /// Sets the number of pages of 2 KiB that the write-ahead log holds before it is copied
        /// into the database.
        ///
        /// From 1 to [`Self::MAX_WAL_PAGES`], which is the default. More pages mean fewer copies
        /// and a larger file.
        pub fn wal_pages(pages: u32) { wal_pages = pages.clamp(1, Self::MAX_WAL_PAGES) }

        /// Limits the size of the database, in bytes, rounded up to pages of 2 KiB. No limit if not
        /// set.
        ///
        /// A write above the limit fails with [`Full`](fugato_store::StoreErrorKind::Full).
        pub fn max_bytes(bytes: u64) { max_bytes = Some(bytes) }

        /// Sets the clock, in milliseconds since the Unix epoch; the machine's clock if not set.
        /// The store never lets its time run backwards.
        pub fn clock(clock: impl Fn() -> Millis + Send + Sync + 'static) { clock = Arc::new(clock) }
    }
}
