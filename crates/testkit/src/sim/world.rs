use std::sync::Arc;

use fugato_graph::{BoxError, EffectError};
use fugato_state::{EffectClass, Millis};

use super::{
    core::{Core, Process, address},
    fault::{Activity, Fault},
};

/// The outside world of a simulation. It records the actions on it, and no crash undoes them.
///
/// A graph under simulation does all its actions here, with the idempotency key that
/// [`Context::effect`](fugato_graph::Context::effect) hands to the action. The README shows one.
#[derive(derive_more::Debug, Clone)]
#[debug("World {{ .. }}")]
pub struct World {
    core: Arc<Core>,
    process: Arc<Process>,
}

/// The record of the actions under one name and key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WorldAction {
    pub(super) class: EffectClass,
    pub(super) times: u32,
}

impl World {
    pub(super) fn new(core: Arc<Core>, process: Arc<Process>) -> Self {
        Self { core, process }
    }

    /// Does an action that must not be done twice: the simulation fails if it is. The result
    /// depends on `name` and `key` alone.
    pub async fn act(
        &self,
        name: impl Into<String>,
        key: impl Into<String>,
    ) -> Result<String, BoxError> {
        self.act_as(EffectClass::Once, name, key).await
    }

    /// Does an action of another class. An action of class `Keyed` is recognised by its key.
    pub async fn act_as(
        &self,
        class: EffectClass,
        name: impl Into<String>,
        key: impl Into<String>,
    ) -> Result<String, BoxError> {
        let (name, key) = (name.into(), key.into());
        self.process.alive().await;
        let fault = self
            .core
            .pass(Activity::acting(class), format!("{name} {}", address(&key)));
        if fault == Some(Fault::DiesBefore) {
            return self.process.die().await;
        }
        // There is no await before the action is done: a started action must not be interrupted
        // here.
        let result = outcome(&name, &key);
        self.note(class, name, address(&key));
        match fault {
            Some(Fault::DiesAfter) => self.process.die().await,
            Some(Fault::AnswerLost) => Err("the connection was lost".into()),
            Some(Fault::Hangs) => std::future::pending().await,
            _ => {
                tokio::task::yield_now().await;
                Ok(result)
            }
        }
    }

    /// Returns the result of an action, if it was done: the result that `reconcile` would find.
    pub fn find(&self, name: &str, key: &str) -> Option<String> {
        let known = (name.to_owned(), address(key).to_owned());
        let done = self.core.seen().actions.contains_key(&known);
        done.then(|| outcome(name, key))
    }

    /// Fails the given number of times under this name, counted over all processes, and then no
    /// more.
    pub fn fail(&self, name: impl Into<String>, times: u32) -> Result<(), BoxError> {
        let mut seen = self.core.seen();
        let failed = seen.outages.entry(name.into()).or_default();
        if *failed >= times {
            return Ok(());
        }
        *failed += 1;
        Err(EffectError::not_executed("the world is not ready").into())
    }

    /// Returns the time of the store, in milliseconds since the Unix epoch.
    pub fn now(&self) -> Millis {
        self.core.clock.now()
    }

    fn note(&self, class: EffectClass, name: String, address: &str) {
        let mut seen = self.core.seen();
        // A stalled process acts once more before it sees that another owns the thread. This is
        // harmless if the class allows it.
        let stalls = |fault| matches!(fault, Fault::StallsBefore | Fault::StallsAfter);
        let alone = !seen.fired.iter().any(|(_, fault)| stalls(*fault));
        let again = seen.receipts.contains(address);
        if again && (alone || class == EffectClass::Once) {
            let what = format!("{name} {address} was done again after its receipt was stored");
            seen.broken.push(what);
        }
        let action = seen.actions.entry((name, address.to_owned()));
        let action = action.or_insert(WorldAction { class, times: 0 });
        action.times += 1;
    }
}

/// Returns the result of an action.
pub(super) fn outcome(name: &str, key: &str) -> String {
    format!("{name} {}", address(key))
}
