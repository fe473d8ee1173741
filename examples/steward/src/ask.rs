//! A question to the models that is answered by calling a function.
use std::time::Duration;

use fugato::{
    llm::{
        Attempt, ChatModel, ChatModelExt as _, ChatRequest, ChatResponse, DecisionStyle,
        ModelError, ModelErrorKind, Profile, Rejected, ToolChoice, ToolSchema,
    },
    state::ToolCall,
};
use serde_json::Value;

use crate::state::{CallOutcome, CallTrace, Source};

/// How often the models are asked, counted over all of them and all corrections.
const ATTEMPTS: u32 = 3;
/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What came of asking: the answer or why there is none, and what was asked.
#[derive(Debug)]
pub struct Asked<T> {
    /// What the function was called with, and in which form.
    pub answer: Result<(T, Source), String>,
    /// Every call of a model, oldest first.
    pub traces: Vec<CallTrace>,
}

impl<T> Asked<T> {
    /// Nobody was asked.
    pub fn nobody() -> Self {
        Self {
            answer: Err("there is no model".to_owned()),
            traces: vec![],
        }
    }
}

/// Asks until the function is called with what `read` takes. What does not fit is corrected; the
/// answers of all models together are at most three, each of them within ten seconds.
pub(crate) async fn by_call<T>(
    model: &dyn ChatModel,
    stage: &str,
    request: ChatRequest,
    function: ToolSchema,
    read: impl Fn(&Value) -> Result<T, Rejected> + Send + Sync,
) -> Asked<T> {
    let name = function.name.clone();
    let choice = ToolChoice::Named(name.clone());
    let mut request = request
        .tools([function])
        .tool_choice(choice)
        .metadata("stage", stage);
    let (mut traces, mut left) = (vec![], ATTEMPTS);
    loop {
        let profile = Profile {
            temperature: Some(0.0),
            timeout: Some(PATIENCE),
            attempts: Some(left),
            ..Profile::default()
        };
        let answered = within(left, model.complete(profile.apply(request.clone()))).await;
        let response = match answered {
            Ok(response) => response,
            Err(error) => {
                let attempts = attempts_of(model, &error);
                let why = told(&error);
                traces.push(trace(
                    stage,
                    attempts,
                    CallOutcome::AllFailed,
                    Some(why.clone()),
                ));
                return Asked {
                    answer: Err(why),
                    traces,
                };
            }
        };
        left = left.saturating_sub(u32::try_from(response.attempts.len()).unwrap_or(1).max(1));
        let attempts = response.attempts.clone();
        let (call, source) = call_of(&response, &name);
        let read = match call {
            Some(call) => read(&call.arguments),
            None => Err(no_call(&response, &name)),
        };
        match read {
            Ok(value) => {
                let outcome = success(&attempts, source);
                traces.push(trace(stage, attempts, outcome, None));
                return Asked {
                    answer: Ok((value, source)),
                    traces,
                };
            }
            Err(rejected) => {
                let why = rejected.to_string();
                let outcome = failure(&response, source);
                traces.push(trace(stage, attempts, outcome, Some(why.clone())));
                // Who does not speak the protocol's form of calls will not learn it here.
                if left == 0 || outcome != CallOutcome::Rejected {
                    return Asked {
                        answer: Err(why),
                        traces,
                    };
                }
                request.messages.extend(rejected.messages());
            }
        }
    }
}

/// A model that keeps no time itself is left after the time of all attempts.
async fn within(
    attempts: u32,
    answer: impl Future<Output = Result<ChatResponse, ModelError>>,
) -> Result<ChatResponse, ModelError> {
    let late = |_| {
        Err(ModelError::new(
            ModelErrorKind::TimedOut,
            "no answer in time",
        ))
    };
    tokio::time::timeout(PATIENCE * attempts, answer)
        .await
        .unwrap_or_else(late)
}

/// The call of the function: the protocol's own, or one that was written as text.
fn call_of(response: &ChatResponse, name: &str) -> (Option<ToolCall>, Source) {
    let named = |calls: Vec<ToolCall>| calls.into_iter().find(|call| call.name == name);
    let read = |style: DecisionStyle| {
        style
            .read(response, "call_")
            .ok()
            .and_then(|it| named(it.calls))
    };
    if let Some(call) = read(DecisionStyle::Native) {
        return (Some(call), Source::LlmFunctionCall);
    }
    let written = read(DecisionStyle::Text).or_else(|| read(DecisionStyle::JsonAction));
    (written, Source::LlmTextCall)
}

fn no_call(response: &ChatResponse, name: &str) -> Rejected {
    let message = if looks_foreign(response) {
        format!("it is written as a call in another form than the protocol's; call {name}")
    } else {
        format!("it calls no function; call {name}")
    };
    Rejected::sense(response.message.content.clone(), "", message)
}

/// Whether an answer without a call looks like one all the same.
fn looks_foreign(response: &ChatResponse) -> bool {
    let text = &response.message.content;
    let marks = [
        "tool_call",
        "function_call",
        "<function",
        "<invoke",
        "[TOOL_CALLS]",
        "\"arguments\"",
        "\"parameters\"",
    ];
    !response.message.tool_calls.is_empty() || marks.iter().any(|mark| text.contains(mark))
}

fn success(attempts: &[Attempt], source: Source) -> CallOutcome {
    if source == Source::LlmTextCall {
        return CallOutcome::ForeignFormat;
    }
    match (attempts.first(), attempts.last()) {
        (Some(first), Some(last)) if first.model != last.model => CallOutcome::BackupSucceeded,
        _ => CallOutcome::MainSucceeded,
    }
}

fn failure(response: &ChatResponse, source: Source) -> CallOutcome {
    if source == Source::LlmFunctionCall {
        CallOutcome::Rejected
    } else if looks_foreign(response) {
        CallOutcome::ForeignFormat
    } else {
        CallOutcome::NoCall
    }
}

fn trace(
    stage: &str,
    attempts: Vec<Attempt>,
    outcome: CallOutcome,
    error: Option<String>,
) -> CallTrace {
    tracing::debug!(stage, ?outcome, error, "{}", crate::log_key::MODEL_ASKED);
    CallTrace {
        stage: stage.to_owned(),
        attempts,
        outcome,
        error,
    }
}

/// A model that tells of no attempts has made one.
fn attempts_of(model: &dyn ChatModel, error: &ModelError) -> Vec<Attempt> {
    if error.attempts.is_empty() {
        return vec![Attempt::failed(model.name(), Duration::ZERO, error)];
    }
    error.attempts.clone()
}

/// An error with its causes, in one line.
fn told(error: &ModelError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
