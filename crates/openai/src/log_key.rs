//! What the log lines of this crate are found by. `docs/log-keys.md` lists them.

/// Whether the server accepted a request, before anything was read.
pub(crate) const MODEL_RESPONSE: &str = "model_response";
