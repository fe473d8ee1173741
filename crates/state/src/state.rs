use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::Lang;

/// A plain struct, and the serialisable vocabulary of changes to it.
///
/// The log of a thread stores updates; the state is their fold. Opening a thread applies the stored
/// updates again, in order, to its last snapshot or its initial state. `apply` is the only code
/// that changes a state, live and in replay.
///
/// ```
/// use fugato_state::State;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
/// struct Basket {
///     items: Vec<String>,
///     ordered_at: Option<i64>,
/// }
///
/// #[derive(Serialize, Deserialize)]
/// enum Change {
///     Added(String),
///     Ordered { at: i64 },
/// }
///
/// impl State for Basket {
///     type Update = Change;
///
///     fn apply(&mut self, change: Change) {
///         match change {
///             Change::Added(item) => self.items.push(item),
///             Change::Ordered { at } => self.ordered_at = Some(at),
///         }
///     }
/// }
///
/// let mut basket = Basket::default();
/// for stored in [r#"{"Added":"tea"}"#, r#"{"Ordered":{"at":7}}"#] {
///     basket.apply(serde_json::from_str(stored)?);
/// }
/// assert_eq!(basket, Basket { items: vec!["tea".into()], ordered_at: Some(7) });
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// Wrong: reading a clock in `apply`. Each replay gives another time.
/// The node reads the clock, and the update carries the time.
///
/// ```text
/// Change::Ordered => self.ordered_at = Some(now()),
/// ```
///
/// Wrong: checking a rule inside `apply` and hoping that a violation is noticed.
/// A node checks, and returns an update only when the change is wanted.
///
/// *Contract*
/// - **deterministic**: the same updates applied to the same state give the same state, on every
///   machine and at every time; `apply` reads no clock, no random source and nothing outside.
/// - **infallible**: `apply` does not panic. An update that makes no sense changes nothing.
/// - **round trip**: serialising a state or an update and reading it back gives an equal value.
///
/// # Errors
/// `apply` returns none. [`migrate_state`](Self::migrate_state) and
/// [`migrate_update`](Self::migrate_update) return a [`MigrateError`] for a value that they cannot
/// read; the thread is then not opened, and its log is not changed.
///
/// # Cancellation safety
/// `apply` is synchronous: cancelling a run does not interrupt it.
///
/// # Cost
/// Every update is serialised once for the log. `apply` runs once live, and once for each update
/// after the last snapshot whenever the thread is opened. A snapshot serialises the whole state, so
/// large values belong in a document store, with only their keys in the state.
pub trait State: Clone + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// A change to the state, as it is stored.
    type Update: Serialize + DeserializeOwned + Send + 'static;

    /// The version of the shape of the state and its updates, and of the meaning of `apply`.
    const VERSION: u32 = 1;

    /// Applies one change. This is the only place that changes state.
    fn apply(&mut self, update: Self::Update);

    /// Returns the language in which texts are made while a node runs. The default is English.
    fn lang(&self) -> Lang {
        Lang::default()
    }

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

/// The error of a stored state or update that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}", unreadable(*from, *to))]
pub struct MigrateError {
    /// The version that wrote the value.
    pub from: u32,
    /// The version that tried to read it.
    pub to: u32,
    /// The error of deserialising the value.
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
