use std::{
    fs::{self, File},
    path::Path,
    time::Duration,
};

use fugato_store::{StoreError, StoreErrorKind};
use rusqlite::{Connection, OpenFlags};

use crate::{error::Refusal, open::check_whole, options::Synchronous, wal::damage};

/// The time to wait for a process that opens or closes the database.
const BUSY: Duration = Duration::from_secs(5);

/// Writes a copy of any `SQLite` database to a new file, checks its integrity, and waits until the
/// disk has it. The copy holds one moment of the database, with everything that was committed
/// before.
///
/// Others may read and write meanwhile; their write-ahead log grows until the copy is written. Waits
/// for the disk on the current thread.
///
/// # Errors
/// `Invalid` if there is no such database, or if there is a file at `to` already, which is left as
/// it is. `Corrupt` if the database or its write-ahead log is damaged. After an error there is no
/// copy.
pub fn copy_database(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<(), StoreError> {
    let (from, to) = (from.as_ref(), to.as_ref());
    let failed = |error| Refusal::from(error).into_store("copy");
    let invalid = |what: String| StoreError::new(StoreErrorKind::Invalid(what), "copy");
    let name = to
        .to_str()
        .ok_or_else(|| invalid(format!("{} is no text", to.display())))?;
    if let Some(what) = damage(from, Synchronous::Full) {
        return Err(StoreError::new(StoreErrorKind::Corrupt(what), "copy"));
    }
    // A connection that only reads would leave the files of the write-ahead log behind.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let source = Connection::open_with_flags(from, flags)
        .and_then(|source| source.busy_timeout(BUSY).map(|()| source))
        .map_err(|error| invalid(format!("cannot open {}", from.display())).because(error))?;
    // SQLite would write into an existing empty file.
    File::create_new(to).map_err(|error| invalid(format!("cannot make {name}")).because(error))?;
    let copied = source
        .execute("VACUUM INTO ?1", [name])
        .map_err(failed)
        .and_then(|_| {
            let copy = Connection::open_with_flags(to, flags).map_err(failed)?;
            check_whole(to, &copy)
        })
        .and_then(|()| {
            let synced = File::open(to).and_then(|file| file.sync_all());
            synced.map_err(|error| {
                StoreError::new(StoreErrorKind::Unavailable, "copy").because(error)
            })
        });
    if copied.is_err() {
        // A partial copy is of no use; the first error is the one to report.
        let _ = fs::remove_file(to);
    }
    copied
}
