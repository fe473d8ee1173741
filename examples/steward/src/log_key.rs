//! What the log lines of this program are found by. `docs/log-keys.md` lists them.

/// The legacy path is in use, and why.
pub(crate) const LEGACY_PATH: &str = "legacy path";
/// A rule decides in place of a model.
pub(crate) const RULE_DECIDES: &str = "rule decides";
