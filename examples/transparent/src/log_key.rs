//! What the log lines of this crate are found by. `docs/log-keys.md` lists them.

/// The index of the memory could not be used, and the notes were searched without it.
pub(crate) const SEARCHED_WITHOUT_THE_INDEX: &str = "searched without the index";
