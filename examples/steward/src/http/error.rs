//! What is answered when something cannot be done: a word for programs, and what is allowed.
use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use fugato::graph::{AnswerError, RunError, RunErrorKind};
use serde_json::{Map, Value, json};

use crate::{clerk::ClerkError, ledger::LedgerError};

pub(super) type Served<T> = Result<T, HttpError>;

/// A refusal.
#[derive(Debug)]
pub(super) struct HttpError {
    status: StatusCode,
    kind: &'static str,
    message: String,
    more: Map<String, Value>,
}

impl HttpError {
    pub(super) fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            kind,
            message: message.into(),
            more: Map::new(),
        }
    }

    pub(super) fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_request", message)
    }

    pub(super) fn tables(error: &LedgerError) -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "store_unavailable",
            error.to_string(),
        )
    }

    pub(super) fn body(&self) -> Value {
        let mut error = json!({ "type": self.kind, "message": self.message });
        if let Some(error) = error.as_object_mut() {
            error.extend(self.more.clone());
        }
        json!({ "error": error })
    }
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        (self.status, Json(self.body())).into_response()
    }
}

impl From<ClerkError> for HttpError {
    fn from(error: ClerkError) -> Self {
        let said = error.to_string();
        match error {
            ClerkError::Unusable(_) => Self::bad(said),
            ClerkError::Waiting { pending } => {
                let mut refused = Self::new(StatusCode::CONFLICT, "waiting", said);
                refused
                    .more
                    .insert("pending_interrupt".into(), json!(pending.first()));
                refused
            }
            ClerkError::SomebodyElses => Self::new(StatusCode::FORBIDDEN, "forbidden", said),
            ClerkError::Run(error) => run(&error),
            _ => Self::new(StatusCode::INTERNAL_SERVER_ERROR, "run_failed", said),
        }
    }
}

fn run(error: &RunError) -> HttpError {
    let said = error.kind.to_string();
    let conflict = |kind| HttpError::new(StatusCode::CONFLICT, kind, said.clone());
    match &error.kind {
        RunErrorKind::Busy { .. } => conflict("busy"),
        RunErrorKind::Unfinished => conflict("unfinished"),
        RunErrorKind::FailedBefore { .. } => conflict("failed_before"),
        RunErrorKind::Cancelled { .. } => conflict("cancelled"),
        RunErrorKind::RequestChanged { .. } => {
            HttpError::new(StatusCode::UNPROCESSABLE_ENTITY, "request_changed", said)
        }
        RunErrorKind::Answer(AnswerError::Unknown { .. }) => {
            HttpError::new(StatusCode::NOT_FOUND, "unknown_interrupt", said)
        }
        RunErrorKind::Answer(AnswerError::Digest { .. }) => conflict("digest"),
        RunErrorKind::Answer(AnswerError::NothingAsked) => conflict("nothing_asked"),
        RunErrorKind::Answer(_) => {
            HttpError::new(StatusCode::UNPROCESSABLE_ENTITY, "refused", said)
        }
        RunErrorKind::Store(_) => {
            HttpError::new(StatusCode::SERVICE_UNAVAILABLE, "store_unavailable", said)
        }
        _ => HttpError::new(StatusCode::INTERNAL_SERVER_ERROR, "run_failed", said),
    }
}
