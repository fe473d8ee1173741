use serde::{Deserialize, Serialize};

/// What an action does to the outside world, and so how often it may be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectClass {
    /// Nothing. It may be repeated freely; updates of the state are no effect.
    Pure,
    /// Doing it twice is the same as doing it once.
    Idempotent,
    /// The other side drops repeats of an idempotency key.
    Keyed,
    /// It must not be done twice.
    Once,
}
