//! The UI message stream of the AI SDK.
use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
    response::IntoResponse,
};
use fugato_stream::{AiSdkEncoder, Resume};
use serde_json::Value;

use crate::{
    Caller, ThreadAccess, UserMessage,
    address::Address,
    app_state::{AppState, admission::RunRequest},
    body::{JsonBody, PathInput},
    erased::AnswerRequest,
    error::{ApiResult, NOT_FOUND},
    incoming,
    openai::go_on,
    relay,
};

/// The request's fields that the SDK itself sends, or that are answers.
const OWN: [&str; 8] = [
    "card",
    "model",
    "id",
    "messages",
    "trigger",
    "messageId",
    "answers",
    "after",
];

/// `POST /api/chat`.
pub(crate) async fn chat(
    State(app_state): State<Arc<AppState>>,
    caller: Caller,
    headers: HeaderMap,
    JsonBody(request): JsonBody,
) -> ApiResult {
    let key = incoming::request_key(&headers)?;
    let to = Address::of(&caller, incoming::text(&request, "id")?, key.as_deref())?;
    let resume = Resume::ai_sdk(&request)?;
    let mut encoder = AiSdkEncoder::new();
    if !resume.answers.is_empty() {
        encoder = encoder.continues(resume.calls);
    }
    let extra = incoming::others(&request, &OWN);
    let model = incoming::text(&request, "model")?.map(str::to_owned);
    let retried = retried(&request)?;
    let permit = app_state.reader(&caller)?;
    let answering = AnswerRequest {
        key: key.clone(),
        door: "ai-sdk",
        answers: resume.answers,
        extra: extra.clone(),
    };
    let running = go_on(&app_state, &to, answering, resume.after, || {
        let said = UserMessage::last_of(&caller, &request, extra)?.under(&request)?;
        let said = Box::new(said.model(model).retries(retried).by("ai-sdk"));
        Ok(RunRequest::Start { key, said })
    });
    let events = relay::spoken(running.await?.events);
    Ok(relay::respond(&app_state, (&to, permit), events, encoder))
}

/// Returns the message whose answer is made anew: the one that the SDK names, else the last of the
/// person.
fn retried(request: &Value) -> ApiResult<Option<String>> {
    if incoming::text(request, "trigger")? != Some("regenerate-message") {
        return Ok(None);
    }
    let named = incoming::text(request, "messageId")?;
    let messages = request.get("messages").and_then(Value::as_array);
    let last = messages.and_then(|messages| messages.last()?.get("id")?.as_str());
    Ok(Some(named.or(last).unwrap_or("message").to_owned()))
}

/// `GET /api/chat/{id}/stream`: the current run, from its beginning.
pub(crate) async fn again(
    State(app_state): State<Arc<AppState>>,
    PathInput(name): PathInput,
    caller: Caller,
) -> ApiResult {
    let to = Address::new(&caller, &name)?;
    let allowed = app_state.allows(&to, ThreadAccess::Read).await;
    let permit = app_state.reader(&caller)?;
    let events = match allowed {
        Ok(()) => app_state.again(&to),
        Err(error) if error.kind == NOT_FOUND => None,
        Err(error) => return Err(error),
    };
    let Some(events) = events else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let events = relay::spoken(events);
    let encoder = AiSdkEncoder::new();
    Ok(relay::respond(&app_state, (&to, permit), events, encoder))
}
