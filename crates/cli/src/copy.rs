//! Reading a database in a place where nothing can be written.
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use fugato_graph::BoxError;
use fugato_sqlite::{SqliteTables, rusqlite::Connection};
use fugato_state::say;
use fugato_store::{StoreError, StoreErrorKind};

use crate::{error::ErrorContext as _, store::Store};

/// Copies that are kept until the program ends.
#[derive(Debug, Clone, Default)]
pub(crate) struct Copies(Arc<Mutex<Vec<TempCopy>>>);

impl Copies {
    /// Keeps further copies.
    pub(crate) fn extend(&self, copies: impl IntoIterator<Item = TempCopy>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(copies);
    }
}

/// A copy of a database in a temporary folder, which is removed with it.
#[derive(Debug)]
pub(crate) struct TempCopy(PathBuf);

impl TempCopy {
    /// Copies a database, and what SQLite has put beside it.
    fn of(path: &Path) -> io::Result<Self> {
        let name = format!(
            "fugato-{}-{:?}",
            std::process::id(),
            std::time::Instant::now()
        );
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder)?;
        let copy = Self(folder);
        fs::write(copy.path(), fs::read(path)?)?;
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        if Path::new(&log).exists() {
            let mut to = copy.path().into_os_string();
            to.push("-wal");
            fs::write(to, fs::read(&log)?)?;
        }
        Ok(copy)
    }

    fn path(&self) -> PathBuf {
        self.0.join("copy.db")
    }
}

impl Drop for TempCopy {
    fn drop(&mut self) {
        // The system clears what is left in its folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Opens a database to read. Where nothing can be written, a copy of it is read: a database that
/// others write can only be opened by who can write beside it.
pub(crate) fn open_to_read(path: &Path) -> Result<(Store, Option<TempCopy>), BoxError> {
    let refused = if is_read_only(path) {
        None
    } else {
        match Store::in_file(path) {
            Ok(store) => return Ok((store, None)),
            // A copy would hide the damage.
            Err(error) if is_damaged(&*error) => return Err(error),
            Err(error) => Some(error),
        }
    };
    let copied = || -> Result<_, BoxError> {
        let copy = TempCopy::of(path).tell(|| unreadable(path))?;
        Ok((Store::in_file(&copy.path())?, Some(copy)))
    };
    match (copied(), refused) {
        (Ok(opened), _) => Ok(opened),
        // What cannot be opened as a copy either is told under its own name.
        (Err(_), Some(refused)) => Err(refused),
        (Err(error), None) => Err(error),
    }
}

/// Returns the path at which a database of a program can be read: its own, or that of a copy where
/// nothing can be written.
pub(crate) fn to_read(path: &Path) -> Result<(PathBuf, Option<TempCopy>), BoxError> {
    let begins =
        |connection: &mut Connection| connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK");
    let is_writable = !is_read_only(path)
        && fs::File::options().write(true).open(path).is_ok()
        && SqliteTables::open(path).is_ok_and(|tables| tables.with_now(begins).is_ok());
    if is_writable || !path.exists() {
        return Ok((path.to_owned(), None));
    }
    let copy = TempCopy::of(path).tell(|| unreadable(path))?;
    Ok((copy.path(), Some(copy)))
}

fn unreadable(path: &Path) -> String {
    let path = path.display();
    say!("cannot read {path}", "无法读取 {path}")
}

fn is_damaged(error: &(dyn std::error::Error + 'static)) -> bool {
    let kind = error.downcast_ref().map(|error: &StoreError| &error.kind);
    matches!(kind, Some(StoreErrorKind::Corrupt(_))) || error.source().is_some_and(is_damaged)
}

fn is_read_only(path: &Path) -> bool {
    let denies = |path: &Path| fs::metadata(path).is_ok_and(|it| it.permissions().readonly());
    denies(path) || path.parent().is_some_and(denies)
}
