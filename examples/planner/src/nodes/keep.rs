use async_trait::async_trait;
use fugato::{BoxError, Context, EffectClass, EventKind, Node, Outcome, memory::PersonLayers};
use serde_json::json;

use crate::session::{Session, SessionUpdate};

/// Takes a copy of what is stored of the person. Where it cannot be read, the last copy counts.
pub(crate) struct Recall(pub(crate) PersonLayers);

#[async_trait]
impl Node<Session> for Recall {
    async fn run(&self, cx: Context<Session>) -> Result<Outcome<SessionUpdate>, BoxError> {
        Ok(match self.0.recall(&cx.state().user).await {
            Ok((task, preferences)) => {
                Outcome::done([SessionUpdate::Recalled { task, preferences }])
            }
            Err(error) => Outcome::done([]).note(failed("nothing was recalled", &error)),
        })
    }
}

/// Stores what has changed of the person. What cannot be stored stays, and is stored next time.
pub(crate) struct Save(pub(crate) PersonLayers);

#[async_trait]
impl Node<Session> for Save {
    async fn run(&self, cx: Context<Session>) -> Result<Outcome<SessionUpdate>, BoxError> {
        let (user, updates) = (cx.state().user.clone(), cx.state().unsaved.clone());
        if updates.is_empty() {
            return Ok(Outcome::done([]));
        }
        let (users, input, many) = (self.0.clone(), updates.clone(), updates.len());
        let store = async move |_| users.apply(&user, &updates).await;
        let stored = cx.effect("save_user", EffectClass::Idempotent, &input, store);
        Ok(match stored.await {
            Ok(()) => Outcome::done([SessionUpdate::Stored(many)]),
            Err(error) => Outcome::done([]).note(failed("nothing was stored", &error)),
        })
    }
}

fn failed(what: &str, error: &dyn std::error::Error) -> EventKind {
    let why = error.to_string();
    let data = json!({ "what": what, "why": why });
    EventKind::Custom {
        name: "user_store".into(),
        data,
    }
}
