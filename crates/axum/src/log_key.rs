//! What the log lines of this crate are found by. `docs/log-keys.md` lists them.

/// What was wrong with a request; the client is told, too.
pub(crate) const A_REQUEST_CANNOT_BE_USED: &str = "a request cannot be used";
/// The client is told of an internal error, and nothing more.
pub(crate) const A_REQUEST_FAILED: &str = "a request failed";
/// A client went away, was too slow, or takes nothing.
pub(crate) const A_CONNECTION_BROKE: &str = "a connection broke";
/// A list leaves a thread out.
pub(crate) const A_THREAD_CANNOT_BE_READ: &str = "a thread cannot be read";
/// The system gives no connection; it is asked again.
pub(crate) const NO_CONNECTION_IS_ACCEPTED: &str = "no connection is accepted";
/// A reader of events is told of an error.
pub(crate) const THE_HEAD_OF_A_THREAD_CANNOT_BE_READ: &str = "the head of a thread cannot be read";
/// The service says that it is not ready.
pub(crate) const THE_STORE_IS_NOT_HEALTHY: &str = "the store is not healthy";
/// The client is told to come back later.
pub(crate) const THE_STORE_IS_NOT_THERE: &str = "the store is not there";
