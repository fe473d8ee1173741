//! What the log lines of this crate are found by. `docs/log-keys.md` lists them.

/// A transaction could not be undone; the connection is not used again.
pub(crate) const CANNOT_ROLL_BACK: &str = "cannot roll back";
