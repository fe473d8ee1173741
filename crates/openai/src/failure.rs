//! Conversion of the errors of a server to [`ModelError`].

use std::time::SystemTime;

use fugato_llm::{ApiKey, ModelError, ModelErrorKind, RetryAdvice, retry_after};
use reqwest::{Response, StatusCode};
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
    let timed_out = error.is_timeout();
    let kind = if timed_out {
        ModelErrorKind::TimedOut
    } else {
        ModelErrorKind::CutOff
    };
    ModelError::new(kind, "").caused_by(error.without_url())
}

/// Returns the error of a response with a failure status.
pub(crate) async fn of_status(mut response: Response, key: Option<&ApiKey>) -> ModelError {
    let status = response.status();
    let header = |name: &str| response.headers().get(name)?.to_str().ok();
    let pause = retry_after(header, SystemTime::now());
    let mut body = vec![];
    while let Ok(Some(bytes)) = response.chunk().await {
        let room = BODY_BYTES.saturating_sub(body.len());
        body.extend_from_slice(bytes.get(..room).unwrap_or(&bytes));
        if body.len() >= BODY_BYTES {
            break;
        }
    }
    let told = match serde_json::from_slice::<Value>(&body) {
        Ok(body) => ErrorBody::of(body.get("error").unwrap_or(&body)),
        Err(_) => ErrorBody {
            message: String::from_utf8_lossy(&body).into_owned(),
            code: String::new(),
        },
    };
    let error = told.classify(Some(status), key);
    match (error.advice, pause) {
        (RetryAdvice::Now, Some(pause)) => error.advice(RetryAdvice::After(pause)),
        _ => error,
    }
}

/// Returns the error that a server put into the stream of an answer.
pub(crate) fn of_frame(error: &Value, key: Option<&ApiKey>) -> ModelError {
    let code = error
        .get("code")
        .or_else(|| error.get("status"))
        .and_then(Value::as_u64);
    let status = code.and_then(|code| StatusCode::from_u16(u16::try_from(code).ok()?).ok());
    ErrorBody::of(error).classify(status, key)
}

/// The message and the codes of a failure, as the server reports them.
struct ErrorBody {
    message: String,
    code: String,
}

impl ErrorBody {
    fn of(error: &Value) -> Self {
        let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
        let message = error.as_str().unwrap_or_else(|| text("message")).to_owned();
        Self {
            message,
            code: format!("{} {}", text("code"), text("type")),
        }
    }

    fn classify(&self, status: Option<StatusCode>, key: Option<&ApiKey>) -> ModelError {
        let kind = self.kind(status.map(|status| status.as_u16()));
        // The key is replaced before the text is cut, which could divide it.
        let scrubbed = key.map(|key| key.scrub(&self.message));
        let message = scrubbed.as_deref().unwrap_or(&self.message).trim();
        let said: String = message.chars().take(MESSAGE_CHARS).collect();
        let context = match (status, said.is_empty()) {
            (Some(status), true) => format!("status {}", status.as_u16()),
            (Some(status), false) => format!("status {}: {said}", status.as_u16()),
            (None, _) => said,
        };
        let error = ModelError::new(kind, context);
        // Waiting does not refill an account.
        if self.code.contains("insufficient_quota") {
            error.advice(RetryAdvice::Never)
        } else {
            error
        }
    }

    fn kind(&self, status: Option<u16>) -> ModelErrorKind {
        match status {
            Some(401 | 403) => ModelErrorKind::Denied,
            Some(402 | 429) => ModelErrorKind::RateLimited,
            Some(404) => ModelErrorKind::NotFound,
            Some(408) => ModelErrorKind::TimedOut,
            Some(413) => ModelErrorKind::TooLong,
            Some(400..500) if self.is_too_long() => ModelErrorKind::TooLong,
            Some(400..500 | 501) => ModelErrorKind::BadRequest,
            Some(500..) => ModelErrorKind::Unavailable,
            Some(_) => ModelErrorKind::Other,
            None => self.kind_by_words(),
        }
    }

    fn kind_by_words(&self) -> ModelErrorKind {
        let code = self.code.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| code.contains(word));
        if self.is_too_long() {
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

    fn is_too_long(&self) -> bool {
        let text = format!("{} {}", self.code, self.message).to_ascii_lowercase();
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
}
