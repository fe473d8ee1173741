//! The HTTP that the protocols have in common: requests, errors of servers, and bodies of answers.

use std::time::{Duration, SystemTime};

use fugato_llm::{
    AnswerDecoder, ApiKey, DeltaStream, ModelError, ModelErrorKind, RetryAdvice, read_answer,
    retry_after,
};
use futures::{StreamExt as _, stream};
use reqwest::{
    Client, RequestBuilder, Response,
    header::{CONTENT_TYPE, HeaderValue},
};
use serde_json::Value;

/// The number of characters that are kept of a server's message.
const MESSAGE_CHARS: usize = 500;
/// The number of bytes that are read of the body of a failure.
const BODY_BYTES: usize = 16 << 10;

/// Creates a client. TLS needs a provider of ciphers, which is `ring` unless the application has set
/// another.
pub(crate) fn client() -> Client {
    #[cfg(feature = "tls")]
    {
        // An error means that the application has set a provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    Client::new()
}

/// Returns the value of a header that carries a key.
pub(crate) fn secret(value: &str) -> Result<HeaderValue, ModelError> {
    let mut value = HeaderValue::from_str(value).map_err(|_| {
        ModelError::new(
            ModelErrorKind::Denied,
            "the key has characters that no header can hold",
        )
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// Sends a request with a time limit for the whole exchange.
pub(crate) async fn send(
    mut call: RequestBuilder,
    limit: Option<Duration>,
) -> Result<Response, ModelError> {
    if let Some(limit) = limit {
        call = call.timeout(limit);
    }
    call.send().await.map_err(|error| {
        let kind = if error.is_timeout() {
            ModelErrorKind::TimedOut
        } else if error.is_builder() {
            ModelErrorKind::BadRequest
        } else {
            ModelErrorKind::Unreachable
        };
        // An address can carry a secret in its query.
        ModelError::new(kind, "").caused_by(error.without_url())
    })
}

/// Returns a response with a success status; of any other the error that `classify` makes of its
/// status and its body.
pub(crate) async fn checked(
    mut response: Response,
    classify: impl FnOnce(u16, &Value) -> ModelError,
) -> Result<Response, ModelError> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
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
    let body = serde_json::from_slice(&body)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&body).into_owned()));
    let error = classify(status.as_u16(), body.get("error").unwrap_or(&body));
    Err(match (error.advice, pause) {
        (RetryAdvice::Now, Some(pause)) => error.advice(RetryAdvice::After(pause)),
        _ => error,
    })
}

/// Returns a text in an error as a server reports it; empty if there is none.
pub(crate) fn text<'e>(error: &'e Value, field: &str) -> &'e str {
    error.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the message of an error as a server reports it.
pub(crate) fn message(error: &Value) -> &str {
    error.as_str().unwrap_or_else(|| text(error, "message"))
}

/// Creates an error of this kind, with the status and the beginning of the server's message.
pub(crate) fn error(
    kind: ModelErrorKind,
    status: Option<u16>,
    message: &str,
    key: Option<&ApiKey>,
) -> ModelError {
    // The key is replaced before the text is cut, which could divide it.
    let message = key.map_or_else(|| message.to_owned(), |key| key.scrub(message));
    let short: String = message.trim().chars().take(MESSAGE_CHARS).collect();
    let context = match (status, short.is_empty()) {
        (Some(status), true) => format!("status {status}"),
        (Some(status), false) => format!("status {status}: {short}"),
        (None, _) => short,
    };
    ModelError::new(kind, context)
}

/// Returns the deltas of a successful response. Dropping the stream closes the connection.
pub(crate) fn deltas(
    response: Response,
    decoder: impl AnswerDecoder + Unpin + 'static,
) -> DeltaStream {
    let kind = response.headers().get(CONTENT_TYPE).cloned();
    let kind = kind.as_ref().and_then(|kind| kind.to_str().ok());
    let body = stream::unfold(response, |mut response| async {
        Some((piece(&mut response).await.transpose()?, response))
    });
    read_answer(body.boxed(), kind, decoder)
}

/// Returns the next piece of a body; `None` at its end.
pub(crate) async fn piece(
    response: &mut Response,
) -> Result<Option<impl AsRef<[u8]> + use<>>, ModelError> {
    response.chunk().await.map_err(|error| {
        let kind = if error.is_timeout() {
            ModelErrorKind::TimedOut
        } else {
            ModelErrorKind::CutOff
        };
        ModelError::new(kind, "").caused_by(error.without_url())
    })
}
