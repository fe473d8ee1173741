//! Named server-sent events, in the vocabularies that clients of such streams know.
use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
};
use fugato_state::{Seq, say};
use fugato_stream::{NamedSseEncoder, Resume, Vocabulary};
use serde::Deserialize;

use crate::{
    Caller, ThreadAccess, UserMessage,
    address::Address,
    app_state::{AppState, admission::RunRequest},
    body::{JsonBody, PathInput, QueryInput},
    erased::AnswerRequest,
    error::{ApiError, ApiResult},
    incoming,
    native::{by_id, seen},
    openai::go_on,
    relay,
};

/// `POST /sse/{vocabulary}` with `{thread?, text, extra?}` or `{thread, answers, digests?, extra?}`.
pub(crate) async fn run(
    State(app_state): State<Arc<AppState>>,
    PathInput(vocabulary): PathInput,
    caller: Caller,
    headers: HeaderMap,
    JsonBody(request): JsonBody,
) -> ApiResult {
    let encoder = encoder(&vocabulary)?;
    let known = [
        "thread", "text", "card", "extra", "model", "retry_of", "answers", "digests", "after",
    ];
    incoming::only(&request, &known)?;
    let key = incoming::request_key(&headers)?;
    let to = Address::of(&caller, incoming::text(&request, "thread")?, key.as_deref())?;
    let Resume { answers, after, .. } = by_id(&request)?;
    let said = UserMessage {
        extra: incoming::object(&request, "extra")?,
        ..UserMessage::new(
            caller.clone(),
            incoming::text(&request, "text")?.unwrap_or_default(),
        )
    };
    let said = said.under(&request)?.with_choice(&request)?;
    let permit = app_state.reader(&caller)?;
    let answering = AnswerRequest {
        key: key.clone(),
        door: "named",
        answers,
        extra: said.extra.clone(),
    };
    let running = go_on(&app_state, &to, answering, after, || {
        let said = Box::new(said.by("named"));
        Ok(RunRequest::Start { key, said })
    });
    let events = running.await?.events;
    Ok(relay::respond(&app_state, (&to, permit), events, encoder))
}

#[derive(Deserialize)]
pub(crate) struct Reconnect {
    thread: String,
    after: Option<Seq>,
}

/// `GET /sse/{vocabulary}?thread=name&after=seq`: the missed events, then those of the current run.
pub(crate) async fn again(
    State(app_state): State<Arc<AppState>>,
    PathInput(vocabulary): PathInput,
    QueryInput(back): QueryInput<Reconnect>,
    caller: Caller,
    headers: HeaderMap,
) -> ApiResult {
    let encoder = encoder(&vocabulary)?;
    let to = app_state
        .find(&caller, &back.thread, ThreadAccess::Read)
        .await?;
    let permit = app_state.reader(&caller)?;
    app_state.must_exist(&to).await?;
    let after = seen(&headers)?.or(back.after).unwrap_or(0);
    let events = app_state.shown(&to, app_state.agent.events(&to.thread, after));
    Ok(relay::respond(&app_state, (&to, permit), events, encoder))
}

fn encoder(vocabulary: &str) -> ApiResult<NamedSseEncoder> {
    let names = match vocabulary {
        "react" => Vocabulary::REACT,
        "planner" => Vocabulary::PLANNER,
        other => {
            let message = say!(
                "there is no vocabulary {other:?}; react and planner are",
                "没有词汇表 {other:?}；有 react 和 planner"
            );
            return Err(ApiError::new(StatusCode::NOT_FOUND, "not_found", message));
        }
    };
    Ok(NamedSseEncoder::new(names))
}
