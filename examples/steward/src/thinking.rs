//! The state of the three graphs that understand: a situation, and what is decided about it.
use std::sync::Arc;

use async_trait::async_trait;
use fugato::{
    BoxError, Context, Node, Outcome, State,
    agent::{Fall, FallbackChain, trace::recorded},
    llm::ChatModel,
    stream::EventKind,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    ask::Asked,
    service::{Service, Situation, asked},
    state::{CallTrace, Source, Update},
};

/// A decision in the making.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "T: DeserializeOwned"))]
pub struct Thinking<T> {
    /// What is to be judged.
    pub situation: Situation,
    /// What is decided.
    pub value: Option<T>,
    /// Who decided; none where there was nothing to understand.
    pub source: Option<Source>,
    /// What models were asked.
    pub traces: Vec<CallTrace>,
    /// Why no model decided.
    pub fallback_reason: Option<String>,
}

/// What can change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", bound(deserialize = "T: DeserializeOwned"))]
#[non_exhaustive]
pub enum Thought<T> {
    /// Models were asked.
    Asked {
        /// How that went.
        traces: Vec<CallTrace>,
        /// Why none decided.
        failed: Option<String>,
    },
    /// It is decided, by somebody if words were understood.
    Decided(T, Option<Source>),
}

/// What can be decided in a graph.
pub trait Decision: Clone + Serialize + DeserializeOwned + Send + Sync + 'static {}

impl<T: Clone + Serialize + DeserializeOwned + Send + Sync + 'static> Decision for T {}

impl<T> Thinking<T> {
    /// Nothing is decided yet.
    pub fn about(situation: Situation) -> Self {
        Self {
            situation,
            value: None,
            source: None,
            traces: vec![],
            fallback_reason: None,
        }
    }

    /// What the conversation is told: how it was decided, and what.
    pub(crate) fn tells(&self, what: impl FnOnce(T) -> Update) -> Vec<Update>
    where
        T: Clone,
    {
        let judged = self.source.map(|source| Update::Judged {
            source,
            traces: self.traces.clone(),
            fallback_reason: self.fallback_reason.clone(),
        });
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
        match thought {
            Thought::Asked { traces, failed } => {
                self.traces.extend(traces);
                self.fallback_reason = failed;
            }
            Thought::Decided(value, source) => (self.value, self.source) = (Some(value), source),
        }
    }
}

/// The node that asks a model. What keeps it from an answer is a reason, and never a failure.
pub(crate) fn by_model<S>(
    service: S,
    model: Option<Arc<dyn ChatModel>>,
) -> FallbackChain<Thinking<S::Output>>
where
    S: Service,
    S::Output: Decision,
{
    let ask = recorded(ByModel { service, model });
    let none = |_: &Thinking<S::Output>, falls: &[Fall]| {
        let failed = falls.last().map(|fall| fall.reason.clone());
        Thought::Asked {
            traces: vec![],
            failed: failed.or(Some("the node failed".into())),
        }
    };
    FallbackChain::<Thinking<S::Output>>::new("model", ask).or_rule("rules", none)
}

struct ByModel<S> {
    service: S,
    model: Option<Arc<dyn ChatModel>>,
}

#[async_trait]
impl<S> Node<Thinking<S::Output>> for ByModel<S>
where
    S: Service,
    S::Output: Decision,
{
    async fn run(
        &self,
        cx: Context<Thinking<S::Output>>,
    ) -> Result<Outcome<Thought<S::Output>>, BoxError> {
        let Asked { answer, traces } =
            asked(&self.service, self.model.as_deref(), &cx.state().situation).await;
        Ok(Outcome::done(match answer {
            Ok((value, source)) => vec![
                Thought::Asked {
                    traces,
                    failed: None,
                },
                Thought::Decided(value, Some(source)),
            ],
            Err(why) => vec![Thought::Asked {
                traces,
                failed: Some(why),
            }],
        }))
    }
}

/// The next node: one if it is decided, or else the other.
pub(crate) fn decided<T>(
    done: &'static str,
    otherwise: &'static str,
) -> impl Fn(&Thinking<T>) -> &'static str {
    move |state| {
        if state.value.is_some() {
            done
        } else {
            otherwise
        }
    }
}

/// The node that lets the rules decide.
pub(crate) struct ByRules<S>(pub(crate) S);

#[async_trait]
impl<S> Node<Thinking<S::Output>> for ByRules<S>
where
    S: Service,
    S::Output: Decision,
{
    async fn run(
        &self,
        cx: Context<Thinking<S::Output>>,
    ) -> Result<Outcome<Thought<S::Output>>, BoxError> {
        let state = cx.state();
        let reason = state.fallback_reason.as_deref();
        if let Some(reason) = reason {
            tracing::info!(stage = S::STAGE, reason, "{}", crate::log_key::RULE_DECIDES);
        }
        let source = reason.map(|_| Source::Rule);
        Ok(Outcome::done([Thought::Decided(
            self.0.rules(&state.situation),
            source,
        )]))
    }
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
