use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// A plain struct, and the serialisable vocabulary of changes to it.
///
/// *Contract*
/// - **deterministic**: the same updates applied to the same state give the same state, on every
///   machine and at every time; `apply` reads no clock, no random source and nothing outside.
/// - **infallible**: `apply` does not panic. An update that makes no sense changes nothing.
/// - **round trip**: serialising a state or an update and reading it back gives an equal value.
///
/// Wrong: checking a rule inside `apply` and hoping that a violation is noticed.
/// A node checks, and returns an update only when the change is wanted.
pub trait State: Clone + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// A change to the state, as it is stored.
    type Update: Serialize + DeserializeOwned + Send + 'static;

    /// The version of the shape of the state and its updates, and of the meaning of `apply`.
    const VERSION: u32 = 1;

    /// Applies one change. This is the only place that changes state.
    fn apply(&mut self, update: Self::Update);

    /// Reads a state that version `from` wrote. The default accepts what today's shape can read.
    fn migrate_state(from: u32, old: Value) -> Result<Self, MigrateError> {
        serde_json::from_value(old).map_err(|source| MigrateError {
            from,
            to: Self::VERSION,
            source,
        })
    }

    /// Reads an update that version `from` wrote; one old update may become several or none.
    fn migrate_update(from: u32, old: Value) -> Result<Vec<Self::Update>, MigrateError> {
        serde_json::from_value(old)
            .map(|update| vec![update])
            .map_err(|source| MigrateError {
                from,
                to: Self::VERSION,
                source,
            })
    }
}

/// A state or update of another version could not be read.
#[derive(Debug, thiserror::Error)]
#[error("{}", unreadable(*from, *to))]
pub struct MigrateError {
    /// The version that wrote the value.
    pub from: u32,
    /// The version that tried to read it.
    pub to: u32,
    /// What was wrong with the value.
    pub source: serde_json::Error,
}

fn unreadable(from: u32, to: u32) -> String {
    if from != to {
        return format!("a value of state version {from} cannot be read as version {to}");
    }
    format!(
        "a value that a program with state version {from} wrote cannot be read by this one, which \
         has the same version: a shape that changes needs a new `State::VERSION`, or a default for \
         what it adds"
    )
}
