//! What the log lines of this program are found by. `docs/log-keys.md` lists them.

/// The legacy path is in use, and why.
pub(crate) const LEGACY_PATH: &str = "legacy path";
