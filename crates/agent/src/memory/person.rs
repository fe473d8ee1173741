//! The layers of memory that belong to a person and not to a session: recalled when a run begins,
//! and stored when it ends.
use fugato_graph::{BoxError, Context, IntoNode as _, Node, Outcome};
use fugato_memory::{PersonCopy, PersonLayers, PersonUpdate};
use fugato_state::EffectClass;
use fugato_stream::EventKind;
use serde_json::json;

use crate::{Embeds, text::custom};

/// The name of the event that a person's data could not be recalled or stored.
pub const PERSON_UNKNOWN: &str = "user_store";

/// Returns a node that copies a person's data from these layers into the state; `whose` returns the
/// name of the person. If the data cannot be read, the last copy is kept.
pub fn recall_person<S: Embeds<PersonCopy>>(
    layers: PersonLayers,
    whose: impl Fn(&S) -> String + Send + Sync + 'static,
) -> impl Node<S> {
    let recall = move |cx: Context<S>| {
        let (layers, person) = (layers.clone(), whose(cx.state()));
        async move {
            match layers.recall(&person).await {
                Ok((task, preferences)) => {
                    let recalled = PersonUpdate::Recalled { task, preferences };
                    Outcome::done([S::embed(recalled)])
                }
                Err(error) => Outcome::done([]).note(failed("nothing was recalled", &error)),
            }
        }
    };
    recall.into_node()
}

/// Returns a node that stores the changes of a person's data in these layers; `whose` returns the
/// name of the person. If they cannot be stored, they stay in the state and are stored next time.
pub fn save_person<S: Embeds<PersonCopy>>(
    layers: PersonLayers,
    whose: impl Fn(&S) -> String + Send + Sync + 'static,
) -> impl Node<S> {
    let save = move |cx: Context<S>| {
        let (layers, person) = (layers.clone(), whose(cx.state()));
        async move {
            let updates = cx.state().part().unsaved.clone();
            if updates.is_empty() {
                return Ok(Outcome::done([]));
            }
            let (input, many) = (updates.clone(), updates.len());
            let store = async move |_| layers.apply(&person, &updates).await;
            let stored = cx.effect("save_user", EffectClass::Idempotent, &input, store);
            Ok::<_, BoxError>(match stored.await {
                Ok(()) => Outcome::done([S::embed(PersonUpdate::Stored(many))]),
                Err(error) => Outcome::done([]).note(failed("nothing was stored", &error)),
            })
        }
    };
    save.into_node()
}

fn failed(what: &str, error: &dyn std::error::Error) -> EventKind {
    let why = error.to_string();
    custom(PERSON_UNKNOWN, json!({ "what": what, "why": why }))
}
