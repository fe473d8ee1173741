//! One call of a server's tool: sent once, never repeated, and cancelled if its future is dropped.
use std::{sync::Arc, time::Duration};

use fugato_state::say;
use fugato_tool::{EffectClass, ToolFailure};
use rmcp::{
    Peer, RoleClient,
    model::{
        CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotificationParam,
        ClientRequest, DEFAULT_MRTR_MAX_ROUNDS, InputRequest, InputRequiredResult, InputResponses,
        PingRequest, ProgressToken, RequestId, RequestMetaObject, ServerResult,
    },
    service::{PeerRequestOptions, RequestHandle, ServiceError},
};
use serde_json::{Map, Value, json};

use crate::{
    IDEMPOTENCY_KEY, McpError,
    handler::{CallName, Handler},
    link::{Link, Session},
};

/// The time limit of a ping after a timeout.
const A_SIGN: Duration = Duration::from_secs(5);
/// The longest error message of a server that a model gets, in characters.
const LONGEST_ERROR: usize = 2_000;

pub(crate) struct Call<'a> {
    pub(crate) tool: &'a str,
    pub(crate) id: &'a str,
    pub(crate) key: Option<&'a str>,
    pub(crate) repeatable: bool,
}

/// Returns true if a call of this effect class may be repeated.
pub(crate) fn is_repeatable(effect: EffectClass) -> bool {
    matches!(effect, EffectClass::Pure | EffectClass::Idempotent)
}

/// Calls a tool, and answers the server's questions on the way.
pub(crate) async fn call(
    link: &Link,
    call: &Call<'_>,
    arguments: Map<String, Value>,
) -> Result<CallToolResult, ToolFailure> {
    let session = link
        .session()
        .await
        .map_err(|error| not_begun(&error).because(error))?;
    let mut params = CallToolRequestParams::new(call.tool.to_owned()).with_arguments(arguments);
    for _ in 0..DEFAULT_MRTR_MAX_ROUNDS {
        let answer = match once(link, &session, call, params.clone()).await {
            Ok(answer) => answer,
            Err(error) => return Err(failed(link, &session, call, error).await),
        };
        link.worked().await;
        match answer {
            ServerResult::CallToolResult(result) => return Ok(result),
            ServerResult::InputRequiredResult(asked) => {
                let (responses, state) = answered(&session.handler, &link.server, asked).await?;
                params.input_responses = responses;
                params.request_state = state;
            }
            _ => {
                return Err(doubtful(
                    link,
                    call,
                    &say!(
                        "answered with something that is no result",
                        "的回答不是结果"
                    ),
                ));
            }
        }
    }
    Err(doubtful(
        link,
        call,
        &say!(
            "asked more questions than are answered in one call",
            "问的问题比一次调用回答的多"
        ),
    ))
}

/// Sends the request once. Its progress token is known only when it is on its way, so the map of
/// calls stays locked until the token is in it: no progress is read before.
async fn once(
    link: &Link,
    session: &Session,
    call: &Call<'_>,
    params: CallToolRequestParams,
) -> Result<ServerResult, ServiceError> {
    let mut options = PeerRequestOptions::with_timeout(link.options.timeout)
        .reset_timeout_on_progress()
        .with_max_total_timeout(link.options.longest);
    if let Some(key) = call.key {
        let mut meta = RequestMetaObject::new();
        meta.insert(IDEMPOTENCY_KEY.to_owned(), json!(key));
        options = options.with_meta(meta);
    }
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let mut names = session.handler.calls().lock().await;
    let handle = session
        .peer()
        .send_cancellable_request(request, options)
        .await?;
    let asked = PendingCall::new(session, &handle);
    let name = CallName {
        tool: call.tool.to_owned(),
        call: call.id.to_owned(),
    };
    names.insert(handle.progress_token.clone(), name);
    drop(names);
    let answer = handle.await_response().await;
    asked.answered().await;
    answer
}

/// The guard of a call that waits for its answer. Dropped before, it sends a cancellation.
struct PendingCall {
    peer: Peer<RoleClient>,
    handler: Handler,
    token: ProgressToken,
    id: Option<RequestId>,
}

impl PendingCall {
    fn new(session: &Session, handle: &RequestHandle<RoleClient>) -> Self {
        Self {
            peer: session.peer().clone(),
            handler: session.handler.clone(),
            token: handle.progress_token.clone(),
            id: Some(handle.id.clone()),
        }
    }

    async fn answered(mut self) {
        self.id = None;
        self.handler.calls().lock().await.remove(&self.token);
    }
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let (peer, handler, token) = (self.peer.clone(), self.handler.clone(), self.token.clone());
        runtime.spawn(async move {
            handler.calls().lock().await.remove(&token);
            let reason = Some("nobody waits for the answer any more".to_owned());
            let taken_back = CancelledNotificationParam::new(Some(id), reason);
            if let Err(error) = peer.notify_cancelled(taken_back).await {
                tracing::debug!(%error, "cancel notification failed");
            }
        });
    }
}

type CallAnswer = (Option<InputResponses>, Option<String>);

async fn answered(
    handler: &Handler,
    server: &str,
    asked: InputRequiredResult,
) -> Result<CallAnswer, ToolFailure> {
    let mut responses = InputResponses::new();
    let has_questions = asked.input_requests.is_some();
    for (name, question) in asked.input_requests.unwrap_or_default() {
        let InputRequest::Elicitation(question) = question else {
            let text = say!(
                "the server `{server}` asks for something that is not offered to it",
                "服务器 `{server}` 要的东西没有提供给它"
            );
            return Err(ToolFailure::blocked(text));
        };
        let answer = handler.answer(question.params).await;
        responses.insert(name, serde_json::to_value(answer).unwrap_or_default());
    }
    Ok((has_questions.then_some(responses), asked.request_state))
}

fn not_begun(error: &McpError) -> ToolFailure {
    ToolFailure::failed(match error {
        McpError::Resting { .. } => error.to_string(),
        _ => say!("{error}; nothing was done", "{error}；什么都没有做"),
    })
}

async fn failed(
    link: &Link,
    session: &Arc<Session>,
    call: &Call<'_>,
    error: ServiceError,
) -> ToolFailure {
    let failure = match &error {
        ServiceError::McpError(refusal) => {
            let message: String = refusal.message.chars().take(LONGEST_ERROR).collect();
            let server = &link.server;
            let text = say!(
                "the server `{server}` refuses the call: {message}",
                "服务器 `{server}` 拒绝了这次调用：{message}"
            );
            ToolFailure::failed(text).data(json!({ "code": refusal.code.0 }))
        }
        ServiceError::TransportClosed => {
            link.lost(session).await;
            doubtful(
                link,
                call,
                &say!("stopped before it answered", "没有回答就停止了"),
            )
        }
        ServiceError::TransportSend(_) => doubtful(
            link,
            call,
            &say!("was lost while it was called", "在调用期间失去了联系"),
        ),
        ServiceError::Timeout { timeout } => {
            // With a server that hangs, the next call would wait as long.
            if !is_there(session).await {
                link.lost(session).await;
            }
            doubtful(
                link,
                call,
                &say!(
                    "did not answer within {timeout:?}",
                    "在 {timeout:?} 内没有回答"
                ),
            )
        }
        ServiceError::Cancelled { .. } => {
            doubtful(link, call, &say!("took the call back", "收回了这次调用"))
        }
        _ => doubtful(
            link,
            call,
            &say!(
                "answered with something that is no result",
                "的回答不是结果"
            ),
        ),
    };
    failure.because(error)
}

/// Returns true if a server answers a ping, even with an error.
async fn is_there(session: &Session) -> bool {
    let ping = ClientRequest::PingRequest(PingRequest::default());
    let options = PeerRequestOptions::with_timeout(A_SIGN);
    let answer = match session.peer().send_cancellable_request(ping, options).await {
        Ok(handle) => handle.await_response().await,
        Err(error) => Err(error),
    };
    !matches!(
        answer,
        Err(ServiceError::Timeout { .. }
            | ServiceError::TransportClosed
            | ServiceError::TransportSend(_))
    )
}

/// Returns the failure of a call that may have been carried out.
fn doubtful(link: &Link, call: &Call<'_>, what: &str) -> ToolFailure {
    let (server, tool) = (&link.server, call.tool);
    let advice = if call.repeatable {
        say!("calling it again does no harm", "再次调用没有害处")
    } else {
        say!(
            "it is not known whether `{tool}` was carried out",
            "不知道 `{tool}` 是否已执行"
        )
    };
    ToolFailure::failed(say!(
        "the server `{server}` {what}; {advice}",
        "服务器 `{server}` {what}；{advice}"
    ))
    .data(json!({ "in_doubt": !call.repeatable }))
}
