//! The conversion of `SQLite` errors to store errors.
use std::sync::Arc;

use fugato_state::ThreadId;
use fugato_store::{StoreError, StoreErrorKind};
use rusqlite::{Error, ErrorCode};

use crate::file::MOVED;

/// The reason why a request was not carried out.
#[derive(derive_more::From, Debug)]
pub(crate) enum Refusal {
    /// An error of the request itself: nothing was written for it, and the others of its group go
    /// on.
    Request(StoreErrorKind),
    /// The same, as a complete store error.
    Said(StoreError),
    /// An error of the database: the whole group must be rolled back.
    Database(Error),
}

impl Refusal {
    pub(crate) fn into_store(self, operation: &'static str) -> StoreError {
        match self {
            Self::Request(kind) => StoreError::new(kind, operation),
            Self::Said(error) => error,
            Self::Database(error) => store_error(&Arc::new(error), operation),
        }
    }
}

pub(crate) fn store_error(error: &Arc<Error>, operation: &'static str) -> StoreError {
    StoreError::new(kind_of(error), operation).because(Arc::clone(error))
}

/// Adds the thread to an error, if there is one.
pub(crate) fn on(error: StoreError, thread: Option<&ThreadId>) -> StoreError {
    match thread {
        Some(thread) => error.on(thread),
        None => error,
    }
}

/// Returns true if no space is left. If the memory shared by processes cannot grow, `SQLite`
/// reports an input/output error.
pub fn is_full(error: &Error) -> bool {
    let shared = error.sqlite_extended_error_code() == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE);
    shared || error.sqlite_error_code() == Some(ErrorCode::DiskFull)
}

pub(crate) fn kind_of(error: &Error) -> StoreErrorKind {
    match error.sqlite_error_code() {
        _ if is_full(error) => StoreErrorKind::Full,
        _ if error.sqlite_extended_error_code() == Some(rusqlite::ffi::SQLITE_READONLY_DBMOVED) => {
            StoreErrorKind::Corrupt(MOVED.into())
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreErrorKind::Unavailable,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreErrorKind::Corrupt("the database is damaged".into())
        }
        Some(_) => StoreErrorKind::Other,
        None => match error {
            Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::InvalidColumnType(..)
            | Error::Utf8Error(..) => StoreErrorKind::Corrupt("a stored value is damaged".into()),
            _ => StoreErrorKind::Other,
        },
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn a_full_disk_is_one_however_it_is_noticed() {
        let kind = |code| kind_of(&Error::SqliteFailure(ffi::Error::new(code), None));
        for code in [ffi::SQLITE_FULL, ffi::SQLITE_IOERR_SHMSIZE] {
            assert_eq!(kind(code), StoreErrorKind::Full, "{code}");
        }
        assert_eq!(kind(ffi::SQLITE_IOERR_READ), StoreErrorKind::Other);
        assert_eq!(kind(ffi::SQLITE_BUSY), StoreErrorKind::Unavailable);
    }
}
