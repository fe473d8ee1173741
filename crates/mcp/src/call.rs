//! One call of a tool of a server: asked once, never repeated, and taken back if nobody waits for
//! it any more.
use std::{sync::Arc, time::Duration};

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

/// How long a server that was silent may take to say that it is there.
const A_SIGN: Duration = Duration::from_secs(5);
/// The longest text of a server's error that a model is shown, in characters.
const LONGEST_ERROR: usize = 2_000;

pub(crate) struct Call<'a> {
    pub(crate) tool: &'a str,
    pub(crate) id: &'a str,
    pub(crate) key: Option<&'a str>,
    pub(crate) repeatable: bool,
}

/// Whether it does no harm to call a tool of this class again.
pub(crate) fn is_repeatable(effect: EffectClass) -> bool {
    matches!(effect, EffectClass::Pure | EffectClass::Idempotent)
}

/// Calls, and answers what the server asks on the way.
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
                    "answered with something that is no result",
                ));
            }
        }
    }
    Err(doubtful(
        link,
        call,
        "asked more questions than are answered in one call",
    ))
}

/// The service's progress token is known only when the request is on its way, so the names of the
/// calls are held until it is written down: no progress is read before.
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
    let asked = Asked::new(session, &handle);
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

/// A call that waits for its answer. Dropped before, it tells the server that nobody waits.
struct Asked {
    peer: Peer<RoleClient>,
    handler: Handler,
    token: ProgressToken,
    id: Option<RequestId>,
}

impl Asked {
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

impl Drop for Asked {
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
                tracing::debug!(%error, "{}", crate::log_key::THE_SERVER_COULD_NOT_BE_TOLD_THAT_A_CALL_WAS_TAKEN_BACK);
            }
        });
    }
}

type Answered = (Option<InputResponses>, Option<String>);

async fn answered(
    handler: &Handler,
    server: &str,
    asked: InputRequiredResult,
) -> Result<Answered, ToolFailure> {
    let mut responses = InputResponses::new();
    let has_questions = asked.input_requests.is_some();
    for (name, question) in asked.input_requests.unwrap_or_default() {
        let InputRequest::Elicitation(question) = question else {
            let text =
                format!("the server `{server}` asks for something that is not offered to it");
            return Err(ToolFailure::blocked(text));
        };
        let answer = handler.answer(question.params).await;
        responses.insert(name, serde_json::to_value(answer).unwrap_or_default());
    }
    Ok((has_questions.then_some(responses), asked.request_state))
}

fn not_begun(error: &McpError) -> ToolFailure {
    let advice = match error {
        McpError::Resting { .. } => "",
        _ => "; nothing was done",
    };
    ToolFailure::failed(format!("{error}{advice}"))
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
            let text = format!("the server `{}` refuses the call: {message}", link.server);
            ToolFailure::failed(text).data(json!({ "code": refusal.code.0 }))
        }
        ServiceError::TransportClosed => {
            link.lost(session).await;
            doubtful(link, call, "stopped before it answered")
        }
        ServiceError::TransportSend(_) => doubtful(link, call, "was lost while it was called"),
        ServiceError::Timeout { timeout } => {
            // What hangs would let the next call wait as long.
            if !is_there(session).await {
                link.lost(session).await;
            }
            doubtful(link, call, &format!("did not answer within {timeout:?}"))
        }
        ServiceError::Cancelled { .. } => doubtful(link, call, "took the call back"),
        _ => doubtful(link, call, "answered with something that is no result"),
    };
    failure.because(error)
}

/// Whether a server says anything, be it that it does not know what it is asked.
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

/// The call may have been carried out.
fn doubtful(link: &Link, call: &Call<'_>, what: &str) -> ToolFailure {
    let (server, tool) = (&link.server, call.tool);
    let advice = if call.repeatable {
        "calling it again does no harm".to_owned()
    } else {
        format!("it is not known whether `{tool}` was carried out")
    };
    ToolFailure::failed(format!("the server `{server}` {what}; {advice}"))
        .data(json!({ "in_doubt": !call.repeatable }))
}
