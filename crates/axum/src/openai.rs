//! OpenAI's protocol.
use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::IntoResponse,
};
use fugato_graph::{BudgetUnit, RunError, RunErrorKind, ThreadStatus};
use fugato_state::{Seq, say};
use fugato_store::system_clock;
use fugato_stream::{Event, EventKind, OpenAiEncoder, Resume};
use futures::{
    Stream, StreamExt as _,
    stream::{self, BoxStream},
};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use crate::{
    Caller, ThreadAccess, UserMessage,
    address::Address,
    app_state::{
        AppState,
        admission::{AdmittedRun, RunRequest},
    },
    body::JsonBody,
    collect::Completion,
    erased::{AnswerRequest, RunRest},
    error::{ApiError, ApiResult},
    incoming, relay, repeated,
};

/// The extension's fields that are the server's own.
const OWN: [&str; 4] = ["card", "conversation_id", "resume", "confirm_action"];

/// `POST /v1/chat/completions`.
pub(crate) async fn complete(
    State(app_state): State<Arc<AppState>>,
    caller: Caller,
    headers: HeaderMap,
    JsonBody(request): JsonBody,
) -> ApiResult {
    let (name, model) = model(&app_state, &caller, incoming::text(&request, "model")?)?;
    let extra = extension(&request)?;
    let key = incoming::request_key(&headers)?;
    let named = incoming::header(&headers, "x-conversation-id")?;
    let beside = Value::Object(extra);
    let named = match named {
        None => incoming::text(&beside, "conversation_id")?,
        named => named,
    };
    let is_named = named.is_some() || key.is_some();
    let known = if is_named {
        None
    } else {
        repeated::conversation(&app_state, &caller, &request).await?
    };
    let begins = named.is_none() && known.is_none();
    let to = match known {
        Some(to) => to,
        None => Address::of(&caller, named, key.as_deref())?,
    };
    let Resume { answers, after, .. } = Resume::openai(&request)?;
    let streamed = incoming::flag(&request, "stream")?;
    let permit = streamed.then(|| app_state.reader(&caller)).transpose()?;
    let others = incoming::others(&beside, &OWN);
    let answering = AnswerRequest {
        key: key.clone(),
        door: "openai",
        answers,
        extra: others.clone(),
    };
    let running = go_on(&app_state, &to, answering, after, || {
        let mut said = UserMessage::last_of(&caller, &request, others)?.model(model);
        said.begins = begins;
        let said = Box::new(said.under(&beside)?.by("openai"));
        Ok(RunRequest::Start { key, said })
    });
    let AdmittedRun { run, events, end } = running.await?;
    let events = saying_what_is_used_up(events, end, is_chinese(&request));
    let events = saying_who_answers(events);
    let (events, created) = (relay::spoken(events), system_clock() / 1000);
    let id = format!("chatcmpl-{}-{run}", to.name);
    let Some(permit) = permit else {
        let whole = Completion::collect(events).await?;
        let body = whole.body(&id, &name, created, &to.name);
        let mut response = Json(body).into_response();
        relay::name(&mut response, &to);
        return Ok(response);
    };
    let mut encoder = OpenAiEncoder::new(&id, &name, created);
    if request.pointer("/stream_options/include_usage") == Some(&Value::Bool(true)) {
        encoder = encoder.include_usage();
    }
    Ok(relay::respond(&app_state, (&to, permit), events, encoder))
}

/// `GET /v1/models`: the agent, and the agent with each model that the caller may choose.
pub(crate) async fn models(State(app_state): State<Arc<AppState>>, caller: Caller) -> Json<Value> {
    let model = |id| json!({ "id": id, "object": "model", "created": 0, "owned_by": "fugato" });
    let models: Vec<_> = names(&app_state, &caller).into_iter().map(model).collect();
    Json(json!({ "object": "list", "data": models }))
}

/// Returns what the field `model` may be: the name of the agent, or it with a slash and the name of
/// a model.
fn names(app_state: &AppState, caller: &Caller) -> Vec<String> {
    let name = app_state.agent.name();
    let models = app_state.agent.models(caller).into_iter();
    let models = models.map(|model| format!("{name}/{model}"));
    std::iter::once(name.to_owned()).chain(models).collect()
}

/// Returns the name that a request has in its field `model`, and the model that it chooses; without
/// the field, the agent's own choice is meant.
fn model(
    app_state: &AppState,
    caller: &Caller,
    field: Option<&str>,
) -> ApiResult<(String, Option<String>)> {
    let agent = app_state.agent.name();
    let named = field.unwrap_or(agent);
    let allowed = names(app_state, caller);
    if !allowed.iter().any(|name| name == named) {
        let message = say!(
            "there is no model {named:?}; allowed are {}",
            "没有模型 {named:?}；可用的有 {}",
            allowed.join(", ")
        );
        let status = StatusCode::NOT_FOUND;
        return Err(ApiError::new(status, "model_not_found", message));
    }
    let rest = named.strip_prefix(agent).unwrap_or_default();
    let model = rest.strip_prefix('/').map(str::to_owned);
    Ok((named.to_owned(), model))
}

/// Begins or answers a run, or reads it again from the position where the client lost it.
pub(crate) async fn go_on(
    app_state: &Arc<AppState>,
    to: &Address,
    answering: AnswerRequest,
    after: Option<Seq>,
    start: impl FnOnce() -> ApiResult<RunRequest>,
) -> ApiResult<AdmittedRun> {
    if !answering.answers.is_empty() {
        return app_state.begin(to, RunRequest::Resume(answering)).await;
    }
    let Some(after) = after else {
        return app_state.begin(to, start()?).await;
    };
    app_state.allows(to, ThreadAccess::Read).await?;
    let head = app_state.must_exist(to).await?;
    let last = app_state.agent.history(&to.thread, head, 1).await?;
    let run = last
        .first()
        .map_or(fugato_state::RunId(1), |entry| entry.run);
    // The log has the questions, but only a run that is under way sends that it is parked.
    let parked = match app_state.agent.standing(&to.thread).await? {
        ThreadStatus::Waiting(interrupts) if !app_state.agent.is_live(&to.thread) => Some(Event {
            thread: to.thread.clone(),
            run,
            seq: None,
            origin: None,
            kind: EventKind::RunParked { interrupts },
        }),
        _ => None,
    };
    let events = app_state.agent.events(&to.thread, after);
    let events = app_state.shown(to, events.chain(stream::iter(parked)));
    let end = None;
    Ok(AdmittedRun { run, events, end })
}

/// Ends a run that has used up a budget with a message to the person: it is no fault of the server,
/// and what was done stays.
fn saying_what_is_used_up(
    events: impl Stream<Item = Event> + Send + 'static,
    mut end: Option<oneshot::Receiver<Result<RunRest, RunError>>>,
    is_chinese: bool,
) -> BoxStream<'static, Event> {
    let said = events.then(move |mut event| {
        let end = matches!(event.kind, EventKind::RunFailed { .. }).then(|| end.take());
        async move {
            let Some(end) = end.flatten() else {
                return vec![event];
            };
            let Ok(Err(error)) = end.await else {
                return vec![event];
            };
            let RunErrorKind::Budget { meter, limit } = error.kind else {
                return vec![event];
            };
            let text = used_up(meter, limit, is_chinese);
            event.kind = EventKind::RunFinished { output: None };
            let words = spoken_beside(&event, "budget", &text);
            words.into_iter().chain([event]).collect()
        }
    });
    said.flat_map(stream::iter).boxed()
}

/// The custom events that a model has failed, with what a person is told.
const NOTICES: [&str; 2] = ["decided_by_rule", "answered_by_backup"];

/// Says, once each, that a model has failed and who answers in its place: a plain client shows
/// nothing but text. It also stands between the words of a model that broke off and those of another.
fn saying_who_answers(
    events: impl Stream<Item = Event> + Send + 'static,
) -> impl Stream<Item = Event> + Send + 'static {
    let (mut told, mut speaks) = (vec![], false);
    events.flat_map(move |event| {
        let notice = match &event.kind {
            EventKind::TextDelta { .. } => {
                speaks = true;
                None
            }
            EventKind::Custom { name, data } if NOTICES.contains(&name.as_str()) => {
                let text = data.get("text").and_then(Value::as_str);
                text.map(str::to_owned).filter(|text| !told.contains(text))
            }
            _ => None,
        };
        let words = notice.map(|text| {
            let gap = if speaks { "\n\n" } else { "" };
            let said = format!("{gap}{text}\n\n");
            told.push(text);
            spoken_beside(&event, "notice", &said)
        });
        let words = words.into_iter().flatten();
        stream::iter(words.chain([event]).collect::<Vec<_>>())
    })
}

/// Returns a block of text as events beside this one.
fn spoken_beside(event: &Event, block: &str, text: &str) -> [Event; 3] {
    let kinds = [
        EventKind::TextStarted {
            block: block.into(),
        },
        EventKind::TextDelta {
            block: block.into(),
            text: text.into(),
        },
        EventKind::TextFinished {
            block: block.into(),
        },
    ];
    kinds.map(|kind| Event {
        kind,
        seq: None,
        ..event.clone()
    })
}

/// Returns what a person is told when a budget is used up.
fn used_up(meter: BudgetUnit, limit: u64, is_chinese: bool) -> String {
    let seconds = limit.div_ceil(1000);
    if !is_chinese {
        let used = match meter {
            BudgetUnit::WallTime => format!("{seconds} seconds"),
            meter => format!("{limit} {meter}"),
        };
        return format!(
            "I have stopped: this request has used up its {used}. What was done is kept. Say how \
             to go on."
        );
    }
    let used = match meter {
        BudgetUnit::Rounds => format!("{limit} 轮"),
        BudgetUnit::ModelCalls => format!("{limit} 次模型调用"),
        BudgetUnit::ToolCalls => format!("{limit} 次工具调用"),
        BudgetUnit::Tokens => format!("{limit} 个词元"),
        BudgetUnit::WallTime => format!("{seconds} 秒"),
        meter => format!("{limit} {meter}"),
    };
    format!("我先停下了：这次请求的额度（{used}）已经用完。做完的都保留着。请说接下来怎么做。")
}

/// Returns true if the last message of a conversation has Chinese characters.
fn is_chinese(request: &Value) -> bool {
    let messages = request.get("messages").and_then(Value::as_array);
    let last = messages.and_then(|messages| messages.last());
    let is_han = |it: char| ('\u{4e00}'..='\u{9fff}').contains(&it);
    last.is_some_and(|last| incoming::words(last).contains(is_han))
}

fn extension(request: &Value) -> ApiResult<Map<String, Value>> {
    let is_sent = |name: &&str| request.get(*name).is_some_and(|it| !it.is_null());
    let name = ["extra", "ext"].into_iter().find(is_sent);
    incoming::object(request, name.unwrap_or("ext"))
}
