//! The state of the three graphs that understand: a situation, and what is decided about it.
use std::future::ready;

use fugato::{
    Context, Node, State, agent::trace::recorded, graph::IntoNode as _, stream::EventKind,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    deps::Deps,
    service::{Decision, Service, Situation, asked},
    state::{Judgement, Update},
};

/// A decision in the making.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "T: DeserializeOwned"))]
pub struct Thinking<T> {
    /// What is to be judged.
    pub situation: Situation,
    /// What is decided.
    pub value: Option<T>,
    /// How; none where there was nothing to understand.
    pub how: Option<Judgement>,
}

/// What can change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "T: DeserializeOwned"))]
pub struct Thought<T> {
    /// What is decided, if it is.
    pub value: Option<T>,
    /// Who was asked, if somebody was.
    pub how: Option<Judgement>,
}

impl<T> From<T> for Thought<T> {
    fn from(value: T) -> Self {
        Self {
            value: Some(value),
            how: None,
        }
    }
}

impl<T> Thinking<T> {
    /// Nothing is decided yet.
    pub fn about(situation: Situation) -> Self {
        Self {
            situation,
            value: None,
            how: None,
        }
    }

    /// What the conversation is told: how it was decided, and what.
    pub(crate) fn tells(&self, what: impl FnOnce(T) -> Update) -> Vec<Update>
    where
        T: Clone,
    {
        let judged = self.how.clone().map(Update::Judged);
        let decided = self.value.clone().map(what);
        judged.into_iter().chain(decided).collect()
    }
}

impl<T> Default for Thinking<T> {
    fn default() -> Self {
        Self::about(Situation::default())
    }
}

impl<T: Decision> State for Thinking<T> {
    type Update = Thought<T>;

    fn apply(&mut self, thought: Thought<T>) {
        self.value = thought.value.or(self.value.take());
        self.how = thought.how.or(self.how.take());
    }
}

/// The node that asks a model. What keeps it from an answer is a reason, and never a failure.
pub(crate) fn by_model<S: Service>(deps: &Deps) -> impl Node<Thinking<S::Output>> + use<S> {
    let deps = deps.clone();
    let ask = move |cx: Context<Thinking<S::Output>>| {
        let deps = deps.clone();
        async move {
            let (value, how) = asked::<S>(&deps, &cx.state().situation).await;
            let how = Some(how);
            Thought { value, how }
        }
    };
    recorded(ask.into_node())
}

/// The node that lets the rules decide.
pub(crate) fn by_rules<S: Service>(deps: &Deps) -> impl Node<Thinking<S::Output>> + use<S> {
    let desk = deps.desk.clone();
    let rules = move |cx: Context<Thinking<S::Output>>| {
        ready(Thought::from(S::rules(&desk, &cx.state().situation)))
    };
    rules.into_node()
}

/// A line of progress, in both languages: pages show one of them.
pub(crate) fn phase(code: &str) -> EventKind {
    let summary = match code {
        "planning" => "模型规划中 · planning",
        "judging_fields" => "字段判断中 · judging fields",
        "waiting_for_confirmation" => "等待确认 · waiting for confirmation",
        _ => "执行动作 · executing",
    };
    EventKind::Status {
        code: code.to_owned(),
        summary: summary.to_owned(),
    }
}
