//! The file of a database, while it is open.
use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rusqlite::{Error, ffi};

/// The pause between two looks at the file. A commit in between is lost with those before it, as if
/// the file had been removed so much later.
const PAUSE: Duration = Duration::from_millis(100);

/// The words for a file that is no longer in its place.
pub(crate) const MOVED: &str =
    "the file was removed or replaced while it was open; nothing more is stored";

/// The file of a database, which somebody may remove or replace while it is open. SQLite would go on
/// in a file without a name, which is gone with its last connection.
#[derive(Debug)]
pub(crate) struct OpenFile {
    pub(crate) path: PathBuf,
    identity: Option<(u64, u64)>,
    /// The time when it was last seen in its place.
    seen: Instant,
}

impl OpenFile {
    /// Remembers the file at a path, which is open.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            identity: identity(&path),
            path,
            seen: Instant::now(),
        }
    }

    /// Returns an error if it is no longer in its place.
    pub(crate) fn check(&mut self) -> Result<(), Error> {
        if self.seen.elapsed() < PAUSE {
            return Ok(());
        }
        if identity(&self.path) != self.identity {
            let moved = ffi::Error::new(ffi::SQLITE_READONLY_DBMOVED);
            return Err(Error::SqliteFailure(moved, Some(MOVED.to_owned())));
        }
        self.seen = Instant::now();
        Ok(())
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    let file = path.metadata().ok()?;
    Some((file.dev(), file.ino()))
}

/// Outside of Unix an open file cannot be replaced, so it is enough that there is one.
#[cfg(not(unix))]
fn identity(path: &Path) -> Option<(u64, u64)> {
    path.exists().then_some((0, 0))
}
