//! The endpoints of this program, in addition to those that all agents have.
mod body;

use std::{future::ready, sync::Arc};

use axum::{
    Extension, Json, Router,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use fugato::{
    axum::{ApiError, Caller, JsonInput, PathInput, QueryInput, progress},
    cli::Lang,
    form::{Choice, Field},
    state::{ThreadId, say},
    stream::{Event, EventKind, NamedSseEncoder, Vocabulary},
};
use futures::StreamExt as _;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    action,
    files::{Attachment, FileError},
    ledger::LedgerError,
    served::employee,
    state::RequestKind,
    steward_service::{ClerkError, StewardService},
};

use body::{Body, StewardRequest, asked};

/// Returns the endpoints under `/steward`, for
/// [`AgentRoutes::beside`](fugato::axum::AgentRoutes::beside).
pub fn routes(clerk: StewardService) -> Router {
    Router::new()
        .route("/steward/plans", post(plans))
        .route("/steward/plans/stream", post(stream))
        .route("/steward/slot-decisions", post(slots))
        .route("/steward/runtime-decisions", post(decide))
        .route("/steward/actions/execute", post(execute))
        .route("/steward/documents", get(documents))
        .route("/steward/words", get(words))
        .route("/steward/attachments", post(upload).get(uploaded))
        .route("/steward/attachments/{id}", get(fetch))
        .with_state(Arc::new(clerk))
}

type Front = State<Arc<StewardService>>;
/// The caller of a request, already authenticated.
type CallerExt = Extension<Caller>;
type JsonBody = JsonInput<Body>;
type ApiResult<T = Json<Value>> = Result<T, ApiError>;

async fn plans(State(clerk): Front, Extension(caller): CallerExt, sent: JsonBody) -> ApiResult {
    answered(&clerk, asked(&clerk, &caller, sent, Body::says)?).await
}

async fn slots(State(clerk): Front, Extension(caller): CallerExt, sent: JsonBody) -> ApiResult {
    let kind = |body: &mut Body| Ok(RequestKind::Slots { form: body.form });
    answered(&clerk, asked(&clerk, &caller, sent, kind)?).await
}

async fn decide(State(clerk): Front, Extension(caller): CallerExt, sent: JsonBody) -> ApiResult {
    answered(&clerk, asked(&clerk, &caller, sent, Body::decides)?).await
}

async fn execute(State(clerk): Front, Extension(caller): CallerExt, sent: JsonBody) -> ApiResult {
    answered(&clerk, asked(&clerk, &caller, sent, Body::executes)?).await
}

async fn answered(clerk: &StewardService, asked: StewardRequest) -> ApiResult {
    let conversation = clerk.on(asked.runtime, &asked.thread);
    let answer = conversation.execute(&asked.request, asked.confirmation);
    Ok(Json(answer.await?))
}

/// Makes a plan and streams its phases while it is made: `node_start`, `status` and the like as
/// they happen.
async fn stream(
    State(clerk): Front,
    Extension(caller): CallerExt,
    sent: JsonBody,
) -> ApiResult<Response> {
    let asked = asked(&clerk, &caller, sent, Body::says)?;
    let head = clerk.runner().log().head(&asked.thread).await?;
    let after = head.map_or(0, |head| head.seq);
    let events = clerk.runner().follow(&asked.thread, after);
    let events = events.filter(|event| ready(is_progress(event)));
    let answer = async move { Ok(answered(&clerk, asked).await?.0) };
    Ok(progress(
        events,
        NamedSseEncoder::new(Vocabulary::REACT),
        answer,
    ))
}

/// Returns true for events that are sent while the run goes on. The answer itself reports the end.
fn is_progress(event: &Event) -> bool {
    matches!(
        event.kind,
        EventKind::NodeStarted
            | EventKind::NodeFinished
            | EventKind::NodeFailed { .. }
            | EventKind::Status { .. }
    )
}

/// Returns the applications and claims of the caller.
async fn documents(State(clerk): Front, Extension(caller): CallerExt) -> ApiResult {
    let read = clerk.deps().ledger.documents(&employee(&caller)).await;
    Ok(Json(json!(read.map_err(|error| unread(&error))?)))
}

fn unread(error: &LedgerError) -> ApiError {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    ApiError::new(status, "store_unavailable", error.to_string())
}

/// Returns what people call the forms with their fields and choices, and the actions that write.
async fn words(State(clerk): Front) -> Json<Value> {
    let both =
        |label: &dyn Fn(Lang) -> String| json!({ "en": label(Lang::En), "zh": label(Lang::Zh) });
    let choice = |it: &Choice| (it.means.clone(), both(&|lang| it.label(lang).to_owned()));
    let field = |it: &Field| {
        let choices: Map<_, _> = it.words.iter().map(choice).collect();
        let label = both(&|lang| it.label(lang).to_owned());
        (
            it.name.clone(),
            json!({ "label": label, "choices": choices }),
        )
    };
    let forms = clerk.deps().desk.forms.iter();
    let forms = forms.map(|form| {
        let fields: Map<_, _> = form.fields.iter().map(field).collect();
        let label = both(&|lang| form.label(lang).to_owned());
        json!({ "name": form.name, "label": label, "fields": fields })
    });
    let actions = action::WHITELIST.iter().filter(|action| action.writes());
    let actions: Map<_, _> = actions
        .map(|it| {
            (
                it.name.to_owned(),
                both(&|lang| action::label(it.name, lang)),
            )
        })
        .collect();
    Json(json!({ "forms": forms.collect::<Vec<_>>(), "actions": actions }))
}

/// A file that is uploaded, or the conversation whose files are asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Upload {
    #[serde(default)]
    conversation_id: String,
    #[serde(default)]
    name: String,
    /// The content, in base64.
    #[serde(default)]
    content: String,
}

/// Keeps a file for a conversation: `{conversation_id, name, content}`.
async fn upload(
    State(clerk): Front,
    Extension(caller): CallerExt,
    JsonInput(sent): JsonInput<Upload>,
) -> ApiResult {
    let content = BASE64_STANDARD.decode(sent.content.as_bytes());
    let content = content.map_err(|_| {
        bad(say!(
            "\"content\" must be the file in base64",
            "\"content\" 必须是 base64 编码的文件"
        ))
    })?;
    let thread = own(&clerk, &caller, &sent.conversation_id).await?;
    let owner = employee(&caller);
    let kept = clerk
        .deps()
        .files
        .upload(&thread, &owner, &sent.name, content);
    Ok(Json(kept.await?.linked()))
}

/// Returns a file of the caller, for a folder of theirs: no browser shows it in its own place.
async fn fetch(
    State(clerk): Front,
    Extension(caller): CallerExt,
    PathInput(id): PathInput,
) -> ApiResult<Response> {
    let owner = employee(&caller);
    let documents = clerk.deps().ledger.documents(&owner).await;
    let documents = documents.map_err(|error| unread(&error))?;
    let file = clerk.deps().files.fetch(&owner, &documents, &id).await?;
    let headers = [
        (header::CONTENT_TYPE, file.media.to_owned()),
        (header::CONTENT_DISPOSITION, saved_as(&file.name)),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (header::CONTENT_SECURITY_POLICY, "sandbox".to_owned()),
        (header::CACHE_CONTROL, "private, no-store".to_owned()),
    ];
    Ok((headers, file.content).into_response())
}

/// Returns the header that has a file saved under its name, whatever is in that.
fn saved_as(name: &str) -> String {
    use std::fmt::Write as _;
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let (mut ascii, mut encoded) = (String::new(), String::new());
    for byte in name.bytes() {
        if plain(&byte) {
            ascii.push(char::from(byte));
            encoded.push(char::from(byte));
        } else {
            ascii.push('_');
            // Writing into a string cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    format!("attachment; filename=\"{ascii}\"; filename*=UTF-8''{encoded}")
}

/// Returns the files of a conversation that wait for a document.
async fn uploaded(
    State(clerk): Front,
    Extension(caller): CallerExt,
    QueryInput(of): QueryInput<Upload>,
) -> ApiResult {
    let thread = own(&clerk, &caller, &of.conversation_id).await?;
    let files = clerk.deps().files.of(&thread, &employee(&caller))?;
    let files: Vec<_> = files.iter().map(Attachment::linked).collect();
    Ok(Json(json!({ "files": files })))
}

/// Returns the conversation of this name, if it is the caller's or new.
async fn own(clerk: &StewardService, caller: &Caller, name: &str) -> ApiResult<ThreadId> {
    if name.is_empty() {
        return Err(no_conversation());
    }
    let thread = caller.thread(name)?;
    let state = clerk.runner().state(&thread).await?;
    if state.is_some_and(|state| state.employee != employee(caller)) {
        return Err(ClerkError::SomebodyElses.into());
    }
    Ok(thread)
}

impl From<FileError> for ApiError {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Folder(_) => {
                let status = StatusCode::SERVICE_UNAVAILABLE;
                Self::new(status, "store_unavailable", error.to_string())
            }
            FileError::Unknown { .. } => {
                Self::new(StatusCode::NOT_FOUND, "not_found", error.to_string())
            }
            FileError::Lost { .. } => Self::new(StatusCode::GONE, "lost", error.to_string()),
            FileError::Size { .. } => Self::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "invalid_request",
                error.to_string(),
            ),
            _ => bad(error.to_string()),
        }
    }
}

fn no_conversation() -> ApiError {
    bad(say!(
        "\"conversation_id\" must name the conversation",
        "\"conversation_id\" 必须写明会话"
    ))
}

fn bad(message: impl Into<String>) -> ApiError {
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_request", message)
}

impl From<ClerkError> for ApiError {
    fn from(error: ClerkError) -> Self {
        let said = error.to_string();
        match error {
            ClerkError::Unusable(_) => bad(said),
            ClerkError::Waiting { pending } => Self::new(StatusCode::CONFLICT, "waiting", said)
                .with("pending_interrupt", json!(pending.first())),
            ClerkError::SomebodyElses => Self::new(StatusCode::FORBIDDEN, "forbidden", said),
            ClerkError::Ledger(error) => unread(&error),
            ClerkError::Run(error) => error.into(),
            _ => Self::new(StatusCode::INTERNAL_SERVER_ERROR, "run_failed", said),
        }
    }
}
