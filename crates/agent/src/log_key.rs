//! What the log lines of this crate are found by. `docs/log-keys.md` lists them.

/// A live fact could not be looked up, and is missing.
pub(crate) const A_FACT_IS_NOT_KNOWN: &str = "a fact is not known";
/// A summary could not be made, and everything stays as it is.
pub(crate) const NOTHING_WAS_COMPACTED: &str = "nothing was compacted";
/// What a person wanted to be remembered could not be stored.
pub(crate) const NOTHING_WAS_REMEMBERED: &str = "nothing was remembered";
