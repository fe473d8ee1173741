//! Threads as a whole: list, view, removal and fork.
use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use fugato_graph::ThreadStatus;
use fugato_state::{Seq, say};
use fugato_store::{Head, Status, ThreadAdmin, ThreadFilter, ThreadSummary};
use fugato_stream::Redaction;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    Caller, ThreadAccess,
    address::{Address, prefix},
    app_state::AppState,
    body::{JsonBody, PathInput, QueryInput},
    error::{ApiError, ApiResult},
    incoming,
    timeline::reader::{TimelineEntry, redacted},
};

/// The number of threads in a page of the list, unless the client sets a limit.
const LISTED: usize = 50;
/// The largest number of threads in a page of the list.
const MOST: usize = 200;
/// The number of times that a thread is read again which changes while it is read.
const AGAIN: usize = 4;

#[derive(Deserialize)]
pub(crate) struct Page {
    after: Option<String>,
    limit: Option<usize>,
}

/// `GET /threads?after=name&limit=n`: the threads that the caller may read, and the name after
/// which the next page begins.
pub(crate) async fn list(
    State(app_state): State<Arc<AppState>>,
    QueryInput(page): QueryInput<Page>,
    caller: Caller,
) -> ApiResult<Json<Value>> {
    let mut filter = ThreadFilter::default();
    filter.prefix = prefix(&caller);
    filter.limit = page.limit.unwrap_or(LISTED).clamp(1, MOST);
    filter.after = match &page.after {
        Some(name) => Some(Address::new(&caller, name)?.thread),
        None => None,
    };
    let (prefix, limit) = (filter.prefix.len(), filter.limit);
    let (mut threads, mut next) = (vec![], None);
    // The page is full of what the caller may read, so that the next one begins after a name which
    // is theirs.
    while threads.len() < limit {
        let found = admin(&app_state)?.list(filter.clone()).await?;
        filter.after = found.last().map(|last| last.thread.clone());
        let is_last = found.len() < limit;
        for summary in found {
            let name = summary.thread.as_str().get(prefix..).unwrap_or_default();
            let read = app_state.find(&caller, name, ThreadAccess::Read).await;
            if read.is_ok() && threads.len() < limit {
                threads.push(line(&app_state, &summary, name).await);
                next = (threads.len() == limit).then(|| name.to_owned());
            }
        }
        if is_last {
            break;
        }
    }
    Ok(Json(json!({ "threads": threads, "next": next })))
}

/// Returns the list entry of a thread. One that cannot be read has no title, so that it can still
/// be removed.
async fn line(app_state: &AppState, summary: &ThreadSummary, name: &str) -> Value {
    let title = app_state.agent.title(&summary.thread, summary.head).await;
    let title = title.inspect_err(|error| tracing::warn!(%error, "thread cannot be read"));
    let status = status(&summary.status, app_state.agent.is_live(&summary.thread));
    json!({
        "thread": name,
        "head": summary.head,
        "status": status,
        "title": title.ok().flatten(),
    })
}

/// Returns the status word of a listed thread. A live run of this process makes a runnable or
/// sleeping thread `running`, and nothing else: it may have come to rest just now.
fn status(stored: &Status, live: bool) -> &'static str {
    match stored {
        Status::Runnable | Status::Sleeping { .. } if live => "running",
        Status::Runnable => "unfinished",
        Status::Sleeping { .. } => "sleeping",
        Status::Waiting { .. } => "waiting",
        Status::Idle => "idle",
    }
}

/// `GET /threads/{id}`: all data that a page needs to show it, up to the position `head`.
pub(crate) async fn show(
    State(app_state): State<Arc<AppState>>,
    PathInput(name): PathInput,
    caller: Caller,
) -> ApiResult<Json<Value>> {
    let to = app_state.find(&caller, &name, ThreadAccess::Read).await?;
    let redaction = app_state.redaction(&caller);
    for _ in 0..AGAIN {
        let Some(seen) = app_state.agent.look(&to.thread).await? else {
            // It may have stored nothing yet.
            app_state.must_exist(&to).await?;
            return Ok(Json(page(
                &to,
                shown(ThreadStatus::New, false, redaction),
                None,
                0,
                &[],
            )));
        };
        let live = app_state.agent.is_live(&to.thread);
        let stands = shown(seen.standing, live, redaction);
        let Some(now) = app_state.agent.log().head(&to.thread).await? else {
            continue;
        };
        // What happens meanwhile would be in one of the two, and not in the other.
        if now.base > seen.head || now.seq < seen.head {
            continue;
        }
        let head = Head {
            seq: seen.head,
            ..now
        };
        let items = app_state.agent.timeline(&to.thread, &head).await?;
        let items = redacted(items, redaction);
        return Ok(Json(page(
            &to,
            stands,
            seen.title.as_ref(),
            seen.head,
            &items,
        )));
    }
    Err(ApiError::no_thread(to.name.as_str()))
}

/// Returns the data of a thread for a page, together with its status.
fn page(
    to: &Address,
    mut stands: Value,
    title: Option<&String>,
    head: Seq,
    items: &[TimelineEntry],
) -> Value {
    if let Some(stands) = stands.as_object_mut() {
        stands.insert("thread".into(), json!(to.name));
        stands.insert("title".into(), json!(title));
        stands.insert("head".into(), json!(head));
        stands.insert("timeline".into(), json!(items));
    }
    stands
}

#[derive(Deserialize)]
pub(crate) struct ListSince {
    after: Option<u64>,
}

/// `GET /threads/{id}/timeline?after=seq`: the items of the conversation, up to the position
/// `head`.
pub(crate) async fn timeline(
    State(app_state): State<Arc<AppState>>,
    PathInput(name): PathInput,
    QueryInput(since): QueryInput<ListSince>,
    caller: Caller,
) -> ApiResult<Json<Value>> {
    let to = app_state.find(&caller, &name, ThreadAccess::Read).await?;
    let Timeline { head, mut items } = told(&app_state, &to).await?;
    items.retain(|told| told.seq > since.after.unwrap_or(0));
    Ok(Json(
        json!({ "thread": to.name, "head": head, "timeline": items }),
    ))
}

/// The items of a thread, and the position up to which they were read.
struct Timeline {
    head: Seq,
    items: Vec<TimelineEntry>,
}

async fn told(app_state: &AppState, to: &Address) -> ApiResult<Timeline> {
    let Some(head) = app_state.agent.log().head(&to.thread).await? else {
        // The run may have stored nothing yet.
        let head = app_state.must_exist(to).await?;
        let items = vec![];
        return Ok(Timeline { head, items });
    };
    let items = app_state.agent.timeline(&to.thread, &head).await?;
    let items = redacted(items, app_state.redaction(&to.caller));
    let head = head.seq;
    Ok(Timeline { head, items })
}

/// Formats the status of a thread; see [`status`] for the effect of a live run.
fn shown(standing: ThreadStatus, live: bool, redaction: Redaction) -> Value {
    match standing {
        ThreadStatus::Unfinished | ThreadStatus::Sleeping { .. } if live => {
            json!({ "status": "running", "interrupts": [] })
        }
        ThreadStatus::Waiting(mut open) if redaction.nodes => {
            for asked in &mut open {
                asked.task.clear();
            }
            json!({ "status": "waiting", "interrupts": open })
        }
        ThreadStatus::Waiting(open) => json!({ "status": "waiting", "interrupts": open }),
        ThreadStatus::Sleeping { until } => {
            json!({ "status": "sleeping", "until": until, "interrupts": [] })
        }
        ThreadStatus::Failed { error } => {
            let error = if redaction.nodes {
                Redaction::RUN_FAILED
            } else {
                &error
            };
            json!({ "status": "failed", "error": error, "interrupts": [] })
        }
        ThreadStatus::Unfinished => json!({ "status": "unfinished", "interrupts": [] }),
        // The run has stored nothing yet.
        ThreadStatus::New => json!({ "status": "running", "interrupts": [] }),
        _ => json!({ "status": "idle", "interrupts": [] }),
    }
}

/// `DELETE /threads/{id}`.
pub(crate) async fn remove(
    State(app_state): State<Arc<AppState>>,
    PathInput(name): PathInput,
    caller: Caller,
) -> ApiResult {
    let to = app_state.find(&caller, &name, ThreadAccess::Write).await?;
    app_state.must_exist(&to).await?;
    if !app_state.comes_to_rest(&to).await {
        let message = say!("a run is under way: cancel it first", "正在运行：请先取消");
        return Err(ApiError::new(StatusCode::CONFLICT, "busy", message));
    }
    admin(&app_state)?.remove(&to.thread).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// `POST /threads/{id}/fork` with `{at, thread?}`.
pub(crate) async fn fork(
    State(app_state): State<Arc<AppState>>,
    PathInput(name): PathInput,
    caller: Caller,
    JsonBody(request): JsonBody,
) -> ApiResult<Response> {
    let to = app_state.find(&caller, &name, ThreadAccess::Read).await?;
    app_state.must_exist(&to).await?;
    let at = request.get("at").and_then(Value::as_u64);
    let at: Seq = at.ok_or_else(|| {
        ApiError::bad(say!(
            "\"at\" must be the position of a checkpoint",
            "\"at\" 应为检查点的位置"
        ))
    })?;
    let new = match incoming::text(&request, "thread")? {
        Some(name) => Address::new(&caller, name)?,
        None => Address::fresh(&caller)?,
    };
    app_state.allows_new(&new).await?;
    if app_state.agent.log().head(&new.thread).await?.is_some() {
        return Err(ApiError::exists(new.name.as_str()));
    }
    app_state.agent.fork(&to.thread, at, &new.thread).await?;
    Ok((StatusCode::CREATED, Json(json!({ "thread": new.name }))).into_response())
}

fn admin(app_state: &AppState) -> ApiResult<&dyn ThreadAdmin> {
    app_state.agent.admin().ok_or_else(|| {
        let message = say!(
            "the store of this server neither lists nor removes threads",
            "这台服务器的存储不能列出或删除线程"
        );
        ApiError::new(StatusCode::NOT_IMPLEMENTED, "unsupported", message)
    })
}

#[cfg(test)]
mod tests {
    use fugato_state::{Interrupt, InterruptId, Question};

    use super::*;

    #[test]
    fn what_waits_is_told_with_its_question_while_its_run_is_still_remembered() {
        let question = Question::new::<bool>("answer", json!("Place it?"));
        let asked = Interrupt {
            id: InterruptId("confirm#1~1".into()),
            task: "confirm#1".into(),
            question,
        };
        let waits = shown(
            ThreadStatus::Waiting(vec![asked.clone()]),
            true,
            Redaction::none(),
        );
        assert_eq!(waits, json!({ "status": "waiting", "interrupts": [asked] }));
        let failed = ThreadStatus::Failed {
            error: "no model".into(),
        };
        let shown = |status, live| shown(status, live, Redaction::none());
        assert_eq!(shown(failed, true)["status"], "failed");
        assert_eq!(shown(ThreadStatus::Unfinished, true)["status"], "running");
        assert_eq!(
            shown(ThreadStatus::Unfinished, false)["status"],
            "unfinished"
        );
    }

    #[test]
    fn a_list_says_the_same() {
        assert_eq!(status(&Status::Idle, true), "idle");
        assert_eq!(status(&Status::Runnable, true), "running");
        assert_eq!(status(&Status::Runnable, false), "unfinished");
    }
}
