//! Judgements by a model through a function call, with rules as a fallback.
mod inquiry;
mod thinking;

use fugato_graph::Context;
use fugato_llm::{CallOutcome, CallTrace, ChatRequest, ToolSchema};
use fugato_state::State;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{ModelFailure, notice::announce_backup};

pub use inquiry::Inquiry;
pub use thinking::{DecisionState, DecisionUpdate};

/// A question that either a model or rules can answer.
///
/// The model's function call is read into a verdict by code, which rejects invalid arguments. The
/// rules return the same kind of verdict without a model.
///
/// # Contract
/// - `rules` needs no model and no network, and always returns a verdict.
/// - `read` rejects with a reason that says what is allowed: the model gets it, and is asked again.
/// - All three depend only on the situation and the fields of the judge.
pub trait Judge: Send + Sync + 'static {
    /// The input of a judgement.
    type Situation: PlainData;
    /// The decision.
    type Verdict: PlainData;

    /// Returns the request to a model, and the function that it calls to answer. Traces name the
    /// question by the `stage` in the request's metadata.
    fn question(&self, situation: &Self::Situation) -> (ChatRequest, ToolSchema);

    /// Reads the arguments of the function call into a verdict, or rejects them.
    fn read(&self, at: &Self::Situation, arguments: &Value)
    -> Result<Self::Verdict, InvalidAnswer>;

    /// Returns the verdict of the rules.
    fn rules(&self, situation: &Self::Situation) -> Self::Verdict;
}

/// Plain data, which can be stored and sent.
pub trait PlainData: Clone + Serialize + DeserializeOwned + Send + Sync + 'static {}

impl<T: Clone + Serialize + DeserializeOwned + Send + Sync + 'static> PlainData for T {}

/// An error in the arguments of a model's function call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
#[non_exhaustive]
pub struct InvalidAnswer {
    /// The place of the error, as a JSON pointer into the arguments.
    pub path: String,
    /// The error, and what is allowed.
    pub why: String,
}

impl InvalidAnswer {
    /// Returns an error at a place of the arguments.
    pub fn at(path: impl Into<String>, why: impl Into<String>) -> Self {
        let (path, why) = (path.into(), why.into());
        Self { path, why }
    }
}

impl From<serde_json::Error> for InvalidAnswer {
    fn from(error: serde_json::Error) -> Self {
        Self::at("", error.to_string())
    }
}

/// The record of a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Judgement {
    /// The source of the decision.
    pub source: DecisionSource,
    /// The calls of models, in order.
    pub traces: Vec<CallTrace>,
    /// The reason why rules decided instead of a model; none otherwise.
    pub fallback_reason: Option<String>,
}

/// The source of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DecisionSource {
    /// A model, by the requested function call.
    LlmFunctionCall,
    /// A model that wrote its call in another form than the protocol's.
    LlmTextCall,
    /// A rule.
    Rule,
}

impl DecisionSource {
    /// Returns the source as one word, in its stored form.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LlmFunctionCall => "llm_function_call",
            Self::LlmTextCall => "llm_text_call",
            Self::Rule => "rule",
        }
    }
}

impl Judgement {
    fn by_model(source: DecisionSource, traces: Vec<CallTrace>) -> Self {
        Self {
            source,
            traces,
            fallback_reason: None,
        }
    }

    /// Returns the record of a rule that decides instead of a model.
    fn instead(traces: Vec<CallTrace>, why: impl Into<String>) -> Self {
        Self {
            source: DecisionSource::Rule,
            traces,
            fallback_reason: Some(why.into()),
        }
    }

    /// Announces on the stream at once that a backup model or a rule decides instead of the named
    /// model, and why, in the language of `said`. Does nothing if no model was called.
    pub fn announce<S: State>(&self, cx: &Context<S>, said: &str) {
        let Some(last) = self.traces.last() else {
            return;
        };
        if self.source != DecisionSource::Rule {
            return announce_backup(cx, &last.attempts, said);
        }
        let silent = last.outcome == CallOutcome::AllFailed;
        let failure = silent.then(|| ModelFailure::of_attempts(&last.attempts));
        let failure = failure.flatten().unwrap_or_else(|| {
            let model = last.attempts.last().map_or("model", |it| &it.model);
            ModelFailure::unusable(model)
        });
        failure.announce(cx, said);
    }

    /// Returns the record of a rule that decides because no model is needed.
    pub fn by_rule() -> Self {
        Self {
            source: DecisionSource::Rule,
            traces: vec![],
            fallback_reason: None,
        }
    }
}
