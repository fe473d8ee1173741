//! What the log lines of this crate are found by. `docs/log-keys.md` lists them.

/// The operator's account of a failure; the model reads another text.
pub(crate) const TOOL_FAILED: &str = "tool failed";
