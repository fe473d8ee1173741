//! The call of a function in an answer: the protocol's own, or one that was written as text.
use serde_json::Value;

use super::DecisionSource;
use fugato_state::say;

use crate::{ChatResponse, DecisionStyle, RejectedAnswer};

/// Returns the form of the function's call and its arguments.
pub(super) fn call(
    response: &ChatResponse,
    name: &str,
) -> (DecisionSource, Result<Value, RejectedAnswer>) {
    for (style, source) in [
        (DecisionStyle::Native, DecisionSource::LlmFunctionCall),
        (DecisionStyle::Text, DecisionSource::LlmTextCall),
        (DecisionStyle::JsonAction, DecisionSource::LlmTextCall),
    ] {
        let calls = style.read(response, "call_").map(|it| it.calls);
        let mut calls = calls.unwrap_or_default().into_iter();
        if let Some(call) = calls.find(|call| call.name == name) {
            return (source, Ok(call.arguments));
        }
    }
    let message = if looks_foreign(response) {
        say!(
            "it is written as a call in another form than the protocol's; call {name}",
            "它写成了协议之外的调用形式；请调用 {name}"
        )
    } else {
        say!(
            "it calls no function; call {name}",
            "它没有调用函数；请调用 {name}"
        )
    };
    let rejected = RejectedAnswer::sense(response.message.content.clone(), "", message);
    (DecisionSource::LlmTextCall, Err(rejected))
}

/// Returns true if an answer without a readable call contains calls of other functions or the marks
/// of a call.
pub(super) fn looks_foreign(response: &ChatResponse) -> bool {
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
