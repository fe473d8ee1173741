//! Files: read whole, written whole or not at all.
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use thiserror::Error;

/// No calendar or class file that a person has is larger.
const LARGEST: u64 = 16 * 1024 * 1024;

/// A file that could not be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    /// It could not be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// It is a folder, a pipe or a device.
    #[error("{} is no file: it is a folder, a pipe or a device", path.display())]
    NotFile {
        /// The path.
        path: PathBuf,
    },
    /// It is larger than the limit.
    #[error("{} is larger than {LARGEST} bytes, the most that is read", path.display())]
    TooLarge {
        /// The path of the file.
        path: PathBuf,
    },
    /// It could not be written; a file that was there before is unchanged.
    #[error("cannot write {}; what was there before is unchanged", path.display())]
    Write {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// Reads a file of at most 16 MiB.
pub fn read_file(path: &Path) -> Result<Vec<u8>, FileError> {
    let at = |source| FileError::Read {
        path: path.to_owned(),
        source,
    };
    // A pipe would be waited for, and a folder cannot be read.
    if !fs::metadata(path).map_err(at)?.is_file() {
        return Err(FileError::NotFile {
            path: path.to_owned(),
        });
    }
    let file = File::open(path).map_err(at)?;
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(at)?;
    if bytes.len() as u64 > LARGEST {
        return Err(FileError::TooLarge {
            path: path.to_owned(),
        });
    }
    Ok(bytes)
}

/// Writes a file so that a reader, also after a crash, finds either the old bytes or the new.
///
/// The bytes go to a new file in the same folder, are synchronised to disk, and the file is
/// renamed. A failure leaves nothing behind.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let beside = beside(path);
    let written = write_through(&beside, bytes).and_then(|()| fs::rename(&beside, path));
    written.and_then(|()| sync_folder(path)).map_err(|source| {
        // The file may not exist; then there is nothing to remove.
        let _ = fs::remove_file(&beside);
        FileError::Write {
            path: path.to_owned(),
            source,
        }
    })
}

/// Returns the path of a temporary file, which no other writer of the same file uses, in this process
/// or another one.
fn beside(path: &Path) -> PathBuf {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let n = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.{n}.tmp", process::id()));
    path.with_file_name(name)
}

fn write_through(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Synchronises the folder of a file, without which a rename is not durable.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the other platform can fail")]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("scheduler-{name}-{}", process::id()));
        fs::create_dir_all(&folder).expect("the temporary folder can be written");
        folder
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("the folder was just made");
        entries
            .map(|entry| {
                let entry = entry.expect("nothing else uses the folder");
                entry.file_name().to_string_lossy().into_owned()
            })
            .collect()
    }

    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let folder = folder("replaced");
        let path = folder.join("week.svg");
        write_file(&path, b"old").expect("the folder can be written");
        write_file(&path, b"new").expect("the folder can be written");
        assert_eq!(read_file(&path).expect("it was just written"), b"new");
        assert_eq!(names(&folder), ["week.svg"]);
        fs::remove_dir_all(&folder).expect("the folder is ours");
    }

    #[test]
    fn a_failed_write_names_the_path_and_leaves_nothing() {
        let folder = folder("failed");
        let path = folder.join("taken");
        // A folder with something in it cannot be replaced by a file.
        fs::create_dir_all(path.join("inner")).expect("the folder can be written");
        let error = write_file(&path, b"new").expect_err("a folder is in the way");
        assert_eq!(
            error.to_string(),
            format!(
                "cannot write {}; what was there before is unchanged",
                path.display()
            )
        );
        assert_eq!(names(&folder), ["taken"]);
        fs::remove_dir_all(&folder).expect("the folder is ours");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_reported() {
        let error = write_through(Path::new("/dev/full"), b"new").expect_err("the device is full");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn a_folder_is_refused_by_its_name() {
        let error = read_file(&std::env::temp_dir()).expect_err("it is a folder");
        let path = std::env::temp_dir();
        let expected = format!(
            "{} is no file: it is a folder, a pipe or a device",
            path.display()
        );
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = read_file(Path::new("no/such.ics")).expect_err("there is no such file");
        assert_eq!(error.to_string(), "cannot read no/such.ics");
    }
}
