use std::{error::Error, fmt};

use serde::de::DeserializeOwned;

use crate::{
    ChatModel, ChatModelExt as _, ChatRequest, ChatResponse, Contract, ModelError, Rejected, Usage,
};

/// Asks a model until its answer fits the contract.
///
/// An answer that does not fit is put into the history together with a correction that names what
/// was wrong and what is allowed, and the model is asked again: at most as often in a row as the
/// options say. After that, and when the model itself fails, the rule of the options decides, or
/// else the whole story is returned as an error.
///
/// A graph that keeps corrections in its state runs the same loop through its own edges, of these
/// parts: [`Contract::read`], [`Rejected::messages`] and a counter.
pub async fn decide<M, T>(
    model: &M,
    mut request: ChatRequest,
    contract: &Contract<T>,
    options: DecideOptions<T>,
) -> Result<Decided<T>, DecideError>
where
    M: ChatModel + ?Sized,
    T: DeserializeOwned,
{
    let mut story = Story::default();
    let why = loop {
        let response = match model.complete(request.clone()).await {
            Ok(response) => response,
            Err(error) => break Undecided::Model(error),
        };
        let raw = response.message.content.clone();
        story.add(response);
        match contract.read(&raw) {
            Ok(value) => {
                return Ok(Decided {
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
                    "{}", crate::log_key::MODEL_ANSWER_REJECTED
                );
                request.messages.extend(rejected.messages());
                story.rejected.push(rejected);
            }
        }
        if story.rejected.len() >= options.failures {
            break Undecided::Rejected;
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
        "{}", crate::log_key::DECIDED_BY_RULE
    );
    let value = rule(&error);
    let story = error.story.clone();
    Ok(Decided {
        value,
        by: DecidedBy::Rule(error.why),
        story,
    })
}

/// How [`decide`] goes on when an answer does not fit.
pub struct DecideOptions<T> {
    failures: usize,
    rule: Option<Rule<T>>,
}

type Rule<T> = Box<dyn FnOnce(&DecideError) -> T + Send>;

impl<T> DecideOptions<T> {
    /// How many answers in a row may be rejected before the rule decides; at least one, 3 by default.
    #[must_use]
    pub fn failures(mut self, failures: usize) -> Self {
        self.failures = failures.max(1);
        self
    }

    /// Decides in place of the model, and is told why.
    #[must_use]
    pub fn or_rule(mut self, rule: impl FnOnce(&DecideError) -> T + Send + 'static) -> Self {
        self.rule = Some(Box::new(rule));
        self
    }
}

impl<T> Default for DecideOptions<T> {
    fn default() -> Self {
        Self {
            failures: 3,
            rule: None,
        }
    }
}

impl<T> fmt::Debug for DecideOptions<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecideOptions")
            .field("failures", &self.failures)
            .field("rule", &self.rule.is_some())
            .finish()
    }
}

/// A decision that fits its contract, and how it came about.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Decided<T> {
    /// The decision.
    pub value: T,
    /// Who decided.
    pub by: DecidedBy,
    /// What was said before.
    pub story: Story,
}

/// Who decided.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum DecidedBy {
    /// The model.
    Model,
    /// The rule, and why the model did not.
    Rule(Undecided),
}

/// Why a model did not decide.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Undecided {
    /// It did not answer.
    Model(ModelError),
    /// Too many answers in a row did not fit the contract.
    Rejected,
}

/// What a model said on the way to a decision.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Story {
    /// The answers that did not fit, oldest first, and why.
    pub rejected: Vec<Rejected>,
    /// All answers, oldest first, with the attempts that each one took.
    pub responses: Vec<ChatResponse>,
    /// What all answers cost together, as far as servers told.
    pub usage: Usage,
}

impl Story {
    fn add(&mut self, response: ChatResponse) {
        self.usage += response.usage.unwrap_or_default();
        self.responses.push(response);
    }
}

/// Neither the model nor a rule decided.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DecideError {
    /// Why the model did not decide.
    pub why: Undecided,
    /// What was said before.
    pub story: Story,
}

impl fmt::Display for DecideError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rejected = self.story.rejected.len();
        match (&self.why, self.story.rejected.last()) {
            (Undecided::Rejected, Some(last)) => {
                write!(
                    f,
                    "{rejected} answers in a row broke the contract; of the last one, {last}"
                )
            }
            (Undecided::Rejected, None) => f.write_str("no answer fits the contract"),
            (Undecided::Model(_), _) => {
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
            Undecided::Model(error) => Some(error),
            Undecided::Rejected => None,
        }
    }
}
