//! Runs of a thread: start, answers, cancellation and events.
use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use fugato_state::{Seq, say};
use fugato_stream::{Event, EventKind, Fidelity, NamedSseEncoder, Resume, Vocabulary};
use futures::StreamExt as _;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    Caller, ThreadAccess, UserMessage,
    address::Address,
    app_state::{AppState, admission::RunRequest},
    body::{JsonBody, PathInput, QueryInput},
    erased::AnswerRequest,
    error::{ApiError, ApiResult},
    follow::follow,
    incoming,
    load::LoadPermit,
    relay,
};

/// `POST /threads/{id}/runs` with `{text, extra?, model?, retry_of?}`: the name of a model, and the
/// message or run that the person wants answered once more.
pub(crate) async fn start(
    State(app_state): State<Arc<AppState>>,
    PathInput(name): PathInput,
    caller: Caller,
    headers: HeaderMap,
    JsonBody(request): JsonBody,
) -> ApiResult {
    let to = Address::new(&caller, &name)?;
    incoming::only(&request, &["text", "card", "extra", "model", "retry_of"])?;
    let text = incoming::text(&request, "text")?;
    let text = text.ok_or_else(|| {
        ApiError::bad(say!(
            "\"text\" must say what is wanted",
            "\"text\" 要写明想要什么"
        ))
    })?;
    let said = UserMessage {
        extra: incoming::object(&request, "extra")?,
        ..UserMessage::new(caller, text)
    };
    let said = said.under(&request)?.with_choice(&request)?;
    let mut said = said.by("threads");
    said.stored = !streams(&headers)?;
    let key = incoming::request_key(&headers)?;
    let said = Box::new(said);
    run(&app_state, &to, &headers, RunRequest::Start { key, said }).await
}

/// `POST /threads/{id}/resume` with `{answers: {id: answer}, digests?: {id: digest}, extra?}`.
pub(crate) async fn resume(
    State(app_state): State<Arc<AppState>>,
    PathInput(name): PathInput,
    caller: Caller,
    headers: HeaderMap,
    JsonBody(request): JsonBody,
) -> ApiResult {
    let to = Address::new(&caller, &name)?;
    incoming::only(&request, &["answers", "digests", "extra", "after"])?;
    let answering = AnswerRequest {
        key: incoming::request_key(&headers)?,
        door: "threads",
        answers: by_id(&request)?.answers,
        extra: incoming::object(&request, "extra")?,
    };
    run(&app_state, &to, &headers, wish(answering)?).await
}

/// Reads answers by the ids of their questions, with the digests of the cards that were seen.
pub(crate) fn by_id(request: &Value) -> ApiResult<Resume> {
    let mut resume = Resume::by_id(request)?;
    let digests = Value::Object(incoming::object(request, "digests")?);
    for answered in &mut resume.answers {
        if let Some(id) = &answered.id {
            let digest = incoming::text(&digests, id.as_str())?;
            answered.digest = digest.map(str::to_owned);
        }
    }
    Ok(resume)
}

/// Returns the request; no answers at all are refused.
fn wish(answering: AnswerRequest) -> ApiResult<RunRequest> {
    if answering.answers.is_empty() {
        let message = say!(
            "\"answers\" must have at least one answer, under the id of its question",
            "\"answers\" 至少要有一个回答，以问题的 id 为键"
        );
        return Err(ApiError::bad(message));
    }
    Ok(RunRequest::Resume(answering))
}

/// `POST /threads/{id}/recover`: continues a run that was left unfinished.
pub(crate) async fn recover(
    State(app_state): State<Arc<AppState>>,
    PathInput(name): PathInput,
    caller: Caller,
    headers: HeaderMap,
    JsonBody(_): JsonBody,
) -> ApiResult {
    again(&app_state, (&caller, &name), &headers, RunRequest::Recover).await
}

/// `POST /threads/{id}/retry`: retries the failed tasks, and nothing else.
pub(crate) async fn retry(
    State(app_state): State<Arc<AppState>>,
    PathInput(name): PathInput,
    caller: Caller,
    headers: HeaderMap,
    JsonBody(_): JsonBody,
) -> ApiResult {
    again(&app_state, (&caller, &name), &headers, RunRequest::Retry).await
}

/// Continues a thread that exists.
async fn again(
    app_state: &Arc<AppState>,
    (caller, name): (&Caller, &str),
    headers: &HeaderMap,
    wish: RunRequest,
) -> ApiResult {
    let to = Address::new(caller, name)?;
    app_state.must_exist(&to).await?;
    run(app_state, &to, headers, wish).await
}

/// `POST /threads/{id}/cancel` with `{why?}`.
pub(crate) async fn cancel(
    State(app_state): State<Arc<AppState>>,
    PathInput(name): PathInput,
    caller: Caller,
    JsonBody(request): JsonBody,
) -> ApiResult {
    let to = Address::new(&caller, &name)?;
    app_state.must_exist(&to).await?;
    let why = incoming::text(&request, "why")?.unwrap_or(incoming::NO_REASON);
    app_state.cancel(&to, why).await?;
    Ok((StatusCode::ACCEPTED, Json(json!({ "thread": to.name }))).into_response())
}

#[derive(Deserialize)]
pub(crate) struct Cursor {
    after: Option<Seq>,
    follow: Option<bool>,
}

/// `GET /threads/{id}/events?after=seq&follow=bool`.
pub(crate) async fn events(
    State(app_state): State<Arc<AppState>>,
    PathInput(name): PathInput,
    QueryInput(cursor): QueryInput<Cursor>,
    caller: Caller,
    headers: HeaderMap,
) -> ApiResult {
    let to = app_state.find(&caller, &name, ThreadAccess::Read).await?;
    let permit = app_state.reader(&caller)?;
    app_state.must_exist(&to).await?;
    let after = seen(&headers)?.or(cursor.after).unwrap_or(0);
    let events = if cursor.follow.unwrap_or(true) {
        follow(&app_state, &to, after)
    } else {
        app_state.shown(&to, app_state.agent.events(&to.thread, after))
    };
    Ok(relay::respond(&app_state, (&to, permit), events, full()))
}

/// Returns the position up to which a reconnecting browser has seen everything.
pub(crate) fn seen(headers: &HeaderMap) -> ApiResult<Option<Seq>> {
    match incoming::header(headers, "last-event-id")? {
        Some(id) => Ok(Resume::last_event_id(id)?.after),
        None => Ok(None),
    }
}

/// Returns the encoder of the page: the full fidelity.
fn full() -> NamedSseEncoder {
    NamedSseEncoder::new(Vocabulary::REACT).fidelity(Fidelity::Full)
}

/// Returns true if the client accepts a stream of events.
fn streams(headers: &HeaderMap) -> ApiResult<bool> {
    let accepted = incoming::header(headers, header::ACCEPT.as_str())?;
    Ok(accepted.is_some_and(|accepted| accepted.contains("text/event-stream")))
}

/// Begins a run, and answers 202 as soon as it is stored, 200 with what is told if nothing begins, or with all its events as a stream if the client accepts
/// one.
async fn run(
    app_state: &Arc<AppState>,
    to: &Address,
    headers: &HeaderMap,
    wish: RunRequest,
) -> ApiResult {
    let permit = streams(headers)?.then(|| app_state.reader(&to.caller));
    let permit: Option<LoadPermit> = permit.transpose()?;
    let running = app_state.begin(to, wish).await?;
    let Some(permit) = permit else {
        let (thread, run) = (to.name.as_str(), running.run);
        let mut response = if running.end.is_some() {
            let begun = json!({ "thread": thread, "run": run });
            (StatusCode::ACCEPTED, Json(begun)).into_response()
        } else {
            // Nothing began, so that nobody will be told this elsewhere.
            let unchanged = running.events.fold(Value::Null, at_rest).await;
            Json(json!({ "thread": thread, "run": run, "unchanged": unchanged })).into_response()
        };
        relay::name(&mut response, to);
        return Ok(response);
    };
    Ok(relay::respond(
        app_state,
        (to, permit),
        running.events,
        full(),
    ))
}

/// Returns the end of a run that was at rest before: `{output}`, or `{waiting}` with the ids of the
/// open questions.
async fn at_rest(before: Value, event: Event) -> Value {
    match event.kind {
        EventKind::RunFinished { output } => json!({ "output": output }),
        EventKind::RunParked { interrupts } => {
            let open: Vec<_> = interrupts.into_iter().map(|asked| asked.id).collect();
            json!({ "waiting": open })
        }
        _ => before,
    }
}

pub(crate) async fn no_such_path() -> Response {
    let message = say!(
        "there is nothing here; the README of fugato-axum lists what there is",
        "这里什么都没有；fugato-axum 的 README 列出了有什么"
    );
    ApiError::new(StatusCode::NOT_FOUND, "not_found", message).into_response()
}

pub(crate) async fn no_such_method() -> Response {
    let message = say!(
        "this path has other methods; the header allow lists them",
        "这个路径要用别的方法；响应头 allow 列出了有哪些"
    );
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method", message).into_response()
}
