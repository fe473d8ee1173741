//! The conversion of server errors to store errors.
use std::time::Duration;

use deadpool_postgres::{PoolError, TimeoutType};
use fugato_store::{StoreError, StoreErrorKind};
use tokio_postgres::{Error, error::SqlState};

/// The reason why a request was not carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    /// An error of the server or of the connection to it.
    #[error("the server or the connection to it failed")]
    Database(#[from] Error),
    /// No connection became free in time.
    #[error("no connection became free within {0:?}: all {1} are in use")]
    NoConnection(Duration, usize),
    /// The server did not answer in time.
    #[error("the server did not answer within {0:?}")]
    Silence(Duration),
    /// A stored value that this crate cannot have written.
    #[error("a stored value is damaged: {0}")]
    Damaged(String),
}

impl RequestError {
    pub(crate) fn of_pool(
        error: PoolError,
        size: usize,
        wait: Duration,
        connect: Duration,
    ) -> Self {
        match error {
            PoolError::Backend(error)
            | PoolError::PostCreateHook(deadpool_postgres::HookError::Backend(error)) => {
                Self::Database(error)
            }
            PoolError::Timeout(TimeoutType::Wait) => Self::NoConnection(wait, size),
            _ => Self::Silence(connect),
        }
    }

    pub(crate) fn code(&self) -> Option<&SqlState> {
        match self {
            Self::Database(error) => error.code(),
            _ => None,
        }
    }

    /// Returns the kind of the store error. After `Unavailable` the outcome is unknown; the nonce
    /// of a commit makes repeating it safe.
    pub(crate) fn kind(&self) -> StoreErrorKind {
        match self {
            Self::Database(error) => match error.code() {
                Some(code) => kind_of_code(code),
                None => kind_of_connection(error),
            },
            Self::NoConnection(..) | Self::Silence(_) => StoreErrorKind::Unavailable,
            Self::Damaged(_) => StoreErrorKind::Corrupt("a stored value is damaged".into()),
        }
    }

    pub(crate) fn into_store(self, operation: &'static str) -> StoreError {
        let kind = self.kind();
        self.into_kind(kind, operation)
    }

    pub(crate) fn into_kind(self, kind: StoreErrorKind, operation: &'static str) -> StoreError {
        let error = StoreError::new(kind, operation);
        match self {
            // Shortens the chain of causes.
            Self::Database(cause) => error.because(cause),
            other => error.because(other),
        }
    }
}

/// The reason why a request was refused or failed.
#[derive(derive_more::From, Debug)]
pub(crate) enum Refusal {
    /// An error of the request itself: nothing was written for it.
    #[from]
    Request(StoreErrorKind),
    /// A failure of the server, or of the connection to it.
    #[from(Error, RequestError)]
    Failed(RequestError),
}

impl Refusal {
    pub(crate) fn into_store(self, operation: &'static str) -> StoreError {
        match self {
            Self::Request(kind) => StoreError::new(kind, operation),
            Self::Failed(failed) => failed.into_store(operation),
        }
    }

    /// Returns the error for a request whose attempts were all overtaken by other writers.
    pub(crate) fn restless() -> Self {
        Self::Request(StoreErrorKind::Unavailable)
    }
}

fn kind_of_code(code: &SqlState) -> StoreErrorKind {
    match code {
        &SqlState::DISK_FULL => StoreErrorKind::Full,
        &SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED => {
            StoreErrorKind::Corrupt("the database is damaged".into())
        }
        &SqlState::UNDEFINED_TABLE | &SqlState::UNDEFINED_COLUMN => {
            StoreErrorKind::Corrupt("a table is missing or is not what it was".into())
        }
        &SqlState::INVALID_PASSWORD
        | &SqlState::INVALID_AUTHORIZATION_SPECIFICATION
        | &SqlState::INVALID_CATALOG_NAME
        | &SqlState::INSUFFICIENT_PRIVILEGE => {
            StoreErrorKind::Invalid("the server refuses this user or database".into())
        }
        // A standby that was the primary a moment ago; another server takes over.
        &SqlState::READ_ONLY_SQL_TRANSACTION | &SqlState::LOCK_NOT_AVAILABLE => {
            StoreErrorKind::Unavailable
        }
        // By class: connection errors, rolled back, lack of resources, stopped.
        code => match code.code().get(..2) {
            Some("08" | "40" | "53" | "57") => StoreErrorKind::Unavailable,
            _ => StoreErrorKind::Other,
        },
    }
}

/// An error without a code does not come from the server.
fn kind_of_connection(error: &Error) -> StoreErrorKind {
    let mut cause = std::error::Error::source(error);
    while let Some(found) = cause {
        if let Some(error) = found.downcast_ref::<std::io::Error>() {
            // A retry does not make a certificate trusted.
            return match error.kind() {
                std::io::ErrorKind::InvalidData => {
                    StoreErrorKind::Invalid("the server cannot be trusted".into())
                }
                _ => StoreErrorKind::Unavailable,
            };
        }
        cause = found.source();
    }
    if error.is_closed() {
        StoreErrorKind::Unavailable
    } else {
        StoreErrorKind::Other
    }
}
