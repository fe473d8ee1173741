//! Error responses: `{"error": {"type", "message"}}`.
use std::time::Duration;

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use fugato_graph::{AnswerError, RunError, RunErrorKind};
use fugato_state::{InterruptId, say};
use fugato_store::{StoreError, StoreErrorKind, is_away};
use fugato_stream::ResumeError;
use serde_json::{Map, Value, json};

use crate::{AccessDenied, BadInput, SendError, misfit};

/// An error response, with a status and a body as the agent's own endpoints send it. Handlers of
/// one's own return it too.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiError {
    pub(crate) status: StatusCode,
    /// A stable word for programs.
    pub(crate) kind: &'static str,
    /// The message for people: what is wrong, and what is allowed.
    pub(crate) message: String,
    more: Map<String, Value>,
    retry_after: Option<Duration>,
}

/// The kind of an error about what does not exist.
pub(crate) const NOT_FOUND: &str = "not_found";

pub(crate) type ApiResult<T = Response> = Result<T, ApiError>;

impl ApiError {
    /// A refusal with a stable word for programs, and a message that says what is allowed.
    pub fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            kind,
            message: message.into(),
            more: Map::new(),
            retry_after: None,
        }
    }

    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", message)
    }

    pub(crate) fn no_thread(name: &str) -> Self {
        let message = say!("there is no thread {name:?}", "没有线程 {name:?}");
        Self::new(StatusCode::NOT_FOUND, NOT_FOUND, message)
    }

    /// The error for a new thread whose name is taken, by whomever.
    pub(crate) fn exists(name: &str) -> Self {
        let message = say!("there is a thread {name:?} already", "已经有线程 {name:?}");
        Self::new(StatusCode::CONFLICT, "exists", message)
    }

    /// Returns the error for the client that named a thread by this name: one that is not theirs
    /// does not exist.
    pub(crate) fn about(self, name: &str) -> Self {
        if self.kind == NOT_FOUND {
            Self::no_thread(name)
        } else {
            self
        }
    }

    /// Something is used up, as the message says: 429 with this word, and with `Retry-After` if it
    /// comes back with time.
    pub fn too_many(
        kind: &'static str,
        message: impl Into<String>,
        wait: Option<Duration>,
    ) -> Self {
        let error = Self::new(StatusCode::TOO_MANY_REQUESTS, kind, message);
        match wait {
            Some(wait) => error.retry_after(wait),
            None => error,
        }
    }

    fugato_state::setters! {
        /// Sets the `Retry-After` header.
        pub(crate) fn retry_after(wait: Duration) { retry_after = Some(wait) }

        /// Adds a field to the body, after the type and the message.
        pub fn with(key: &str, value: impl Into<Value>) {
            more.insert(key.to_owned(), value.into())
        }
    }

    /// Returns the body: `{"error": {"type", "message", …}}`.
    pub fn body(&self) -> Value {
        let mut error = json!({ "type": self.kind, "message": self.message });
        if let Some(error) = error.as_object_mut() {
            error.extend(self.more.clone());
        }
        json!({ "error": error })
    }

    /// Logs an internal error for the operator; the client gets only the fact.
    fn internal(error: &(dyn std::error::Error + 'static)) -> Self {
        tracing::error!(error = %chain(error), "request failed");
        let message = say!(
            "the server failed; its log says why",
            "服务器出错了；原因在它的日志里"
        );
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body())).into_response();
        if let Some(wait) = self.retry_after {
            // Whole seconds, rounded up.
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            let headers = response.headers_mut();
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer");
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, scheme);
        }
        response
    }
}

impl From<RunError> for ApiError {
    fn from(error: RunError) -> Self {
        let said = error.kind.to_string();
        let conflict = |kind| Self::new(StatusCode::CONFLICT, kind, said.clone());
        match &error.kind {
            // Waiting is of no use, and the names of stores are the operator's.
            RunErrorKind::Busy { owner, until } if is_away(owner, *until) => {
                let message = say!(
                    "the thread is in another store, or on its way there",
                    "这个对话在另一个存储里，或者正在移过去"
                );
                Self::new(StatusCode::CONFLICT, "moved", message)
            }
            // Which process has the thread is the operator's.
            RunErrorKind::Busy { .. } => {
                let message = say!(
                    "a run of the thread is under way; send this again when it has ended, or with \
                     the header Idempotency-Key, which waits for that",
                    "线程正在运行；请等它结束后再发送，或者带上请求头 Idempotency-Key，它会等到结束"
                );
                let busy = Self::new(StatusCode::CONFLICT, "busy", message);
                busy.retry_after(Duration::from_secs(1))
            }
            RunErrorKind::Waiting { open } => conflict("waiting").with("open", names(open)),
            RunErrorKind::Unfinished => conflict("unfinished"),
            RunErrorKind::NothingToDo => conflict("nothing_to_do"),
            RunErrorKind::GraphChanged { .. } => conflict("graph_changed"),
            RunErrorKind::FailedBefore { .. } => conflict("failed_before"),
            RunErrorKind::Cancelled { .. } => conflict("cancelled"),
            RunErrorKind::HandedOver => closing(),
            RunErrorKind::RequestChanged { .. } => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "request_changed", said)
            }
            RunErrorKind::Answer(answer) => answer_error(answer, said),
            RunErrorKind::Store(kind) => store_error(kind, &error),
            RunErrorKind::Unsupported(_) => {
                Self::new(StatusCode::NOT_IMPLEMENTED, "unsupported", said)
            }
            RunErrorKind::Options(_) | RunErrorKind::Format | RunErrorKind::Migrate => {
                Self::internal(&error)
            }
            _ => {
                let message = chain(&error);
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "run_failed", message)
            }
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        RunError::from(error).into()
    }
}

impl From<AccessDenied> for ApiError {
    fn from(denied: AccessDenied) -> Self {
        let (status, kind) = if denied.known {
            (StatusCode::FORBIDDEN, "forbidden")
        } else {
            (StatusCode::UNAUTHORIZED, "unauthorized")
        };
        Self::new(status, kind, denied.to_string())
    }
}

impl From<BadInput> for ApiError {
    fn from(unusable: BadInput) -> Self {
        tracing::debug!(error = %chain(&unusable), "request rejected");
        Self::new(unusable.status, unusable.code, unusable.to_string())
    }
}

impl From<SendError> for ApiError {
    fn from(unsaid: SendError) -> Self {
        match unsaid {
            SendError::Unusable(unusable) => unusable.into(),
            SendError::Run(error) => error.into(),
        }
    }
}

/// For handlers of one's own: 422 with the message, or 403.
impl IntoResponse for BadInput {
    fn into_response(self) -> Response {
        ApiError::from(self).into_response()
    }
}

impl From<ResumeError> for ApiError {
    fn from(error: ResumeError) -> Self {
        match &error {
            ResumeError::Shape { source, .. } => {
                let what = misfit::of_json(source);
                Self::bad(say!("{error}: {what}", "{error}：{what}"))
            }
            _ => Self::bad(chain(&error)),
        }
    }
}

/// Returns the 503 of a server that shuts down and accepts no run.
pub(crate) fn closing() -> ApiError {
    let message = say!(
        "the server is about to end; the thread goes on elsewhere",
        "服务器即将停止；线程会在别处继续"
    );
    let error = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "closing", message);
    error.retry_after(Duration::from_secs(1))
}

fn answer_error(error: &AnswerError, said: String) -> ApiError {
    use AnswerError as Answer;
    let unprocessable = StatusCode::UNPROCESSABLE_ENTITY;
    let (status, kind) = match error {
        Answer::Unknown { .. } => (StatusCode::NOT_FOUND, "unknown_interrupt"),
        Answer::Expired { .. } => (StatusCode::CONFLICT, "expired"),
        Answer::Digest { .. } => (StatusCode::CONFLICT, "digest"),
        Answer::NothingAsked => (StatusCode::CONFLICT, "nothing_asked"),
        Answer::Schema { .. } => (unprocessable, "schema"),
        Answer::Bare { .. } => (unprocessable, "which_question"),
        Answer::Unbound { .. } => (unprocessable, "which_card"),
        _ => (unprocessable, "refused"),
    };
    // A word of an older form, which says whether the card is still open.
    let outcome = match error {
        Answer::Unknown { .. } | Answer::Expired { .. } | Answer::NothingAsked => "stale_resume",
        _ => "invalid_confirm_action",
    };
    let told = ApiError::new(status, kind, said).with("status", outcome);
    match error {
        Answer::Unknown { open, .. } | Answer::Bare { open } => told.with("open", names(open)),
        _ => told,
    }
}

fn store_error(kind: &StoreErrorKind, error: &RunError) -> ApiError {
    match kind {
        StoreErrorKind::NotFound => {
            let message = say!("there is no such thread or position", "没有这个线程或位置");
            ApiError::new(StatusCode::NOT_FOUND, NOT_FOUND, message)
        }
        StoreErrorKind::Compacted { base } => {
            let message = say!(
                "positions up to {base} were compacted away; later ones are there",
                "{base} 及以前的位置已压缩掉；以后的都在"
            );
            ApiError::new(StatusCode::GONE, "compacted", message).with("base", *base)
        }
        StoreErrorKind::TooLarge { bytes, limit } => {
            let message = say!(
                "{bytes} bytes are more than the allowed {limit}",
                "{bytes} 字节超过了允许的 {limit}"
            );
            ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
        }
        StoreErrorKind::Invalid(what) => ApiError::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "invalid_request",
            what.clone(),
        ),
        StoreErrorKind::Conflict { .. } | StoreErrorKind::LeaseLost => {
            let message = say!(
                "somebody else wrote the thread meanwhile",
                "期间有别人写了这个线程"
            );
            ApiError::new(StatusCode::CONFLICT, "conflict", message)
        }
        StoreErrorKind::Unavailable | StoreErrorKind::Full => {
            tracing::error!(error = %chain(error), "store is unavailable");
            let message = match kind {
                StoreErrorKind::Full => say!(
                    "the store has no room left; nothing of this was stored",
                    "存储没有空间了；这些都没有保存"
                ),
                _ => say!("the store does not answer", "存储没有响应"),
            };
            ApiError::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "store_unavailable",
                message,
            )
            .retry_after(Duration::from_secs(1))
        }
        StoreErrorKind::Unsupported => {
            let message = say!(
                "the store of this server has nothing for it",
                "这台服务器的存储不支持"
            );
            ApiError::new(StatusCode::NOT_IMPLEMENTED, "unsupported", message)
        }
        _ => ApiError::internal(error),
    }
}

fn names(open: &[InterruptId]) -> Value {
    open.iter().map(InterruptId::as_str).collect()
}

/// Formats an error with its causes in one line, without the name of the thread: the client knows
/// it by another name.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let first = error.downcast_ref::<RunError>();
    let mut text = first.map_or_else(|| error.to_string(), |run| run.kind.to_string());
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_store_is_told_apart_from_one_that_is_away() {
        let told = |kind| {
            let error = ApiError::from(StoreError::new(kind, "append"));
            (error.status, error.kind, error.message)
        };
        let (unavailable, kind) = (StatusCode::SERVICE_UNAVAILABLE, "store_unavailable");
        assert_eq!(
            told(StoreErrorKind::Full),
            (
                unavailable,
                kind,
                "the store has no room left; nothing of this was stored".to_owned()
            )
        );
        assert_eq!(
            told(StoreErrorKind::Unavailable),
            (unavailable, kind, "the store does not answer".to_owned())
        );
    }

    #[test]
    fn k31_a_thread_that_moved_is_not_asked_for_again_and_its_stores_are_not_named() {
        let busy = |until| {
            let owner = "move: /srv/old.db => /srv/new.db".to_owned();
            let busy = StoreErrorKind::Busy { owner, until };
            let refused = ApiError::from(StoreError::new(busy, "lease"));
            (refused.kind, refused.retry_after.is_some(), refused.message)
        };
        // The lease of a second in 2033, and one of a thousand years.
        let (kind, is_retried, _) = busy(2_000_000_000_000);
        assert_eq!((kind, is_retried), ("busy", true));
        let (kind, is_retried, message) = busy(33_000_000_000_000);
        assert_eq!((kind, is_retried), ("moved", false));
        assert!(!message.contains("/srv"), "{message}");
    }
}
