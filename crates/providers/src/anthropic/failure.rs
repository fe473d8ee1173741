//! Conversion of the errors of a server to [`ModelError`].

use fugato_llm::{ApiKey, ModelError, ModelErrorKind};
use serde_json::Value;

use crate::http::{self, text};

/// Returns the error that a server reports, with the status of the response if it is not in the
/// stream of an answer.
pub(super) fn classified(status: Option<u16>, error: &Value, key: Option<&ApiKey>) -> ModelError {
    let message = http::message(error);
    let kind = kind(status, text(error, "type"), message);
    http::error(kind, status, message, key)
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
