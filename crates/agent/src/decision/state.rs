use fugato_llm::AskRecord;
use fugato_state::{Lang, State};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The state of a small graph that makes one decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "S: DeserializeOwned, V: DeserializeOwned"))]
#[non_exhaustive]
pub struct DecisionState<S, V> {
    /// The input of the judgement.
    pub situation: S,
    /// The decision; none if there is none yet.
    pub value: Option<V>,
    /// The record of the decision; none if rules decided and no model was needed.
    pub how: Option<AskRecord>,
    /// The language of the graph that needs the decision.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lang: Lang,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// An update of a decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "V: DeserializeOwned"))]
pub struct DecisionUpdate<V> {
    /// The decision; none keeps the present one.
    pub value: Option<V>,
    /// The record of the decision; none keeps the present one.
    pub how: Option<AskRecord>,
}

impl<V> From<V> for DecisionUpdate<V> {
    fn from(value: V) -> Self {
        Self {
            value: Some(value),
            how: None,
        }
    }
}

impl<S, V> DecisionState<S, V> {
    /// Returns the state before a decision, in the language that is spoken now.
    pub fn about(situation: S) -> Self {
        Self {
            situation,
            value: None,
            how: None,
            lang: Lang::current(),
        }
    }

    /// Returns updates for another state: first of the record made by `how`, then of the decision
    /// made by `what`.
    pub fn updates<U>(&self, how: impl FnOnce(AskRecord) -> U, what: impl FnOnce(V) -> U) -> Vec<U>
    where
        V: Clone,
    {
        let judged = self.how.clone().map(how);
        let decided = self.value.clone().map(what);
        judged.into_iter().chain(decided).collect()
    }
}

impl<S: Default, V> Default for DecisionState<S, V> {
    fn default() -> Self {
        Self::about(S::default())
    }
}

impl<S, V> State for DecisionState<S, V>
where
    S: Clone + Serialize + DeserializeOwned + Send + Sync + 'static,
    V: Clone + Serialize + DeserializeOwned + Send + Sync + 'static,
{
    type Update = DecisionUpdate<V>;

    fn lang(&self) -> Lang {
        self.lang
    }

    fn apply(&mut self, thought: DecisionUpdate<V>) {
        self.value = thought.value.or(self.value.take());
        self.how = thought.how.or(self.how.take());
    }
}
