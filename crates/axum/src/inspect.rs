//! Inspection of a thread: its records, and its state at any position.
use std::sync::Arc;

use axum::{Json, extract::State};
use fugato_state::Seq;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    Caller, ThreadAccess,
    app_state::AppState,
    body::{PathInput, QueryInput},
    error::ApiResult,
};

/// The number of records in a page of history, unless the client sets a limit.
const READ: usize = 100;
/// The largest number of records in a page of history.
const MOST: usize = 1000;

#[derive(Deserialize)]
pub(crate) struct Window {
    from: Option<Seq>,
    limit: Option<usize>,
}

/// `GET /threads/{id}/history?from=seq&limit=n`: the records, and the position of the next page.
pub(crate) async fn history(
    State(app_state): State<Arc<AppState>>,
    PathInput(name): PathInput,
    QueryInput(window): QueryInput<Window>,
    caller: Caller,
) -> ApiResult<Json<Value>> {
    let to = app_state.find(&caller, &name, ThreadAccess::Read).await?;
    let head = app_state.must_exist(&to).await?;
    app_state.must_see_all(&caller)?;
    let limit = window.limit.unwrap_or(READ).clamp(1, MOST);
    // Compacted records cannot be read; without a position, the first that is left is meant.
    let base = app_state.agent.log().head(&to.thread).await?;
    let base = base.map_or(0, |head| head.base);
    let from = window.from.unwrap_or(base + 1).max(1);
    let entries = app_state.agent.history(&to.thread, from, limit).await?;
    let next = entries.last().map(|entry| entry.seq + 1);
    let next = next.filter(|next| *next <= head);
    let entries: Vec<Value> = entries
        .into_iter()
        .map(|entry| {
            json!({
                "seq": entry.seq,
                "at": entry.at,
                "run": entry.run,
                "scope": entry.scope,
                "checkpoint": entry.is_checkpoint(),
                "fact": entry.stored(),
            })
        })
        .collect();
    Ok(Json(
        json!({ "head": head, "entries": entries, "next": next }),
    ))
}

#[derive(Deserialize)]
pub(crate) struct Position {
    at: Option<Seq>,
}

/// `GET /threads/{id}/state?at=seq`.
pub(crate) async fn state(
    State(app_state): State<Arc<AppState>>,
    PathInput(name): PathInput,
    QueryInput(position): QueryInput<Position>,
    caller: Caller,
) -> ApiResult<Json<Value>> {
    let to = app_state.find(&caller, &name, ThreadAccess::Read).await?;
    let head = app_state.must_exist(&to).await?;
    app_state.must_see_all(&caller)?;
    let at = position.at.unwrap_or(head);
    let state = app_state.agent.state(&to.thread, at).await?;
    Ok(Json(json!({ "seq": at, "state": state })))
}

/// `GET /graph`.
pub(crate) async fn graph(
    State(app_state): State<Arc<AppState>>,
    caller: Caller,
) -> ApiResult<Json<Value>> {
    app_state.must_see_all(&caller)?;
    Ok(Json(app_state.agent.graph()))
}
