//! What the log lines of this crate are found by. `docs/log-keys.md` lists them.

/// A stage went on without the model, and why.
pub(crate) const DECIDED_BY_RULE: &str = "decided by rule";
/// What was decided while executing, as it came and as it was read.
pub(crate) const EXECUTE_LLM: &str = "execute LLM";
/// How a conversation stood when a request or an answer came.
pub(crate) const LOAD_OR_CREATE_RUNTIME_STATE: &str = "load or create runtime state";
/// An answer as it came, with how long it took.
pub(crate) const MODEL_ANSWERED: &str = "model answered";
/// What the store said to changes of the schedule.
pub(crate) const PERSIST_SCHEDULE_CHANGES: &str = "persist schedule changes";
/// What was decided while planning.
pub(crate) const PLAN_LLM: &str = "plan LLM";
/// A complex request was planned quickly only, because the slower look failed.
pub(crate) const NO_DEEP_PLAN: &str = "no deep plan";
/// What was kept for later could not be found; the request is served without it.
pub(crate) const NOTHING_IS_REMEMBERED: &str = "nothing is remembered";
/// The difference to what was stored cannot be shown.
pub(crate) const NO_PREVIEW: &str = "no preview";
/// Words of a model are not shown, because they repeat a prompt or claim what was not done.
pub(crate) const WORDS_HELD_BACK: &str = "words held back";
/// What was left out of a prompt, so that it fits.
pub(crate) const PROMPT_SHORTENED: &str = "prompt_shortened";
/// A prompt is too long although everything was left out that may be.
pub(crate) const PROMPT_TOO_LONG: &str = "prompt_too_long";
