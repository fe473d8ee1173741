//! What Redis reports, in the words of the store.
use fugato_store::{StoreError, StoreErrorKind};
use redis::{ErrorKind, RedisError, ServerErrorKind};

/// Whether a request was carried out is unknown after [`StoreErrorKind::Unavailable`]; the nonce of
/// a commit makes repeating it safe.
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
    // An error that ends a script comes with its own code, or with that of scripts and tells its
    // own in the text.
    let code = error.code().unwrap_or_default();
    let text = error.detail().unwrap_or_default();
    let is = |word| code == word || text.starts_with(word);
    if is("OOM") || is("MISCONF") {
        // With the second one it cannot write its file, most often because the disk is full.
        StoreErrorKind::Full
    } else if is("WRONGTYPE") {
        StoreErrorKind::Corrupt("a key of the store is of another kind".into())
    } else if is("BUSY") || is("NOREPLICAS") || error.is_io_error() || error.is_timeout() {
        StoreErrorKind::Unavailable
    } else if error.is_unrecoverable_error() {
        // The connection is of no more use.
        StoreErrorKind::Unavailable
    } else {
        StoreErrorKind::Other
    }
}
