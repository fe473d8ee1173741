//! What the log lines of this crate are found by. `docs/log-keys.md` lists them.

/// A live fact could not be looked up, and is missing.
pub(crate) const A_FACT_IS_NOT_KNOWN: &str = "a fact is not known";
/// A summary could not be made, and everything stays as it is.
pub(crate) const NOTHING_WAS_COMPACTED: &str = "nothing was compacted";
/// What a person wanted to be remembered could not be stored.
pub(crate) const NOTHING_WAS_REMEMBERED: &str = "nothing was remembered";
/// A stage went on without the model, and why.
pub(crate) const DECIDED_BY_RULE: &str = "decided by rule";
/// Legal JSON that says what is not allowed; the model is corrected.
pub(crate) const EXECUTE_DECISION_ILLEGAL: &str = "execute decision illegal";
/// No legal JSON; the model is corrected.
pub(crate) const EXECUTE_DECISION_UNPARSABLE: &str = "execute decision unparsable";
/// A node or a graph failed, and its backup goes on.
pub(crate) const FELL_BACK: &str = "fell back";
/// A node that must stop nobody failed.
pub(crate) const THE_RUN_GOES_ON_WITHOUT_IT: &str = "the run goes on without it";
/// A loop of model and tools ends, because the model's answers cannot be used.
pub(crate) const THE_RUN_STOPS: &str = "the run stops";
/// No plan could be made of the model's answers.
pub(crate) const THERE_IS_NO_PLAN: &str = "there is no plan";
