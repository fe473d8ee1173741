//! The conversion of errors of object stores to store errors.
use std::{error::Error, io};

use fugato_state::ThreadId;
use fugato_store::{StoreError, StoreErrorKind};

/// An error without the operation that it ended.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) kind: StoreErrorKind,
    source: Option<object_store::Error>,
}

impl Fault {
    /// Names the operation.
    pub(crate) fn during(self, operation: &'static str) -> StoreError {
        let error = StoreError::new(self.kind, operation);
        match self.source {
            Some(source) => error.because(source),
            None => error,
        }
    }

    /// Names the operation and the thread.
    pub(crate) fn of(operation: &'static str, thread: &ThreadId) -> impl Fn(Self) -> StoreError {
        move |fault| fault.during(operation).on(thread)
    }
}

impl From<StoreErrorKind> for Fault {
    fn from(kind: StoreErrorKind) -> Self {
        Self { kind, source: None }
    }
}

impl From<object_store::Error> for Fault {
    fn from(source: object_store::Error) -> Self {
        Self {
            kind: kind_of(&source),
            source: Some(source),
        }
    }
}

fn kind_of(error: &object_store::Error) -> StoreErrorKind {
    use object_store::Error as E;
    match error {
        E::PermissionDenied { .. } | E::Unauthenticated { .. } => {
            StoreErrorKind::Invalid("the store refuses access with these credentials".into())
        }
        E::NotSupported { .. } | E::NotImplemented { .. } => StoreErrorKind::Unsupported,
        E::UnknownConfigurationKey { key, .. } => {
            StoreErrorKind::Invalid(format!("the store has no setting {key:?}"))
        }
        E::InvalidPath { .. } => StoreErrorKind::Invalid("the store refuses a name".into()),
        _ => match io_error(error) {
            Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) => StoreErrorKind::Full,
            Some(io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) => {
                StoreErrorKind::Invalid("the folder cannot be written".into())
            }
            _ => StoreErrorKind::Unavailable,
        },
    }
}

/// Returns the kind of the first input or output error among the sources.
fn io_error(error: &object_store::Error) -> Option<io::ErrorKind> {
    let mut next: Option<&(dyn Error + 'static)> = error.source();
    while let Some(source) = next {
        if let Some(io) = source.downcast_ref::<io::Error>() {
            return Some(io.kind());
        }
        next = source.source();
    }
    None
}
