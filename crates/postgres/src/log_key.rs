//! What the log lines of this crate are found by. `docs/log-keys.md` lists them.

/// It is opened anew when it is needed.
pub(crate) const A_CONNECTION_ENDED: &str = "a connection ended";
/// News come later for a while.
pub(crate) const CANNOT_LISTEN_TRYING_AGAIN: &str = "cannot listen, trying again";
/// They are cleared away later; nobody sees them until then.
pub(crate) const EXPIRED_DOCUMENTS_WERE_NOT_CLEARED_AWAY: &str =
    "expired documents were not cleared away";
/// A notice of the server.
pub(crate) const THE_SERVER_SAYS: &str = "the server says";
/// They find out when they ask themselves.
pub(crate) const THOSE_WHO_WAIT_WERE_NOT_TOLD: &str = "those who wait were not told";
