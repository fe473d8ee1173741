//! What the log lines of this crate are found by. `docs/log-keys.md` lists them.

/// A model is left alone from now on, tried again, or used as before.
pub(crate) const CIRCUIT_CHANGED: &str = "circuit_changed";
/// A rule decided because the model did not.
pub(crate) const DECIDED_BY_RULE: &str = "decided_by_rule";
/// How a question to the models that is answered by calling a function went.
pub(crate) const FUNCTION_ASKED_FOR: &str = "function_asked_for";
/// An answer broke its contract, and the model is told why.
pub(crate) const MODEL_ANSWER_REJECTED: &str = "model_answer_rejected";
/// One try at an answer ended: who, how long, why not.
pub(crate) const MODEL_ATTEMPT: &str = "model_attempt";
