//! The conversion of Redis errors to store errors.
use fugato_store::{StoreError, StoreErrorKind};
use redis::{ErrorKind, RedisError, ServerErrorKind};

/// Converts an error of the client. After [`StoreErrorKind::Unavailable`] the outcome is unknown;
/// the nonce of a commit makes repeating it safe.
pub(crate) fn store_error(error: RedisError, operation: &'static str) -> StoreError {
    StoreError::new(kind_of(&error), operation).because(error)
}

fn kind_of(error: &RedisError) -> StoreErrorKind {
    match error.kind() {
        ErrorKind::AuthenticationFailed => {
            return StoreErrorKind::Invalid("the server refuses this user or password".into());
        }
        ErrorKind::InvalidClientConfig => {
            return StoreErrorKind::Invalid("the URL cannot be used".into());
        }
        ErrorKind::Server(
            ServerErrorKind::BusyLoading
            | ServerErrorKind::MasterDown
            | ServerErrorKind::TryAgain
            | ServerErrorKind::ReadOnly,
        ) => return StoreErrorKind::Unavailable,
        _ => {}
    }
    // An error that ends a script has its own code, or that of script errors with its own code in
    // the text.
    let code = error.code().unwrap_or_default();
    let text = error.detail().unwrap_or_default();
    let is = |word| code == word || text.starts_with(word);
    if is("OOM") || is("MISCONF") {
        // `MISCONF`: the server cannot write its file, most often because the disk is full.
        StoreErrorKind::Full
    } else if is("WRONGTYPE") {
        StoreErrorKind::Corrupt("a key of the store is of another kind".into())
    } else if is("BUSY") || is("NOREPLICAS") || error.is_io_error() || error.is_timeout() {
        StoreErrorKind::Unavailable
    } else if error.is_unrecoverable_error() {
        // The connection is not usable any more.
        StoreErrorKind::Unavailable
    } else {
        StoreErrorKind::Other
    }
}
