use serde::{Deserialize, Serialize};

/// The class of an action on the outside world, which decides how often it may be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectClass {
    /// The action changes nothing outside and may be repeated freely; updates of the state are not
    /// effects.
    Pure,
    /// The action done twice has the same result as done once.
    Idempotent,
    /// The other side drops repeats of an idempotency key.
    Keyed,
    /// The action must not be done twice.
    Once,
}
