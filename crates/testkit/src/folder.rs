//! Folders of tests.
use std::{env, io, path::Path};

use tempfile::TempDir;

/// The folder that Linux keeps in memory.
const MEMORY: &str = "/dev/shm";

/// The least room that is asked of it, in bytes.
const ROOM: u64 = 1 << 30;

/// Makes a folder that is removed when it is dropped, as [`tempfile::tempdir`] does, in memory
/// where a gigabyte is free there. `TMPDIR` names another place.
///
/// The files of a test are to outlive the processes that it kills, and not the machine: on a disk,
/// it would wait until that has every commit.
///
/// # Errors
/// No folder can be made there.
pub fn tempdir() -> io::Result<TempDir> {
    let memory = Path::new(MEMORY);
    if env::var_os("TMPDIR").is_none() && has_room(memory) {
        return tempfile::tempdir_in(memory);
    }
    tempfile::tempdir()
}

#[cfg(target_os = "linux")]
fn has_room(folder: &Path) -> bool {
    let room = rustix::fs::statvfs(folder).map(|it| it.f_bavail.saturating_mul(it.f_frsize));
    room.is_ok_and(|bytes| bytes >= ROOM) && tempfile::tempfile_in(folder).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn has_room(_: &Path) -> bool {
    false
}
