//! What clients send.
use axum::{Json, extract::rejection::JsonRejection};
use fugato::{axum::Caller, state::ThreadId};
use serde::Deserialize;
use serde_json::Value;

use super::{
    error::{HttpError, Served},
    path, thread_of,
};
use crate::{
    clerk::{Clerk, Confirmation},
    form::{Fields, FormKind, day},
    served::employee,
    state::{Request, RequestKind, Runtime},
};

/// The body of a request, to any of the endpoints.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    conversation_id: String,
    #[serde(default)]
    client_trace_id: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    base_date: String,
    #[serde(default)]
    attachments: Vec<String>,
    #[serde(default)]
    context: Fields,
    #[serde(default)]
    lang: Option<String>,
    #[serde(default)]
    runtime: Option<String>,
    #[serde(default)]
    form: Option<FormKind>,
    #[serde(default)]
    action: Option<String>,
    #[serde(default)]
    arguments: Fields,
    #[serde(default)]
    precheck_ref: Option<String>,
    #[serde(default)]
    confirmation: Option<Confirmation>,
}

/// What is asked for, with its conversation and path.
pub(super) struct Asked {
    thread: ThreadId,
    runtime: Runtime,
    request: Request,
    pub(super) message: String,
    pub(super) form: Option<FormKind>,
    pub(super) action: Option<String>,
    pub(super) arguments: Fields,
    pub(super) precheck_ref: Option<String>,
    pub(super) confirmation: Option<Confirmation>,
}

/// More of a name than any client needs.
const LONGEST_NAME: usize = 100;

pub(super) fn read(
    clerk: &Clerk,
    caller: &Caller,
    sent: Result<Json<Value>, JsonRejection>,
) -> Served<Asked> {
    let Json(sent) =
        sent.map_err(|error| HttpError::new(error.status(), "not_json", error.body_text()))?;
    let body: Body =
        serde_json::from_value(sent).map_err(|error| HttpError::bad(error.to_string()))?;
    if !body.base_date.is_empty() && day(&body.base_date).is_none() {
        return Err(HttpError::bad(
            "\"base_date\" must be a day such as 2026-03-02",
        ));
    }
    if body.client_trace_id.len() > LONGEST_NAME {
        return Err(HttpError::bad(format!(
            "\"client_trace_id\" may have {LONGEST_NAME} bytes"
        )));
    }
    let thread = thread_of(caller, &body.conversation_id)?;
    let mut request = Request::new(RequestKind::Plan, &body.conversation_id, &employee(caller));
    request.client_trace_id = body.client_trace_id;
    request.message.clone_from(&body.message);
    (request.base_date, request.lang) = (body.base_date, body.lang);
    (request.attachments, request.context) = (body.attachments, body.context);
    Ok(Asked {
        thread,
        runtime: path(clerk, body.runtime.as_deref())?,
        request,
        message: body.message,
        form: body.form,
        action: body.action,
        arguments: body.arguments,
        precheck_ref: body.precheck_ref,
        confirmation: body.confirmation,
    })
}

impl Asked {
    /// The thread, the path, and the request.
    pub(super) fn request(mut self, kind: RequestKind) -> (ThreadId, Runtime, Request) {
        self.request.kind = kind;
        (self.thread, self.runtime, self.request)
    }
}
