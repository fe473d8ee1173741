//! The five endpoints, beside those that all agents have.
mod body;
mod stream;

use std::sync::Arc;

use axum::{
    Extension, Json, Router,
    extract::{State, rejection::JsonRejection},
    http::StatusCode,
    routing::{get, post},
};
use fugato::axum::{ApiError, Caller};
use serde_json::{Value, json};

use crate::{
    clerk::{Clerk, ClerkError},
    served::employee,
};

use body::{Asked, Body, asked};

/// The endpoints under `/steward`, for [`AgentRoutes::beside`](fugato::axum::AgentRoutes::beside).
pub fn routes(clerk: Clerk) -> Router {
    Router::new()
        .route("/steward/plans", post(plans))
        .route("/steward/plans/stream", post(stream::plans))
        .route("/steward/slot-decisions", post(slots))
        .route("/steward/runtime-decisions", post(decide))
        .route("/steward/actions/execute", post(execute))
        .route("/steward/documents", get(documents))
        .with_state(Arc::new(clerk))
}

type Front = State<Arc<Clerk>>;
/// Whoever asks has been asked who they are.
type Who = Extension<Caller>;
type Sent = Result<Json<Body>, JsonRejection>;
type Served<T = Json<Value>> = Result<T, ApiError>;

async fn plans(State(clerk): Front, Extension(caller): Who, sent: Sent) -> Served {
    answered(&clerk, asked(&clerk, &caller, sent, Body::plan)?).await
}

async fn slots(State(clerk): Front, Extension(caller): Who, sent: Sent) -> Served {
    answered(&clerk, asked(&clerk, &caller, sent, Body::slots)?).await
}

async fn decide(State(clerk): Front, Extension(caller): Who, sent: Sent) -> Served {
    answered(&clerk, asked(&clerk, &caller, sent, Body::decide)?).await
}

async fn execute(State(clerk): Front, Extension(caller): Who, sent: Sent) -> Served {
    answered(&clerk, asked(&clerk, &caller, sent, Body::execute)?).await
}

async fn answered(clerk: &Clerk, asked: Asked) -> Served {
    let (request, said) = (asked.request, asked.confirmation);
    let answer = clerk.execute(asked.runtime, &asked.thread, request, said);
    Ok(Json(answer.await?))
}

/// The applications and claims of whoever asks.
async fn documents(State(clerk): Front, Extension(caller): Who) -> Served {
    let read = clerk.deps().ledger.documents(&employee(&caller)).await;
    let unread = |error: crate::ledger::LedgerError| {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        ApiError::new(status, "store_unavailable", error.to_string())
    };
    Ok(Json(json!(read.map_err(unread)?)))
}

fn bad(message: impl Into<String>) -> ApiError {
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_request", message)
}

impl From<ClerkError> for ApiError {
    fn from(error: ClerkError) -> Self {
        let said = error.to_string();
        match error {
            ClerkError::Unusable(_) => bad(said),
            ClerkError::Waiting { pending } => Self::new(StatusCode::CONFLICT, "waiting", said)
                .with("pending_interrupt", json!(pending.first())),
            ClerkError::SomebodyElses => Self::new(StatusCode::FORBIDDEN, "forbidden", said),
            ClerkError::Run(error) => error.into(),
            _ => Self::new(StatusCode::INTERNAL_SERVER_ERROR, "run_failed", said),
        }
    }
}
