use fugato_state::State;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{Judgement, Plain};

/// A decision in the making: the state of a small graph that makes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "S: DeserializeOwned, V: DeserializeOwned"))]
#[non_exhaustive]
pub struct Thinking<S, V> {
    /// What is to be judged.
    pub situation: S,
    /// What is decided.
    pub value: Option<V>,
    /// How; none where nobody had to be asked.
    pub how: Option<Judgement>,
}

/// What can change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "V: DeserializeOwned"))]
pub struct Thought<V> {
    /// What is decided, if it is.
    pub value: Option<V>,
    /// How, if somebody was asked.
    pub how: Option<Judgement>,
}

impl<V> From<V> for Thought<V> {
    fn from(value: V) -> Self {
        Self {
            value: Some(value),
            how: None,
        }
    }
}

impl<S, V> Thinking<S, V> {
    /// Nothing is decided yet.
    pub fn about(situation: S) -> Self {
        Self {
            situation,
            value: None,
            how: None,
        }
    }

    /// What a state is told that asked for the decision: how it was made, and what it is.
    pub fn tells<U>(&self, how: impl FnOnce(Judgement) -> U, what: impl FnOnce(V) -> U) -> Vec<U>
    where
        V: Clone,
    {
        let judged = self.how.clone().map(how);
        let decided = self.value.clone().map(what);
        judged.into_iter().chain(decided).collect()
    }
}

impl<S: Default, V> Default for Thinking<S, V> {
    fn default() -> Self {
        Self::about(S::default())
    }
}

impl<S: Plain, V: Plain> State for Thinking<S, V> {
    type Update = Thought<V>;

    fn apply(&mut self, thought: Thought<V>) {
        self.value = thought.value.or(self.value.take());
        self.how = thought.how.or(self.how.take());
    }
}
