//! What the server reports, in the words of the store.
use std::time::Duration;

use deadpool_postgres::{PoolError, TimeoutType};
use fugato_store::{StoreError, StoreErrorKind};
use tokio_postgres::{Error, error::SqlState};

/// Why a request was not carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    /// What the server or the connection to it reports.
    #[error("the server or the connection to it failed")]
    Database(#[from] Error),
    /// No connection is free.
    #[error("no connection became free within {0:?}: all {1} are in use")]
    NoConnection(Duration, usize),
    /// Nobody answers.
    #[error("the server did not answer within {0:?}")]
    Silence(Duration),
    /// A stored value cannot be what this crate wrote.
    #[error("a stored value is damaged: {0}")]
    Damaged(String),
}

impl Failed {
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

    /// Whether it may have been carried out all the same is unknown when this is `Unavailable`;
    /// the nonce of a commit makes repeating it safe.
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
            // One link less in the chain of causes.
            Self::Database(cause) => error.because(cause),
            other => error.because(other),
        }
    }
}

/// Why a request was refused or failed.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The request itself: nothing was written for it.
    Request(StoreErrorKind),
    /// The server, or the way to it.
    Failed(Failed),
}

impl From<Failed> for Refusal {
    fn from(failed: Failed) -> Self {
        Self::Failed(failed)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Failed(error.into())
    }
}

impl From<StoreErrorKind> for Refusal {
    fn from(kind: StoreErrorKind) -> Self {
        Self::Request(kind)
    }
}

impl Refusal {
    pub(crate) fn into_store(self, operation: &'static str) -> StoreError {
        match self {
            Self::Request(kind) => StoreError::new(kind, operation),
            Self::Failed(failed) => failed.into_store(operation),
        }
    }

    /// What others did between two looks, again and again.
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
        // A standby that was the primary a moment ago; another is now, or will be.
        &SqlState::READ_ONLY_SQL_TRANSACTION | &SqlState::LOCK_NOT_AVAILABLE => {
            StoreErrorKind::Unavailable
        }
        // By class: connections, rolled back for the sake of others, short of something, stopped.
        code => match code.code().get(..2) {
            Some("08" | "40" | "53" | "57") => StoreErrorKind::Unavailable,
            _ => StoreErrorKind::Other,
        },
    }
}

/// What has no code does not come from the server.
fn kind_of_connection(error: &Error) -> StoreErrorKind {
    let mut cause = std::error::Error::source(error);
    while let Some(found) = cause {
        if let Some(error) = found.downcast_ref::<std::io::Error>() {
            // Trying again does not make a certificate one that is trusted.
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
