//! The five endpoints, beside those that all agents have.
mod body;
mod error;
mod stream;

use std::sync::Arc;

use axum::{
    Extension, Json, Router,
    extract::State,
    routing::{get, post},
};
use fugato::{axum::Caller, state::ThreadId};
use serde_json::{Value, json};

use crate::{
    clerk::{Clerk, Confirmation},
    served::employee,
    state::{RequestKind, Runtime},
};

use body::{Asked, read};
use error::{HttpError, Served};

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
type Sent = Result<Json<Value>, axum::extract::rejection::JsonRejection>;

async fn plans(State(clerk): Front, Extension(caller): Who, sent: Sent) -> Served<Json<Value>> {
    let asked = read(&clerk, &caller, sent)?;
    said(&asked)?;
    answered(&clerk, asked, RequestKind::Plan).await
}

async fn slots(State(clerk): Front, Extension(caller): Who, sent: Sent) -> Served<Json<Value>> {
    let asked = read(&clerk, &caller, sent)?;
    let form = asked.form;
    answered(&clerk, asked, RequestKind::Slots { form }).await
}

async fn decide(State(clerk): Front, Extension(caller): Who, sent: Sent) -> Served<Json<Value>> {
    let asked = read(&clerk, &caller, sent)?;
    said(&asked)?;
    answered(&clerk, asked, RequestKind::Decide).await
}

async fn execute(State(clerk): Front, Extension(caller): Who, sent: Sent) -> Served<Json<Value>> {
    let mut asked = read(&clerk, &caller, sent)?;
    let action = asked
        .action
        .take()
        .ok_or_else(|| HttpError::bad("\"action\" must name the action"))?;
    let confirmation: Option<Confirmation> = asked.confirmation.take();
    let kind = RequestKind::Execute {
        action,
        arguments: std::mem::take(&mut asked.arguments),
        precheck_ref: asked.precheck_ref.take(),
    };
    let (thread, runtime, request) = asked.request(kind);
    Ok(Json(
        clerk
            .execute(runtime, &thread, request, confirmation)
            .await?,
    ))
}

/// The applications and claims of whoever asks.
async fn documents(State(clerk): Front, Extension(caller): Who) -> Served<Json<Value>> {
    let read = clerk.deps().ledger.documents(&employee(&caller)).await;
    Ok(Json(json!(
        read.map_err(|error| HttpError::tables(&error))?
    )))
}

async fn answered(clerk: &Clerk, asked: Asked, kind: RequestKind) -> Served<Json<Value>> {
    let (thread, runtime, request) = asked.request(kind);
    Ok(Json(clerk.request_on(runtime, &thread, request).await?))
}

fn said(asked: &Asked) -> Served<()> {
    if asked.message.trim().is_empty() {
        return Err(HttpError::bad("\"message\" must say what is wanted"));
    }
    Ok(())
}

/// The conversation of a tenant: what belongs to one does not exist for another.
fn thread_of(caller: &Caller, conversation: &str) -> Served<ThreadId> {
    let tenant = caller.tenant.as_str();
    let name = if tenant.is_empty() {
        conversation.to_owned()
    } else {
        format!("{tenant}/{conversation}")
    };
    ThreadId::new(name).map_err(|error| HttpError::bad(format!("\"conversation_id\": {error}")))
}

/// Which path a request is carried out on: one request can choose, before all do.
fn path(clerk: &Clerk, asked: Option<&str>) -> Served<Runtime> {
    match asked {
        None => Ok(clerk.runtime()),
        Some(name) => name
            .parse()
            .map_err(|_| HttpError::bad("\"runtime\" must be graph, langgraph or legacy")),
    }
}
