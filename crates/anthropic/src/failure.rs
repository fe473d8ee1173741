//! Conversion of the errors of a server to [`ModelError`].

use std::time::SystemTime;

use fugato_llm::{ApiKey, ModelError, ModelErrorKind, RetryAdvice, retry_after};
use reqwest::Response;
use serde_json::Value;

/// The number of characters that are kept of a server's message.
const MESSAGE_CHARS: usize = 500;
/// The number of bytes that are read of the body of a failure.
const BODY_BYTES: usize = 16 << 10;

/// Returns the error of a request without a response.
pub(crate) fn of_request(error: reqwest::Error) -> ModelError {
    let kind = if error.is_timeout() {
        ModelErrorKind::TimedOut
    } else if error.is_builder() {
        ModelErrorKind::BadRequest
    } else {
        ModelErrorKind::Unreachable
    };
    // An address can carry a secret in its query.
    ModelError::new(kind, "").caused_by(error.without_url())
}

/// Returns the error of an answer that broke off.
pub(crate) fn of_body(error: reqwest::Error) -> ModelError {
    let kind = if error.is_timeout() {
        ModelErrorKind::TimedOut
    } else {
        ModelErrorKind::CutOff
    };
    ModelError::new(kind, "").caused_by(error.without_url())
}

/// Returns the error of a response with a failure status.
pub(crate) async fn of_status(mut response: Response, key: Option<&ApiKey>) -> ModelError {
    let status = response.status().as_u16();
    let header = |name: &str| response.headers().get(name)?.to_str().ok();
    let pause = retry_after(header, SystemTime::now());
    let hopeless = header("x-should-retry") == Some("false");
    let mut body = vec![];
    while let Ok(Some(bytes)) = response.chunk().await {
        let room = BODY_BYTES.saturating_sub(body.len());
        body.extend_from_slice(bytes.get(..room).unwrap_or(&bytes));
        if body.len() >= BODY_BYTES {
            break;
        }
    }
    let (name, message) = match serde_json::from_slice::<Value>(&body) {
        Ok(body) => said(body.get("error").unwrap_or(&body)),
        Err(_) => (String::new(), String::from_utf8_lossy(&body).into_owned()),
    };
    let error = classify(Some(status), &name, &message, key);
    match (error.advice, pause) {
        _ if hopeless => error.advice(RetryAdvice::Never),
        (RetryAdvice::Now, Some(pause)) => error.advice(RetryAdvice::After(pause)),
        _ => error,
    }
}

/// Returns the error that a server put into the stream of an answer.
pub(crate) fn of_event(error: &Value, key: Option<&ApiKey>) -> ModelError {
    let (name, message) = said(error);
    classify(None, &name, &message, key)
}

fn said(error: &Value) -> (String, String) {
    let text = |field: &str| error.get(field).and_then(Value::as_str).unwrap_or_default();
    let message = error.as_str().unwrap_or_else(|| text("message"));
    (text("type").to_owned(), message.to_owned())
}

fn classify(status: Option<u16>, name: &str, message: &str, key: Option<&ApiKey>) -> ModelError {
    // The key is replaced before the text is cut, which could divide it.
    let message = key.map_or_else(|| message.to_owned(), |key| key.scrub(message));
    let short: String = message.trim().chars().take(MESSAGE_CHARS).collect();
    let context = match (status, short.is_empty()) {
        (Some(status), true) => format!("status {status}"),
        (Some(status), false) => format!("status {status}: {short}"),
        (None, _) => short,
    };
    ModelError::new(kind(status, name, &message), context)
}

/// Returns the kind of an error. The name is more precise than the status, which a stream does not
/// have.
fn kind(status: Option<u16>, name: &str, message: &str) -> ModelErrorKind {
    match (name, status) {
        ("invalid_request_error" | "", Some(400)) | ("invalid_request_error", None)
            if is_too_long(message) =>
        {
            ModelErrorKind::TooLong
        }
        ("request_too_large", _) | (_, Some(413)) => ModelErrorKind::TooLong,
        ("invalid_request_error", _) => ModelErrorKind::BadRequest,
        ("authentication_error" | "permission_error" | "billing_error", _)
        | (_, Some(401..=403)) => ModelErrorKind::Denied,
        ("not_found_error", _) | (_, Some(404)) => ModelErrorKind::NotFound,
        ("rate_limit_error", _) | (_, Some(429)) => ModelErrorKind::RateLimited,
        ("timeout_error", _) | (_, Some(408 | 504)) => ModelErrorKind::TimedOut,
        ("overloaded_error" | "api_error", _) | (_, Some(500..) | None) => {
            ModelErrorKind::Unavailable
        }
        (_, Some(400..500)) => ModelErrorKind::BadRequest,
        _ => ModelErrorKind::Other,
    }
}

fn is_too_long(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    [
        "prompt is too long",
        "context window",
        "context limit",
        "context_length",
    ]
    .iter()
    .any(|words| message.contains(words))
}
