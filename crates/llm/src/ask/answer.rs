use std::{error::Error, fmt, iter::successors};

use fugato_state::say;
use serde::{Deserialize, Serialize};

use super::CallTrace;
use crate::{ModelError, RejectedAnswer, Usage};

/// The result of settling one answer.
#[derive(Debug)]
pub enum Settlement<T, C = RejectedAnswer> {
    /// The answer was accepted, as this value.
    Decided(T),
    /// The answer was rejected: the model is to be asked again, with
    /// [`RejectedAnswer::messages`] at the end of the conversation.
    Again(C),
    /// No answer was accepted, and the model is not to be asked again.
    Failed(AskError),
}

/// A value that a model has answered, or a rule in its place, and the way to it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Answer<T> {
    /// The value.
    pub value: T,
    /// The record of the decision.
    pub record: AskRecord,
    /// The usage of all requests together, as far as servers report it.
    pub usage: Usage,
}

impl<T> Answer<T> {
    pub(super) fn by_model(source: DecisionSource, asked: AskError, value: T) -> Self {
        let record = AskRecord {
            source,
            traces: asked.traces,
            fallback_reason: None,
        };
        let usage = asked.usage;
        Self {
            value,
            record,
            usage,
        }
    }

    /// Returns the value of a rule that decides in place of a model, for this reason.
    pub fn by_rule(value: T, why: AskError) -> Self {
        Self {
            value,
            usage: why.usage,
            record: why.into(),
        }
    }
}

/// The record of a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AskRecord {
    /// The source of the decision.
    pub source: DecisionSource,
    /// The requests to models, oldest first.
    pub traces: Vec<CallTrace>,
    /// The reason why a rule decided instead of a model; none otherwise.
    pub fallback_reason: Option<String>,
}

impl AskRecord {
    /// Returns the record of a rule that decides because no model is needed.
    pub fn by_rule() -> Self {
        Self {
            source: DecisionSource::Rule,
            traces: vec![],
            fallback_reason: None,
        }
    }
}

impl From<AskError> for AskRecord {
    /// Returns the record of a rule that decides instead of a model.
    fn from(why: AskError) -> Self {
        Self {
            fallback_reason: Some(why.reason()),
            traces: why.traces,
            ..Self::by_rule()
        }
    }
}

/// The source of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DecisionSource {
    /// A model, by the text of its answer.
    LlmAnswer,
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
            Self::LlmAnswer => "llm_answer",
            Self::LlmFunctionCall => "llm_function_call",
            Self::LlmTextCall => "llm_text_call",
            Self::Rule => "rule",
        }
    }
}

/// The error if a model gave no answer that was accepted. By default: there was no model.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct AskError {
    /// The error of a model that did not answer; none if too many answers were rejected.
    pub unanswered: Option<ModelError>,
    /// The answers that were rejected, oldest first, each with its reasons. A graph has those of
    /// earlier rounds in its state, so there this is the last one at most.
    pub rejected: Vec<RejectedAnswer>,
    /// The number of rejected answers in a row, those of earlier rounds included.
    pub rejections: u32,
    /// The requests of [`Ask::run`](super::Ask::run), oldest first.
    pub traces: Vec<CallTrace>,
    /// The usage of these requests together, as far as servers report it.
    pub usage: Usage,
}

impl AskError {
    /// Returns the last failure with its causes, in one line.
    pub fn reason(&self) -> String {
        match (&self.unanswered, self.rejected.last()) {
            (Some(error), _) => {
                let first: &(dyn Error + 'static) = error;
                let causes = successors(Some(first), |error| (**error).source());
                let told: Vec<_> = causes.map(ToString::to_string).collect();
                told.join(": ")
            }
            (None, Some(last)) => last.to_string(),
            (None, None) => say!("there is no model", "没有模型"),
        }
    }
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rejected = self.rejections;
        match (&self.unanswered, self.rejected.last()) {
            (Some(error), _) if rejected > 0 => f.write_str(&say!(
                "no answer after {rejected} unusable answers in a row: {error}",
                "连续 {rejected} 个回答无法使用，之后没有回答：{error}"
            )),
            // Without rejected answers the error itself says everything.
            (Some(error), _) => error.fmt(f),
            (None, Some(last)) => f.write_str(&say!(
                "{rejected} unusable answers in a row, the last one: {last}",
                "连续 {rejected} 个回答无法使用，最后一个：{last}"
            )),
            (None, None) => f.write_str(&self.reason()),
        }
    }
}

impl Error for AskError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.unanswered.as_ref()?.source()
    }
}
