//! Actions on the outside world, each done as often as its class allows.
mod acting;
mod call;
mod ticket;

use std::{error::Error, fmt, future::Future, time::Duration};

use fugato_state::EffectClass;
use futures::{FutureExt, future::BoxFuture};
use serde::Serialize;
use serde_json::Value;

use crate::BoxError;

pub(crate) use call::{Asking, Begin, Call, Calls, End, Ending, Permit, Who};
pub(crate) use ticket::Ticket;

/// How an action on the outside world is to be treated.
pub struct Effect<T> {
    class: EffectClass,
    timeout: Duration,
    whole_thread: bool,
    reconcile: Option<Reconcile<T>>,
}

type Reconcile<T> = Box<dyn FnOnce() -> BoxFuture<'static, Result<Reconciled<T>, BoxError>> + Send>;

/// What looking after an action in doubt has shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reconciled<T> {
    /// It happened, and this came out.
    Happened(T),
    /// It certainly did not happen: it is done now.
    DidNotHappen,
    /// It cannot be found out: a person is asked.
    Unknown,
}

impl<T> From<EffectClass> for Effect<T> {
    fn from(class: EffectClass) -> Self {
        Self {
            class,
            timeout: Duration::from_secs(30),
            whole_thread: false,
            reconcile: None,
        }
    }
}

impl<T> Effect<T> {
    /// An action that must not be done twice.
    pub fn once() -> Self {
        EffectClass::Once.into()
    }

    /// An action whose idempotency key the other side recognises.
    pub fn keyed() -> Self {
        EffectClass::Keyed.into()
    }

    /// An action that is the same done twice as done once.
    pub fn idempotent() -> Self {
        EffectClass::Idempotent.into()
    }

    /// How long an action of class [`EffectClass::Once`] may take: 30 s by default. What takes
    /// longer is dropped, and in doubt; in no time at all nothing begins.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Lets the whole thread share the key, rather than the attempts of one task: the action is
    /// done once however many tasks ask for it.
    #[must_use]
    pub fn whole_thread(mut self) -> Self {
        self.whole_thread = true;
        self
    }

    /// How to find out whether an action in doubt has happened. Asked only when it can no longer
    /// be under way.
    #[must_use]
    pub fn reconcile<F, Fut, E>(mut self, reconcile: F) -> Self
    where
        F: FnOnce() -> Fut + Send + 'static,
        Fut: Future<Output = Result<Reconciled<T>, E>> + Send + 'static,
        E: Into<BoxError>,
    {
        self.reconcile = Some(Box::new(move || {
            let asked = reconcile();
            async move { asked.await.map_err(Into::into) }.boxed()
        }));
        self
    }
}

impl<T> fmt::Debug for Effect<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Effect")
            .field("class", &self.class)
            .field("timeout", &self.timeout)
            .field("whole_thread", &self.whole_thread)
            .finish_non_exhaustive()
    }
}

/// Wraps the error of an action that certainly did not happen, such as a refused connection. Any
/// other error of an action of class [`EffectClass::Once`] leaves it in doubt.
#[derive(Debug)]
pub struct NotDone(BoxError);

impl NotDone {
    /// The action did not happen, for this reason.
    pub fn because(error: impl Into<BoxError>) -> Self {
        Self(error.into())
    }
}

impl fmt::Display for NotDone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it did not happen: {}", self.0)
    }
}

impl Error for NotDone {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// Why an effect has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EffectError {
    /// The action failed; it may be tried again.
    #[error("the effect {key:?} failed")]
    Failed {
        /// The effect's key.
        key: String,
        /// Why.
        source: BoxError,
    },
    /// The key was used before with another input: an old answer would be wrong.
    #[error(
        "the effect {key:?} was done with another input: its digest was {recorded}, now it is {asked}"
    )]
    InputChanged {
        /// The effect's key.
        key: String,
        /// The digest of the input that it was done with.
        recorded: String,
        /// The digest of the input of this call.
        asked: String,
    },
    /// The input or the result cannot be written or read as JSON.
    #[error("the input or result of the effect {key:?} cannot be written or read as JSON")]
    Format {
        /// The effect's key.
        key: String,
        /// Why.
        source: serde_json::Error,
    },
}

/// What a person answers about an action in doubt.
#[derive(Debug, Clone, PartialEq, Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// It happened, and this came out.
    Happened(Value),
    /// It did not happen: it is done now.
    DidNotHappen,
}
