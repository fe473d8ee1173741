use std::fmt;

use serde::{Deserialize, Serialize};

use super::{DecisionSource, Settlement, function::looks_foreign};
use crate::{Attempt, ChatResponse, ModelError};

/// The record of one request to the models: its attempts and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CallTrace {
    /// The stage of the request.
    pub stage: String,
    /// The attempts, oldest first: model, duration and failure of each.
    pub attempts: Vec<Attempt>,
    /// The outcome.
    pub outcome: CallOutcome,
    /// The error or the violations as text; `None` if the answer was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The outcome of one request to the models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallOutcome {
    /// The answer of the first model was accepted.
    MainSucceeded,
    /// The first model failed, and the answer of a backup was accepted.
    BackupSucceeded,
    /// No model answered.
    AllFailed,
    /// The answer contains a call in another form than the protocol's, or something that looks like
    /// one.
    ForeignFormat,
    /// The answer contains no call.
    NoCall,
    /// The answer, or the arguments of its call, were rejected.
    Rejected,
}

impl CallOutcome {
    /// Returns the outcome in one word, the same as when serialised.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MainSucceeded => "main_succeeded",
            Self::BackupSucceeded => "backup_succeeded",
            Self::AllFailed => "all_failed",
            Self::ForeignFormat => "foreign_format",
            Self::NoCall => "no_call",
            Self::Rejected => "rejected",
        }
    }
}

impl fmt::Display for CallTrace {
    /// Writes the stage and the outcome, and below them each attempt on a line of its own:
    /// `plan: backup_succeeded`, `  main rate_limited after 80 ms`,
    /// `  backup answered after 120 ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.stage, self.outcome.as_str())?;
        for attempt in &self.attempts {
            let failure = attempt.failure.as_ref();
            let how = failure.map_or("answered", |failure| failure.kind.as_str());
            let took = attempt.took.as_millis();
            write!(f, "\n  {} {how} after {took} ms", attempt.model)?;
        }
        Ok(())
    }
}

impl CallTrace {
    /// Returns the record of a request, and of what came of its answer.
    pub(super) fn new<T>(
        stage: &str,
        answer: &Result<ChatResponse, ModelError>,
        (source, settled): (DecisionSource, &Settlement<T>),
    ) -> Self {
        let error = match settled {
            Settlement::Decided(_) => None,
            Settlement::Again(rejected) => Some(rejected.to_string()),
            Settlement::Failed(why) => Some(why.reason()),
        };
        let (attempts, outcome) = match answer {
            Ok(response) => {
                let attempts = response.attempts.clone();
                let outcome = outcome(response, source, error.is_some());
                (attempts, outcome)
            }
            Err(error) => (error.attempts.clone(), CallOutcome::AllFailed),
        };
        Self {
            stage: stage.to_owned(),
            attempts,
            outcome,
            error,
        }
    }
}

fn outcome(response: &ChatResponse, source: DecisionSource, is_rejected: bool) -> CallOutcome {
    if source == DecisionSource::LlmTextCall {
        return if is_rejected && !looks_foreign(response) {
            CallOutcome::NoCall
        } else {
            CallOutcome::ForeignFormat
        };
    }
    let attempts = &response.attempts;
    match (attempts.first(), attempts.last()) {
        _ if is_rejected => CallOutcome::Rejected,
        (Some(first), Some(last)) if first.model != last.model => CallOutcome::BackupSucceeded,
        _ => CallOutcome::MainSucceeded,
    }
}
