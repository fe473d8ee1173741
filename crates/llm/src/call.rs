use std::{error::Error, fmt, iter::successors, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Attempt, ChatModel, ChatModelExt as _, ChatRequest, ChatResponse, DecisionStyle, ModelError,
    ModelErrorKind, Profile, RejectedAnswer, ToolChoice, ToolSchema,
};

/// Sends a request until the model calls a function with arguments that `read` accepts.
///
/// A rejected call is appended to the history together with a correction, and the request is sent
/// again. The options limit the answers of all models together, retries and backups included, and
/// the time of each answer. A call that is written as text, in another form than the protocol's, is
/// read if possible. If it cannot be read, the request is not sent again: a model that does not use
/// the protocol does not learn it from a correction.
///
/// Each request leaves a [`CallTrace`], in the result or in the error. Its stage is the `stage` of
/// the request's metadata.
pub async fn call<M, T>(
    model: &M,
    request: ChatRequest,
    function: ToolSchema,
    options: CallOptions,
    read: impl Fn(&Value) -> Result<T, RejectedAnswer> + Send + Sync,
) -> Result<FunctionCallResult<T>, FunctionCallError>
where
    M: ChatModel + ?Sized,
{
    let stage = request.metadata.get("stage").cloned().unwrap_or_default();
    let name = function.name.clone();
    let choice = ToolChoice::Named(name.clone());
    let mut request = request.tools([function]).tool_choice(choice);
    let (mut traces, mut left) = (vec![], options.attempts);
    loop {
        let asked = options.ask(model, &request, left).await;
        let response = match asked {
            Ok(response) => response,
            Err(error) => {
                traces.push(CallTrace::failed(stage, model, &error));
                return Err(FunctionCallError { traces });
            }
        };
        left = left.saturating_sub(u32::try_from(response.attempts.len()).unwrap_or(1).max(1));
        let (style, call) = heard(&response, &name);
        let read = call.and_then(|arguments| read(&arguments));
        traces.push(CallTrace::answered(
            stage.clone(),
            &response,
            style,
            read.as_ref().err(),
        ));
        match read {
            Ok(value) => {
                return Ok(FunctionCallResult {
                    value,
                    style,
                    traces,
                });
            }
            Err(rejected) if left > 0 && style == DecisionStyle::Native => {
                request.messages.extend(rejected.messages());
            }
            Err(_) => return Err(FunctionCallError { traces }),
        }
    }
}

/// The limits of [`call`]: its attempts, and the time of each.
#[derive(smart_default::SmartDefault, Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallOptions {
    /// The greatest number of answers, counted over all models and all corrections; 3 by default.
    #[default(3)]
    pub attempts: u32,
    /// The time limit of one answer; 30 seconds by default. A model that has no timeout of its own
    /// is given up after this time multiplied by the attempts that are left.
    #[default(Duration::from_secs(30))]
    pub patience: Duration,
}

impl CallOptions {
    fugato_state::setters! {
        /// Sets the greatest number of answers; at least one.
        pub fn attempts(attempts: u32) { attempts = attempts.max(1) }

        /// Sets the time limit of one answer.
        pub fn patience(patience: Duration) { patience = patience }
    }

    async fn ask<M: ChatModel + ?Sized>(
        &self,
        model: &M,
        request: &ChatRequest,
        left: u32,
    ) -> Result<ChatResponse, ModelError> {
        let profile = Profile {
            timeout: Some(self.patience),
            attempts: Some(left),
            ..Profile::default()
        };
        let answer = model.complete(profile.apply(request.clone()));
        let late = |_| ModelError::new(ModelErrorKind::TimedOut, "no answer in time");
        let in_time = tokio::time::timeout(self.patience * left, answer).await;
        in_time.map_err(late)?
    }
}

/// A function call with arguments that were accepted.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FunctionCallResult<T> {
    /// The value that was read from the arguments.
    pub value: T,
    /// The form of the call; that of the protocol itself is [`DecisionStyle::Native`].
    pub style: DecisionStyle,
    /// The trace of every request, oldest first.
    pub traces: Vec<CallTrace>,
}

/// The error if no model called the function with arguments that were accepted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}", self.why())]
#[non_exhaustive]
pub struct FunctionCallError {
    /// The trace of every request, oldest first.
    pub traces: Vec<CallTrace>,
}

impl FunctionCallError {
    /// Returns the error of the last request with its causes, in one line.
    pub fn why(&self) -> &str {
        let last = self.traces.last().and_then(|trace| trace.error.as_deref());
        last.unwrap_or("nobody was asked")
    }
}

/// The record of one request to the models: its attempts and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CallTrace {
    /// The stage of the request, from its metadata; empty if there is none.
    pub stage: String,
    /// The attempts, oldest first: model, duration and failure of each.
    pub attempts: Vec<Attempt>,
    /// The outcome.
    pub outcome: CallOutcome,
    /// The error or the violations as text; `None` if the call was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The outcome of one request to the models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallOutcome {
    /// The first model called the function.
    MainSucceeded,
    /// The first model failed, and a backup called the function.
    BackupSucceeded,
    /// No model answered.
    AllFailed,
    /// The answer contains a call in another form than the protocol's, or something that looks like
    /// one.
    ForeignFormat,
    /// The answer contains no call.
    NoCall,
    /// The arguments of the call were rejected.
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
    fn failed<M: ChatModel + ?Sized>(stage: String, model: &M, error: &ModelError) -> Self {
        let mut attempts = error.attempts.clone();
        if attempts.is_empty() {
            // A model that reports no attempts made one.
            attempts.push(Attempt::failed(model.name(), Duration::ZERO, error));
        }
        let first: &(dyn Error + 'static) = error;
        let causes = successors(Some(first), |error| (**error).source());
        let told: Vec<_> = causes.map(ToString::to_string).collect();
        Self::new(
            stage,
            attempts,
            CallOutcome::AllFailed,
            Some(told.join(": ")),
        )
    }

    fn answered(
        stage: String,
        response: &ChatResponse,
        style: DecisionStyle,
        rejected: Option<&RejectedAnswer>,
    ) -> Self {
        let attempts = response.attempts.clone();
        let outcome = match (rejected, style) {
            (None, DecisionStyle::Native) => succeeded(&attempts),
            (Some(_), DecisionStyle::Native) => CallOutcome::Rejected,
            (Some(_), _) if !looks_foreign(response) => CallOutcome::NoCall,
            _ => CallOutcome::ForeignFormat,
        };
        Self::new(stage, attempts, outcome, rejected.map(ToString::to_string))
    }

    fn new(
        stage: String,
        attempts: Vec<Attempt>,
        outcome: CallOutcome,
        error: Option<String>,
    ) -> Self {
        tracing::debug!(
            target: "fugato.llm", stage, ?outcome, error,
            "function_asked_for"
        );
        Self {
            stage,
            attempts,
            outcome,
            error,
        }
    }
}

fn succeeded(attempts: &[Attempt]) -> CallOutcome {
    match (attempts.first(), attempts.last()) {
        (Some(first), Some(last)) if first.model != last.model => CallOutcome::BackupSucceeded,
        _ => CallOutcome::MainSucceeded,
    }
}

/// Returns the form of the function's call and its arguments: the protocol's own call, or one that
/// was written as text.
fn heard(response: &ChatResponse, name: &str) -> (DecisionStyle, Result<Value, RejectedAnswer>) {
    for style in [
        DecisionStyle::Native,
        DecisionStyle::Text,
        DecisionStyle::JsonAction,
    ] {
        let calls = style.read(response, "call_").map(|it| it.calls);
        let mut calls = calls.unwrap_or_default().into_iter();
        if let Some(call) = calls.find(|call| call.name == name) {
            return (style, Ok(call.arguments));
        }
    }
    let message = if looks_foreign(response) {
        format!("it is written as a call in another form than the protocol's; call {name}")
    } else {
        format!("it calls no function; call {name}")
    };
    let rejected = RejectedAnswer::sense(response.message.content.clone(), "", message);
    (DecisionStyle::Text, Err(rejected))
}

/// Returns true if an answer without a readable call contains calls of other functions or the marks
/// of a call.
fn looks_foreign(response: &ChatResponse) -> bool {
    const MARKS: [&str; 7] = [
        "tool_call",
        "function_call",
        "<function",
        "<invoke",
        "[TOOL_CALLS]",
        "\"arguments\"",
        "\"parameters\"",
    ];
    let text = &response.message.content;
    !response.message.tool_calls.is_empty() || MARKS.iter().any(|mark| text.contains(mark))
}
