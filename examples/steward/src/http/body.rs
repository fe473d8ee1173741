//! What clients send.
use axum::Json;
use fugato::{axum::Caller, state::ThreadId};
use serde::Deserialize;

use super::{Sent, Served, bad};
use crate::{
    clerk::{Clerk, Confirmation},
    form::{Fields, FormKind, day},
    served::employee,
    state::{Request, RequestKind, Runtime},
};

/// The body of a request, to any of the endpoints.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Body {
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
    pub(super) thread: ThreadId,
    pub(super) runtime: Runtime,
    pub(super) request: Request,
    pub(super) confirmation: Option<Confirmation>,
}

/// More of a name than any client needs.
const LONGEST_NAME: usize = 100;

pub(super) fn asked(
    clerk: &Clerk,
    caller: &Caller,
    sent: Sent,
    kind: impl FnOnce(&mut Body) -> Served<RequestKind>,
) -> Served<Asked> {
    let Json(mut body) = sent?;
    let kind = kind(&mut body)?;
    if !body.base_date.is_empty() && day(&body.base_date).is_none() {
        return Err(bad("\"base_date\" must be a day such as 2026-03-02"));
    }
    if body.client_trace_id.len() > LONGEST_NAME {
        let why = format!("\"client_trace_id\" may have {LONGEST_NAME} bytes");
        return Err(bad(why));
    }
    let request = Request::new(kind, &body.conversation_id, &employee(caller));
    Ok(Asked {
        thread: caller.thread(&body.conversation_id)?,
        runtime: path(clerk, body.runtime.as_deref())?,
        request: Request {
            client_trace_id: body.client_trace_id,
            message: body.message,
            base_date: body.base_date,
            attachments: body.attachments,
            context: body.context,
            lang: body.lang,
            ..request
        },
        confirmation: body.confirmation,
    })
}

/// Which path a request is carried out on: one request can choose, before all do.
fn path(clerk: &Clerk, asked: Option<&str>) -> Served<Runtime> {
    let unknown = |_| bad("\"runtime\" must be graph, langgraph or legacy");
    let asked = asked.map(|name| name.parse().map_err(unknown));
    asked.unwrap_or(Ok(clerk.runtime()))
}

impl Body {
    pub(super) fn plan(&mut self) -> Served<RequestKind> {
        self.says(RequestKind::Plan)
    }

    pub(super) fn decide(&mut self) -> Served<RequestKind> {
        self.says(RequestKind::Decide)
    }

    pub(super) fn slots(&mut self) -> Served<RequestKind> {
        let form = self.form;
        self.understood(RequestKind::Slots { form })
    }

    pub(super) fn execute(&mut self) -> Served<RequestKind> {
        let action = self.action.take();
        Ok(RequestKind::Execute {
            action: action.ok_or_else(|| bad("\"action\" must name the action"))?,
            arguments: std::mem::take(&mut self.arguments),
            precheck_ref: self.precheck_ref.take(),
        })
    }

    fn says(&mut self, kind: RequestKind) -> Served<RequestKind> {
        if self.message.trim().is_empty() {
            return Err(bad("\"message\" must say what is wanted"));
        }
        self.understood(kind)
    }

    /// Only the request of an action confirms one.
    fn understood(&self, kind: RequestKind) -> Served<RequestKind> {
        match self.confirmation {
            Some(_) => Err(bad("\"confirmation\" belongs to /steward/actions/execute")),
            None => Ok(kind),
        }
    }
}
