use std::{error::Error, fmt};

use serde::de::DeserializeOwned;

use crate::{
    ChatModel, ChatModelExt as _, ChatRequest, ChatResponse, Contract, ModelError, RejectedAnswer,
    Usage,
};

/// Sends a request until the model's answer fits the contract.
///
/// A rejected answer is appended to the history together with a correction, which names the
/// violations and what is allowed, and the request is sent again, until the number of rejected
/// answers reaches the limit of the options. After that, and when the model itself fails, the rule
/// of the options decides. Without a rule the error is a [`DecideError`] with all answers.
///
/// A graph that keeps corrections in its state runs the same loop through its own edges, with
/// [`Contract::read`], [`RejectedAnswer::messages`] and a counter.
pub async fn decide<M, T>(
    model: &M,
    mut request: ChatRequest,
    contract: &Contract<T>,
    options: DecideOptions<T>,
) -> Result<DecisionOutcome<T>, DecideError>
where
    M: ChatModel + ?Sized,
    T: DeserializeOwned,
{
    let mut story = DecisionTrace::default();
    let why = loop {
        let response = match model.complete(request.clone()).await {
            Ok(response) => response,
            Err(error) => break DecideFailure::Model(error),
        };
        let raw = response.message.content.clone();
        story.add(response);
        match contract.read(&raw) {
            Ok(value) => {
                return Ok(DecisionOutcome {
                    value,
                    by: DecidedBy::Model,
                    story,
                });
            }
            Err(rejected) => {
                tracing::debug!(
                    target: "fugato.llm",
                    contract = contract.name(),
                    class = ?rejected.class,
                    failures = story.rejected.len() + 1,
                    "model_answer_rejected"
                );
                request.messages.extend(rejected.messages());
                story.rejected.push(rejected);
            }
        }
        if story.rejected.len() >= options.failures {
            break DecideFailure::Rejected;
        }
    };
    let error = DecideError { why, story };
    let Some(rule) = options.rule else {
        return Err(error);
    };
    tracing::info!(
        target: "fugato.llm",
        contract = contract.name(),
        reason = %error,
        "decided_by_rule"
    );
    let value = rule(&error);
    let story = error.story.clone();
    Ok(DecisionOutcome {
        value,
        by: DecidedBy::Rule(error.why),
        story,
    })
}

/// The limit of rejected answers of [`decide`], and the rule that decides after it.
#[derive(smart_default::SmartDefault, derive_more::Debug)]
#[debug("DecideOptions {{ failures: {failures:?}, rule: {:?} }}", self.rule.is_some())]
pub struct DecideOptions<T> {
    #[default(3)]
    failures: usize,
    rule: Option<Rule<T>>,
}

type Rule<T> = Box<dyn FnOnce(&DecideError) -> T + Send>;

impl<T> DecideOptions<T> {
    fugato_state::setters! {
        /// Sets the number of rejected answers in a row after which the rule decides; at least one,
        /// 3 by default.
        pub fn failures(failures: usize) { failures = failures.max(1) }

        /// Sets the rule that decides in place of the model. It gets the reason.
        pub fn or_rule(rule: impl FnOnce(&DecideError) -> T + Send + 'static) {
            rule = Some(Box::new(rule))
        }
    }
}

/// A decision of [`decide`], and the way to it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DecisionOutcome<T> {
    /// The decision.
    pub value: T,
    /// The author of the decision: the model or the rule.
    pub by: DecidedBy,
    /// The answers of the model, the accepted one included.
    pub story: DecisionTrace,
}

/// The author of a decision.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum DecidedBy {
    /// The model.
    Model,
    /// The rule, with the reason why the model did not decide.
    Rule(DecideFailure),
}

/// The reason why a model did not decide.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum DecideFailure {
    /// The model did not answer.
    Model(ModelError),
    /// Too many answers in a row did not fit the contract.
    Rejected,
}

/// The answers of a model on the way to a decision.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DecisionTrace {
    /// The rejected answers, oldest first, each with its violations.
    pub rejected: Vec<RejectedAnswer>,
    /// All answers, oldest first, with the attempts that each one took.
    pub responses: Vec<ChatResponse>,
    /// The usage of all answers together, as far as servers report it.
    pub usage: Usage,
}

impl DecisionTrace {
    fn add(&mut self, response: ChatResponse) {
        self.usage += response.usage.unwrap_or_default();
        self.responses.push(response);
    }
}

/// The error if the model did not decide and there is no rule.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DecideError {
    /// The reason why the model did not decide.
    pub why: DecideFailure,
    /// The answers of the model.
    pub story: DecisionTrace,
}

impl fmt::Display for DecideError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rejected = self.story.rejected.len();
        match (&self.why, self.story.rejected.last()) {
            (DecideFailure::Rejected, Some(last)) => {
                write!(
                    f,
                    "{rejected} answers in a row broke the contract; of the last one, {last}"
                )
            }
            (DecideFailure::Rejected, None) => f.write_str("no answer fits the contract"),
            (DecideFailure::Model(_), _) => {
                write!(
                    f,
                    "the model did not answer after {rejected} rejected answers"
                )
            }
        }
    }
}

impl Error for DecideError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.why {
            DecideFailure::Model(error) => Some(error),
            DecideFailure::Rejected => None,
        }
    }
}
