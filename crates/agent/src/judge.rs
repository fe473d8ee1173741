//! Questions that a model answers by calling a function, and that rules answer where it does not.
mod inquiry;
mod thinking;

use fugato_graph::Context;
use fugato_llm::{CallOutcome, CallTrace, ChatRequest, ToolSchema};
use fugato_state::State;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{ModelFailure, notice::announce_backup};

pub use inquiry::Inquiry;
pub use thinking::{Thinking, Thought};

/// A question that a model can answer, and that rules can.
///
/// A model only understands: what it says is read into a verdict by code, which refuses what cannot
/// be, and rules say the same kind of thing without one.
///
/// # Contract
/// - `rules` needs no model and no network, and always has a verdict.
/// - `read` refuses with what is allowed: the model is told, and asked again.
/// - All three depend on nothing but the situation and what the judge is made of.
pub trait Judge: Send + Sync + 'static {
    /// What is judged.
    type Situation: Plain;
    /// What is decided.
    type Verdict: Plain;

    /// What a model is asked, and the function that it calls to answer. Traces call the question
    /// what the metadata of the request call `stage`.
    fn question(&self, situation: &Self::Situation) -> (ChatRequest, ToolSchema);

    /// What the arguments of the function mean, or why that cannot be.
    fn read(&self, at: &Self::Situation, arguments: &Value) -> Result<Self::Verdict, Wrong>;

    /// What the rules say.
    fn rules(&self, situation: &Self::Situation) -> Self::Verdict;
}

/// Plain data, which can be stored and sent.
pub trait Plain: Clone + Serialize + DeserializeOwned + Send + Sync + 'static {}

impl<T: Clone + Serialize + DeserializeOwned + Send + Sync + 'static> Plain for T {}

/// What a model has said wrongly.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
#[non_exhaustive]
pub struct Wrong {
    /// Where, as a JSON pointer into the arguments.
    pub path: String,
    /// What is wrong, and what is allowed.
    pub why: String,
}

impl Wrong {
    /// Something is wrong at a place of the arguments.
    pub fn at(path: impl Into<String>, why: impl Into<String>) -> Self {
        let (path, why) = (path.into(), why.into());
        Self { path, why }
    }
}

impl From<serde_json::Error> for Wrong {
    fn from(error: serde_json::Error) -> Self {
        Self::at("", error.to_string())
    }
}

/// How something was decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Judgement {
    /// Who decided.
    pub source: Source,
    /// What models were asked.
    pub traces: Vec<CallTrace>,
    /// Why no model decided that should have.
    pub fallback_reason: Option<String>,
}

/// Who decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Source {
    /// A model, by the function call that it was asked for.
    LlmFunctionCall,
    /// A model that wrote its call in another form than the protocol's.
    LlmTextCall,
    /// A rule.
    Rule,
}

impl Source {
    /// Who decided in one word, as it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LlmFunctionCall => "llm_function_call",
            Self::LlmTextCall => "llm_text_call",
            Self::Rule => "rule",
        }
    }
}

impl Judgement {
    fn by_model(source: Source, traces: Vec<CallTrace>) -> Self {
        Self {
            source,
            traces,
            fallback_reason: None,
        }
    }

    /// A rule decides in the place of a model.
    fn instead(traces: Vec<CallTrace>, why: impl Into<String>) -> Self {
        Self {
            source: Source::Rule,
            traces,
            fallback_reason: Some(why.into()),
        }
    }

    /// Tells the reader of a run at once that another than the named model decides, and why, in the
    /// language of what the person said. Where no model was named there is nothing to tell.
    pub fn announce<S: State>(&self, cx: &Context<S>, said: &str) {
        let Some(last) = self.traces.last() else {
            return;
        };
        if self.source != Source::Rule {
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

    /// A rule decides where no model has to be asked.
    pub fn by_rule() -> Self {
        Self {
            source: Source::Rule,
            traces: vec![],
            fallback_reason: None,
        }
    }
}
