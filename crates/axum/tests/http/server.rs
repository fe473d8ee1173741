//! A small agent that is served, and clients of it.
use std::sync::Arc;

use async_trait::async_trait;
use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderMap, Method, Request, StatusCode},
};
use fugato_axum::{
    AccessDenied, AgentRoutes, AllowAll, BadInput, Caller, MessageIntent, ServedAgent, Tenant,
    TimelineItem, UserMessage,
};
use fugato_graph::{BoxError, Context, END, Graph, Outcome, Runner};
use fugato_state::{Question, State, ThreadId};
use fugato_store::{MemoryLog, ThreadLog};
use fugato_stream::{Event, EventKind, decode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tower::ServiceExt as _;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LetterState {
    pub(crate) wish: String,
    pub(crate) extra: Value,
    pub(crate) steps: u32,
    pub(crate) placed: Option<bool>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Change {
    Wished { wish: String, extra: Value },
    Stepped,
    Judged(bool),
}

impl State for LetterState {
    type Update = Change;

    fn apply(&mut self, change: Change) {
        match change {
            Change::Wished { wish, extra } => {
                *self = Self {
                    wish,
                    extra,
                    ..Self::default()
                }
            }
            Change::Stepped => self.steps += 1,
            Change::Judged(placed) => self.placed = Some(placed),
        }
    }
}

/// Thinks, asks and places. `talk` asks nothing; `slow` waits in the middle of its words until the
/// gate lets it go on; `long` takes nine steps, each through the gate; `many` takes many, and says
/// something in each; `fail` fails; `sealed` asks for an approval with a digest; `nonsense` is
/// refused, and `instead` replaces the open question; `whichever` asks a question that approves nothing.
pub(crate) struct LetterAgent {
    runner: Runner<LetterState>,
}

async fn think(cx: &Context<LetterState>, gate: &Semaphore) -> Result<Outcome<Change>, BoxError> {
    let wish = cx.state().wish.clone();
    if wish.contains("many") {
        cx.emit(EventKind::Status {
            code: "step".into(),
            summary: String::new(),
        });
        return Ok(Outcome::done([Change::Stepped]));
    }
    if wish.contains("long") {
        gate.acquire().await?.forget();
        return Ok(Outcome::done([Change::Stepped]));
    }
    let say = |text: &str| {
        cx.emit(EventKind::TextDelta {
            block: "answer".into(),
            text: text.into(),
        });
    };
    cx.emit(EventKind::ReasoningDelta {
        block: "thought".into(),
        text: "Which day?".into(),
    });
    cx.emit(EventKind::ReasoningFinished {
        block: "thought".into(),
    });
    say("Let me ");
    if wish.contains("slow") {
        gate.acquire().await?.forget();
    }
    if wish.contains("fail") {
        return Err("the model is not there".into());
    }
    say("look.");
    cx.emit(EventKind::TextFinished {
        block: "answer".into(),
    });
    Ok(Outcome::done([Change::Stepped]).note(EventKind::Card {
        card: "week".into(),
        data: json!({ "days": 7 }),
    }))
}

/// Asks for an approval that is bound to a digest.
async fn seal(cx: Context<LetterState>) -> Result<Outcome<Change>, BoxError> {
    if let Some(placed) = cx.answer("answer")? {
        return Ok(Outcome::done([Change::Judged(placed)]));
    }
    let prompt = json!({ "type": "confirm", "title": "Seal it?" });
    let question = Question::new::<bool>("answer", prompt).digest("1f0c");
    Ok(Outcome::ask(question))
}

/// Asks a question in words, which has no digest.
async fn which(cx: Context<LetterState>) -> Result<Outcome<Change>, BoxError> {
    Ok(match cx.answer::<String>("day")? {
        Some(_) => Outcome::done([Change::Stepped]),
        None => Outcome::ask(Question::new::<String>("day", json!("Which day?"))),
    })
}

/// More steps than events wait for one reader.
pub(crate) const MANY: u32 = 1500;

fn graph(gate: Arc<Semaphore>) -> Graph<LetterState> {
    Graph::<LetterState>::starting_at("think")
        .node("think", move |cx: Context<LetterState>| {
            let gate = gate.clone();
            async move { think(&cx, &gate).await }
        })
        .pause(
            "confirm",
            |desk| json!({ "type": "confirm", "title": "Place it?", "summary": desk.wish }),
            |_, placed: bool| Change::Judged(placed),
        )
        .node("seal", seal)
        .node("which", which)
        .branch(
            "think",
            ["think", "confirm", "seal", "which", END],
            |desk| {
                let steps = [("long", 9), ("many", MANY)];
                let steps = steps.iter().find(|(word, _)| desk.wish.contains(word));
                if steps.is_some_and(|(_, steps)| desk.steps < *steps) {
                    "think"
                } else if steps.is_some() || desk.wish.contains("talk") {
                    END
                } else if desk.wish.contains("sealed") {
                    "seal"
                } else if desk.wish.contains("whichever") {
                    "which"
                } else {
                    "confirm"
                }
            },
        )
        .edge("confirm", END)
        .edge("seal", END)
        .edge("which", END)
        .output(|desk| {
            let output = match desk.placed {
                Some(true) => "placed",
                Some(false) => "left",
                None => "talked",
            };
            output.to_owned()
        })
        .build()
        .expect("the graph is well formed")
}

#[async_trait]
impl ServedAgent for LetterAgent {
    type State = LetterState;

    fn name(&self) -> &'static str {
        "clerk"
    }

    fn runner(&self) -> &Runner<LetterState> {
        &self.runner
    }

    async fn input(&self, said: UserMessage) -> Result<Vec<Change>, BadInput> {
        if said.text.is_empty() {
            return Err(BadInput::new("say what you wish for"));
        }
        if said.text.contains("nonsense") {
            return Err(BadInput::new("nonsense is no wish"));
        }
        Ok(vec![Change::Wished {
            wish: said.text,
            extra: said.extra.into(),
        }])
    }

    async fn intent(&self, _: &ThreadId, said: &UserMessage) -> Result<MessageIntent, BadInput> {
        Ok(if said.text.contains("instead") {
            MessageIntent::Instead
        } else {
            MessageIntent::Request
        })
    }

    fn title(&self, state: &LetterState) -> Option<String> {
        Some(format!("About {}", state.wish))
    }

    fn timeline_items(&self, changes: &[Change]) -> Option<Vec<TimelineItem>> {
        let wish = |change: &Change| match change {
            Change::Wished { wish, .. } => Some(said(wish)),
            _ => None,
        };
        Some(changes.iter().filter_map(wish).collect())
    }

    fn timeline(&self, state: &LetterState) -> Vec<TimelineItem> {
        vec![said(&state.wish)]
    }
}

fn said(wish: &str) -> TimelineItem {
    TimelineItem::UserText {
        text: wish.to_owned(),
    }
}

/// A store, the gate that slow runs wait for, and agents over both.
pub(crate) struct LetterServer {
    pub(crate) log: Arc<MemoryLog>,
    pub(crate) gate: Arc<Semaphore>,
}

impl LetterServer {
    pub(crate) fn open() -> Self {
        Self {
            log: Arc::default(),
            gate: Arc::new(Semaphore::new(0)),
        }
    }

    pub(crate) fn clerk(&self) -> LetterAgent {
        let runner = Runner::new(graph(self.gate.clone()), self.log.clone());
        LetterAgent { runner }
    }

    /// Returns an agent over another log.
    pub(crate) fn clerk_over(&self, log: Arc<dyn ThreadLog>) -> LetterAgent {
        let runner = Runner::on_log(graph(self.gate.clone()), log);
        LetterAgent { runner }
    }

    pub(crate) fn routes(&self) -> AgentRoutes<LetterAgent> {
        AgentRoutes::new(self.clerk()).authenticate(AllowAll)
    }

    pub(crate) fn client(&self) -> Client {
        Client(self.routes().router())
    }
}

/// Identifies the caller by the header `user`.
pub(crate) fn by_header(request: &axum::http::request::Parts) -> Result<Caller, AccessDenied> {
    let user = request.headers.get("user").and_then(|it| it.to_str().ok());
    let user = user.ok_or_else(|| AccessDenied::unauthorized("send the header user"))?;
    if user == "mallory" {
        return Err(AccessDenied::forbidden("mallory may not come in"));
    }
    let tenant =
        Tenant::new(user).map_err(|error| AccessDenied::unauthorized(error.to_string()))?;
    Ok(Caller::new(tenant).user(user))
}

/// A client that calls a router without a network.
#[derive(Clone)]
pub(crate) struct Client(pub(crate) Router);

/// A complete response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The status and the type of the error.
    pub(crate) fn error(&self) -> (u16, String) {
        let kind = self.json()["error"]["type"].as_str().unwrap().to_owned();
        (self.status.as_u16(), kind)
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        decode(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |it| it.to_str().unwrap())
    }
}

impl Client {
    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.0.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        Answer {
            status: parts.status,
            headers: parts.headers,
            body: String::from_utf8(bytes.to_vec()).unwrap(),
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.with(Method::GET, path, &[], Value::Null).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.with(Method::POST, path, &[], body).await
    }

    pub(crate) async fn with(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Value,
    ) -> Answer {
        self.send(request(method, path, headers, &body)).await
    }

    /// Begins a run, and reads it to its end.
    pub(crate) async fn run(&self, thread: &str, text: &str) -> Vec<Event> {
        let path = format!("/threads/{thread}/runs");
        let accept = [("accept", "text/event-stream")];
        let body = json!({ "text": text });
        let answer = self.with(Method::POST, &path, &accept, body).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        answer.events()
    }

    /// The id of the only open question.
    pub(crate) async fn asked(&self, thread: &str) -> String {
        let shown = self.get(&format!("/threads/{thread}")).await.json();
        shown["interrupts"][0]["id"].as_str().unwrap().to_owned()
    }
}

pub(crate) fn request(
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    if body.is_null() {
        return request.body(Body::empty()).unwrap();
    }
    let request = request.header("content-type", "application/json");
    request.body(Body::from(body.to_string())).unwrap()
}

/// The kinds of events, by name.
pub(crate) fn kinds(events: &[Event]) -> Vec<String> {
    let kind = |event: &Event| {
        let json = serde_json::to_value(&event.kind).unwrap();
        json["kind"].as_str().unwrap().to_owned()
    };
    events.iter().map(kind).collect()
}
