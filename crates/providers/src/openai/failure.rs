//! Conversion of the errors of a server to [`ModelError`].

use fugato_llm::{ApiKey, ModelError, ModelErrorKind, RetryAdvice};
use serde_json::Value;

use crate::http::{self, text};

/// Returns the error that a server put into the stream of an answer.
pub(super) fn of_frame(error: &Value, key: Option<&ApiKey>) -> ModelError {
    let code = error.get("code").or_else(|| error.get("status"));
    let status = code.and_then(|code| u16::try_from(code.as_u64()?).ok());
    let status = status.filter(|status| (100..1000).contains(status));
    classified(status, error, key)
}

/// Returns the error of a response with a failure status, or of a stream without one.
pub(super) fn classified(status: Option<u16>, error: &Value, key: Option<&ApiKey>) -> ModelError {
    let message = http::message(error);
    let code = format!("{} {}", text(error, "code"), text(error, "type"));
    let error = http::error(kind(status, &code, message), status, message, key);
    // Waiting does not refill an account.
    if code.contains("insufficient_quota") {
        error.advice(RetryAdvice::Never)
    } else {
        error
    }
}

fn kind(status: Option<u16>, code: &str, message: &str) -> ModelErrorKind {
    match status {
        Some(401 | 403) => ModelErrorKind::Denied,
        Some(402 | 429) => ModelErrorKind::RateLimited,
        Some(404) => ModelErrorKind::NotFound,
        Some(408) => ModelErrorKind::TimedOut,
        Some(413) => ModelErrorKind::TooLong,
        Some(400..500) if is_too_long(code, message) => ModelErrorKind::TooLong,
        Some(400..500 | 501) => ModelErrorKind::BadRequest,
        Some(500..) => ModelErrorKind::Unavailable,
        Some(_) => ModelErrorKind::Other,
        None => kind_by_words(code, message),
    }
}

fn kind_by_words(code: &str, message: &str) -> ModelErrorKind {
    let lower = code.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if is_too_long(code, message) {
        ModelErrorKind::TooLong
    } else if has(&["rate_limit", "too_many", "quota"]) {
        ModelErrorKind::RateLimited
    } else if has(&["auth", "permission", "api_key"]) {
        ModelErrorKind::Denied
    } else if has(&["not_found"]) {
        ModelErrorKind::NotFound
    } else if has(&["invalid_request", "bad_request"]) {
        ModelErrorKind::BadRequest
    } else {
        ModelErrorKind::Unavailable
    }
}

fn is_too_long(code: &str, message: &str) -> bool {
    let text = format!("{code} {message}").to_ascii_lowercase();
    [
        "context_length",
        "context length",
        "context size",
        "context_size",
        "context window",
    ]
    .iter()
    .any(|words| text.contains(words))
}
