//! The layers of memory that belong to a person and not to a session: recalled when a run begins,
//! and stored when it ends.
use std::sync::Arc;

use async_trait::async_trait;
use fugato_graph::{BoxError, Context, EffectClass, Node, Outcome};
use fugato_memory::{PersonCopy, PersonLayers, PersonUpdate};
use fugato_stream::EventKind;
use serde_json::json;

use crate::Embeds;

/// The name of the event that a person's data could not be recalled or stored.
pub const PERSON_UNKNOWN: &str = "user_store";

type Whose<S> = dyn Fn(&S) -> String + Send + Sync;

/// A node that copies a person's stored data into the state. If the data cannot be read, the last
/// copy is kept.
#[derive(derive_more::Debug)]
#[debug("RecallPerson({:?})", self.0.layers)]
pub struct RecallPerson<S>(People<S>);

/// A node that stores the changes of a person's data. If they cannot be stored, they stay in the
/// state and are stored next time.
#[derive(derive_more::Debug)]
#[debug("SavePerson({:?})", self.0.layers)]
pub struct SavePerson<S>(People<S>);

struct People<S> {
    layers: PersonLayers,
    whose: Arc<Whose<S>>,
}

impl<S> RecallPerson<S> {
    /// Creates a node that recalls from these layers; `whose` returns the name of the person.
    pub fn new(layers: PersonLayers, whose: impl Fn(&S) -> String + Send + Sync + 'static) -> Self {
        let whose = Arc::new(whose);
        Self(People { layers, whose })
    }
}

impl<S> SavePerson<S> {
    /// Creates a node that stores in these layers; `whose` returns the name of the person.
    pub fn new(layers: PersonLayers, whose: impl Fn(&S) -> String + Send + Sync + 'static) -> Self {
        let whose = Arc::new(whose);
        Self(People { layers, whose })
    }
}

#[async_trait]
impl<S: Embeds<PersonCopy>> Node<S> for RecallPerson<S> {
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        let person = (self.0.whose)(cx.state());
        Ok(match self.0.layers.recall(&person).await {
            Ok((task, preferences)) => {
                let recalled = PersonUpdate::Recalled { task, preferences };
                Outcome::done([S::embed(recalled)])
            }
            Err(error) => Outcome::done([]).note(failed("nothing was recalled", &error)),
        })
    }
}

#[async_trait]
impl<S: Embeds<PersonCopy>> Node<S> for SavePerson<S> {
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        let person = (self.0.whose)(cx.state());
        let updates = cx.state().part().unsaved.clone();
        if updates.is_empty() {
            return Ok(Outcome::done([]));
        }
        let (layers, input, many) = (self.0.layers.clone(), updates.clone(), updates.len());
        let store = async move |_| layers.apply(&person, &updates).await;
        let stored = cx.effect("save_user", EffectClass::Idempotent, &input, store);
        Ok(match stored.await {
            Ok(()) => Outcome::done([S::embed(PersonUpdate::Stored(many))]),
            Err(error) => Outcome::done([]).note(failed("nothing was stored", &error)),
        })
    }
}

fn failed(what: &str, error: &dyn std::error::Error) -> EventKind {
    let why = error.to_string();
    EventKind::Custom {
        name: PERSON_UNKNOWN.into(),
        data: json!({ "what": what, "why": why }),
    }
}
