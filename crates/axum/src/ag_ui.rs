//! The AG-UI protocol.
use std::sync::Arc;

use axum::{extract::State, http::HeaderMap};
use fugato_stream::{AgUiEncoder, Resume};
use serde_json::Value;

use crate::{
    Caller, UserMessage,
    address::Address,
    app_state::{AppState, admission::RunRequest},
    body::JsonBody,
    erased::AnswerRequest,
    error::ApiResult,
    incoming,
    openai::go_on,
    relay,
};

/// `POST /agui` with a `RunAgentInput`.
pub(crate) async fn run(
    State(app_state): State<Arc<AppState>>,
    caller: Caller,
    headers: HeaderMap,
    JsonBody(request): JsonBody,
) -> ApiResult {
    let thread = incoming::required(&request, "threadId")?;
    let run = incoming::required(&request, "runId")?;
    let to = Address::new(&caller, thread)?;
    let Resume { answers, after, .. } = Resume::ag_ui(&request)?;
    let extra = incoming::object(&request, "forwardedProps")?;
    let key = incoming::request_key(&headers)?;
    let chosen = request.get("forwardedProps").unwrap_or(&Value::Null);
    let model = incoming::text(chosen, "model")?.map(str::to_owned);
    let retried = incoming::text(chosen, "retry_of")?.map(str::to_owned);
    let permit = app_state.reader(&caller)?;
    let answering = AnswerRequest {
        key: key.clone(),
        door: "ag-ui",
        answers,
        extra: extra.clone(),
    };
    let running = go_on(&app_state, &to, answering, after, || {
        let said = UserMessage::last_of(&caller, &request, extra)?.under(chosen)?;
        let said = Box::new(said.model(model).retries(retried).by("ag-ui"));
        Ok(RunRequest::Start { key, said })
    });
    let events = relay::spoken(running.await?.events);
    let encoder = AgUiEncoder::new().named(thread, run);
    Ok(relay::respond(&app_state, (&to, permit), events, encoder))
}
