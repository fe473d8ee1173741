use std::marker::PhantomData;

use fugato_state::{JsonType, Millis, Question, Schema, State};
use serde::Serialize;
use serde_json::Value;

use crate::{BoxError, graph::PauseNode};

/// The conversion into updates: one, several, or none. `Shape` only tells the implementations
/// apart.
pub trait IntoUpdates<U, Shape> {
    /// Returns the updates, in order.
    fn into_updates(self) -> Vec<U>;
}

impl<U> IntoUpdates<U, crate::outcome::shape::One> for U {
    fn into_updates(self) -> Vec<U> {
        vec![self]
    }
}

impl<U> IntoUpdates<U, crate::outcome::shape::Many> for Vec<U> {
    fn into_updates(self) -> Self {
        self
    }
}

impl<U> IntoUpdates<U, crate::outcome::shape::Maybe> for Option<U> {
    fn into_updates(self) -> Vec<U> {
        self.into_iter().collect()
    }
}

impl<U> IntoUpdates<U, crate::outcome::shape::Nothing> for () {
    fn into_updates(self) -> Vec<U> {
        vec![]
    }
}

/// The expiry of a pause, and the updates that follow it.
pub(crate) struct Expiry<S: State> {
    pub(crate) after: Millis,
    pub(crate) then: Option<OnExpiry<S>>,
}

pub(crate) type OnExpiry<S> = Box<dyn Fn(&S) -> Vec<<S as State>::Update> + Send + Sync>;

pub(crate) struct FnPause<S: State, Q, F, A, Shape> {
    pub(crate) question: Q,
    pub(crate) answer: F,
    pub(crate) expiry: Option<Expiry<S>>,
    pub(crate) digested: bool,
    pub(crate) marker: PhantomData<fn() -> (A, Shape)>,
}

impl<S, Q, P, F, A, R, Shape> PauseNode<S> for FnPause<S, Q, F, A, Shape>
where
    S: State,
    Q: Fn(&S) -> P + Send + Sync,
    P: Serialize,
    F: Fn(&S, A) -> R + Send + Sync,
    A: JsonType,
    R: IntoUpdates<S::Update, Shape>,
{
    fn question(&self, key: &str, state: &S, now: Millis) -> Result<Question, BoxError> {
        let mut question = Question::new::<A>(key, serde_json::to_value((self.question)(state))?);
        if self.digested {
            question.digest = Some(crate::digest::of(question.prompt.to_string().as_bytes()));
        }
        question.expires_at = self
            .expiry
            .as_ref()
            .map(|expiry| now.saturating_add(expiry.after));
        Ok(question)
    }

    fn answer(&self, state: &S, answer: &Value) -> Result<Vec<S::Update>, BoxError> {
        Ok((self.answer)(state, A::deserialize(answer)?).into_updates())
    }

    fn expired(&self, state: &S) -> Option<Vec<S::Update>> {
        let then = self.expiry.as_ref()?.then.as_ref()?;
        Some(then(state))
    }

    fn schema(&self) -> Schema {
        Schema::of::<A>()
    }
}
