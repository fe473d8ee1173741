//! The bodies that clients send.
use fugato::{
    axum::{Caller, JsonInput},
    form::Fields,
    state::{Lang, ThreadId, say},
};
use serde::Deserialize;

use super::{ApiResult, JsonBody, bad, no_conversation};
use crate::{
    form::FormKind,
    served::employee,
    state::{Request, RequestExtras, RequestKind, Runtime},
    steward_service::{Confirmation, StewardService},
};

/// The body of a request, to any of the endpoints.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Body {
    conversation_id: String,
    client_trace_id: String,
    message: String,
    base_date: String,
    attachments: Vec<String>,
    context: Fields,
    lang: Option<String>,
    card: Option<String>,
    runtime: Option<String>,
    pub(super) form: Option<FormKind>,
    action: Option<String>,
    arguments: Fields,
    precheck_ref: Option<String>,
    confirmation: Option<Confirmation>,
}

/// A request with its conversation and path.
pub(super) struct StewardRequest {
    pub(super) thread: ThreadId,
    pub(super) runtime: Runtime,
    pub(super) request: Request,
    pub(super) confirmation: Option<Confirmation>,
}

/// The most bytes of a request name that a client chooses.
const LONGEST_NAME: usize = 100;

pub(super) fn asked(
    clerk: &StewardService,
    caller: &Caller,
    JsonInput(mut body): JsonBody,
    kind: impl FnOnce(&mut Body) -> ApiResult<RequestKind>,
) -> ApiResult<StewardRequest> {
    let kind = kind(&mut body)?;
    if body.conversation_id.is_empty() {
        return Err(no_conversation());
    }
    if body.client_trace_id.len() > LONGEST_NAME {
        return Err(bad(say!(
            "\"client_trace_id\" may have {LONGEST_NAME} bytes",
            "\"client_trace_id\" 最多 {LONGEST_NAME} 个字节"
        )));
    }
    // Only the request of an action confirms one.
    if body.confirmation.is_some() && !matches!(kind, RequestKind::Execute { .. }) {
        return Err(bad(say!(
            "\"confirmation\" belongs to /steward/actions/execute",
            "\"confirmation\" 只用于 /steward/actions/execute"
        )));
    }
    // One request can choose its path, before all do.
    let unknown = |_| {
        bad(say!(
            "\"runtime\" must be graph, langgraph or legacy",
            "\"runtime\" 必须是 graph、langgraph 或 legacy"
        ))
    };
    let runtime = body.runtime.map(|name| name.parse().map_err(unknown));
    // A request without words shows no language, and has that of its client.
    let spoken = Lang::current();
    let client = (body.message.is_empty() && spoken != Lang::default()).then(|| spoken.to_string());
    let beside = RequestExtras {
        base_date: body.base_date,
        attachments: body.attachments,
        context: body.context,
        lang: body.lang.or(client),
    };
    let request = Request::new(kind, &body.conversation_id, &employee(caller));
    let request = request
        .trace(body.client_trace_id)
        .message(body.message)
        .under(body.card);
    Ok(StewardRequest {
        thread: caller.thread(&body.conversation_id)?,
        runtime: runtime.unwrap_or(Ok(clerk.runtime()))?,
        request: Request {
            beside: beside.checked().map_err(bad)?,
            ..request
        },
        confirmation: body.confirmation,
    })
}

impl Body {
    pub(super) fn says(&mut self) -> ApiResult<RequestKind> {
        if self.message.trim().is_empty() {
            return Err(bad(say!(
                "\"message\" must say what is wanted",
                "\"message\" 必须说明想要什么"
            )));
        }
        Ok(RequestKind::Plan)
    }

    pub(super) fn decides(&mut self) -> ApiResult<RequestKind> {
        self.says().map(|_| RequestKind::Decide)
    }

    pub(super) fn executes(&mut self) -> ApiResult<RequestKind> {
        let action = self.action.take();
        Ok(RequestKind::Execute {
            action: action.ok_or_else(|| {
                bad(say!(
                    "\"action\" must name the action",
                    "\"action\" 必须写明操作"
                ))
            })?,
            arguments: std::mem::take(&mut self.arguments),
            precheck_ref: self.precheck_ref.take(),
        })
    }
}
