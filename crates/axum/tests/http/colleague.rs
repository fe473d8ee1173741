//! Callers of the same tenant who may not answer in a conversation, change it, or see it.
use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::http::{Method, StatusCode, request::Parts};
use fugato_axum::{
    AccessDenied, AgentRoutes, BadInput, Caller, ServedAgent, Tenant, ThreadAccess, UserMessage,
    belongs,
};
use fugato_graph::{BoxError, Context, END, Graph, NodePolicy, Runner, RunnerOptions};
use fugato_state::{Interrupt, State, ThreadId};
use fugato_store::MemoryLog;
use fugato_stream::QuestionAnswer;
use futures::{SinkExt as _, StreamExt as _};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::{sync::Semaphore, time::timeout};
use tokio_tungstenite::{
    connect_async,
    tungstenite::{Message, client::IntoClientRequest as _},
};

use crate::{
    hostile::answers,
    server::{Answer, Client},
    wire::{PATIENCE, TestServer},
};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Claim {
    of: String,
    claimed: Option<bool>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
enum Change {
    Begun(String),
    Claimed(bool),
    Looked,
}

impl State for Claim {
    type Update = Change;

    fn apply(&mut self, change: Change) {
        match change {
            Change::Begun(of) => *self = Self { of, claimed: None },
            Change::Claimed(claimed) => self.claimed = Some(claimed),
            Change::Looked => {}
        }
    }
}

/// Asks the person who began; with `busy`, a task next to the question fails, with a retry in an
/// hour.
#[derive(Clone)]
struct ColleagueState {
    runner: Runner<Claim>,
    /// The access that only the person who began has, besides the right to answer.
    own: &'static [ThreadAccess],
}

impl ColleagueState {
    fn open(busy: bool) -> Self {
        Self::opening(busy, Arc::new(Semaphore::new(Semaphore::MAX_PERMITS)))
    }

    /// Its first step, before which nothing is stored, waits for the gate.
    fn opening(busy: bool, gate: Arc<Semaphore>) -> Self {
        let hour = Duration::from_secs(3600);
        let look = move |_: Context<Claim>| async move {
            let found = if busy {
                Err("it was busy")
            } else {
                Ok(Change::Looked)
            };
            found.map_err(BoxError::from)
        };
        let graph = Graph::<Claim>::starting_at("open")
            .node("open", move |_: Context<Claim>| {
                let gate = Arc::clone(&gate);
                async move {
                    gate.acquire().await?.forget();
                    Ok::<_, BoxError>(Change::Looked)
                }
            })
            .pause(
                "ask",
                |_| json!({ "type": "confirm" }),
                |_, yes| Change::Claimed(yes),
            )
            .node("look", look)
            .policy(
                "look",
                NodePolicy::default().attempts(2).backoff(hour, hour),
            )
            .node("close", async |_: Context<Claim>| Change::Looked)
            .edge("open", "ask")
            .edge("open", "look")
            .join(["ask", "look"], "close")
            .edge("close", END);
        let graph = graph.build().expect("the graph is well formed");
        let options = RunnerOptions::default().longest_sleep(Duration::ZERO);
        let runner = Runner::new(graph, Arc::new(MemoryLog::default())).options(options);
        Self { runner, own: &[] }
    }

    async fn must_be_theirs(&self, caller: &Caller, thread: &ThreadId) -> Result<(), BadInput> {
        let is_theirs = |claim: &Claim| Some(&claim.of) == caller.user.as_ref();
        belongs(&self.runner, thread, is_theirs).await
    }

    fn routes(&self) -> AgentRoutes<Self> {
        AgentRoutes::new(self.clone()).authenticate(by_user)
    }

    fn client(&self) -> Client {
        Client(self.routes().router())
    }
}

#[async_trait]
impl ServedAgent for ColleagueState {
    type State = Claim;

    fn name(&self) -> &'static str {
        "desk"
    }

    fn runner(&self) -> &Runner<Claim> {
        &self.runner
    }

    async fn allows(
        &self,
        caller: &Caller,
        thread: &ThreadId,
        access: ThreadAccess,
    ) -> Result<(), BadInput> {
        if self.own.contains(&access) {
            self.must_be_theirs(caller, thread).await?;
        }
        Ok(())
    }

    async fn input(&self, said: UserMessage) -> Result<Vec<Change>, BadInput> {
        Ok(vec![Change::Begun(said.caller.user.unwrap_or_default())])
    }

    async fn answer(
        &self,
        thread: &ThreadId,
        caller: &Caller,
        _: &Interrupt,
        answered: QuestionAnswer,
    ) -> Result<Value, BadInput> {
        self.must_be_theirs(caller, thread).await?;
        Ok(answered.reply.into_value())
    }
}

/// Puts every user in one tenant; each may see how the agent works.
fn by_user(request: &Parts) -> Result<Caller, AccessDenied> {
    let user = request.headers.get("user").and_then(|it| it.to_str().ok());
    let user = user.ok_or_else(|| AccessDenied::unauthorized("send the header user"))?;
    let tenant = Tenant::new("acme").expect("a short name");
    Ok(Caller::new(tenant).user(user).operator())
}

async fn send(client: &Client, user: &str, path: &str, body: Value) -> Answer {
    let method = if body.is_null() {
        Method::GET
    } else {
        Method::POST
    };
    let headers = [("user", user), ("accept", "text/event-stream")];
    client.with(method, path, &headers, body).await
}

/// A claim of Ada's that waits; returns the question's id.
async fn begun(client: &Client) -> String {
    let body = json!({ "text": "lunch" });
    let answer = send(client, "ada", "/threads/desk/runs", body).await;
    assert_eq!(answer.status, StatusCode::OK);
    let question = |event: &fugato_stream::Event| match &event.kind {
        fugato_stream::EventKind::InterruptRaised(asked) => Some(asked.id.to_string()),
        _ => None,
    };
    answer.events().iter().find_map(question).expect("it asks")
}

/// Reads everything that is known of the thread.
async fn shown(client: &Client) -> [Value; 3] {
    let see = |path: &'static str| send(client, "ada", path, Value::Null);
    [
        see("/threads/desk").await.json(),
        see("/threads/desk/state").await.json(),
        see("/threads/desk/history").await.json(),
    ]
}

async fn every_door_refuses(busy: bool) {
    let client = ColleagueState::open(busy).client();
    let id = begun(&client).await;
    let before = shown(&client).await;
    for (protocol, path, body) in answers("desk", &id) {
        let refused = send(&client, "bob", &path, body).await;
        assert_eq!(refused.error(), (404, "not_found".into()), "{protocol}");
        assert_eq!(shown(&client).await, before, "{protocol}");
    }
    // A shorter answer is one to the same question.
    let bare = json!({ "messages": [{ "role": "user", "content": "" }], "ext": {
        "conversation_id": "desk", "resume": { "type": "confirm", "action": "approve" } } });
    let refused = send(&client, "bob", "/v1/chat/completions", bare).await;
    assert_eq!(refused.error(), (404, "not_found".into()));
    assert_eq!(shown(&client).await, before);
    let (_, path, body) = answers("desk", &id).into_iter().next().expect("a protocol");
    let taken = send(&client, "ada", &path, body).await;
    assert_eq!(taken.status, StatusCode::OK, "{}", taken.body);
    let [_, state, history] = shown(&client).await;
    assert_eq!(state["state"]["of"], "ada");
    assert!(history.to_string().contains("\"answered\""), "{history}");
}

#[tokio::test]
async fn every_door_refuses_a_colleague() {
    every_door_refuses(false).await;
}

/// Questions are open also while another task of the thread waits for its retry.
#[tokio::test]
async fn every_door_refuses_a_colleague_while_other_work_is_left() {
    every_door_refuses(true).await;
}

/// Every request that names the thread, but for those that only read it.
fn changes() -> Vec<(Method, &'static str, Value)> {
    let said = json!([{ "role": "user", "content": "dinner" }]);
    let ag_ui = json!({ "threadId": "desk", "runId": "r", "messages": said });
    let openai = json!({ "messages": said, "ext": { "conversation_id": "desk" } });
    let post = |path, body| (Method::POST, path, body);
    vec![
        post("/threads/desk/runs", json!({ "text": "dinner" })),
        post("/threads/desk/recover", json!({})),
        post("/threads/desk/retry", json!({})),
        post("/threads/desk/cancel", json!({})),
        post("/agui", ag_ui),
        post("/v1/chat/completions", openai),
        post("/api/chat", json!({ "id": "desk", "messages": said })),
        post("/sse/react", json!({ "thread": "desk", "text": "dinner" })),
        (Method::DELETE, "/threads/desk", Value::Null),
    ]
}

/// Every request that reads the thread.
async fn reads(client: &Client) -> Vec<(Method, &'static str, Value)> {
    let [_, _, history] = shown(client).await;
    let mut entries = history["entries"].as_array().expect("entries").iter();
    let at = entries.rfind(|entry| entry["checkpoint"] == true);
    let copy = json!({ "at": at.expect("a checkpoint")["seq"], "thread": "copy" });
    let paths = [
        "/threads/desk",
        "/threads/desk/events?follow=false",
        "/threads/desk/history",
        "/threads/desk/timeline",
        "/threads/desk/state",
        "/api/chat/desk/stream",
        "/sse/react?thread=desk",
    ];
    let again = json!({ "ext": { "conversation_id": "desk", "resume": { "after": 0 } } });
    let others = [
        ("/v1/chat/completions", again),
        ("/threads/desk/fork", copy),
    ];
    let others = others.map(|(path, body)| (Method::POST, path, body));
    let paths = paths.map(|path| (Method::GET, path, Value::Null));
    paths.into_iter().chain(others).collect()
}

async fn listed(client: &Client, user: &str) -> Vec<Value> {
    let told = send(client, user, "/threads?limit=1", Value::Null).await;
    let told = told.json();
    // The next page begins after a name that the caller may know.
    assert_eq!(told["next"], told["threads"][0]["thread"]);
    let threads = told["threads"].as_array().expect("a list").iter();
    threads.map(|told| told["thread"].clone()).collect()
}

#[tokio::test]
async fn nobody_else_changes_what_is_somebodys_own() {
    let mut desk = ColleagueState::open(false);
    desk.own = &[ThreadAccess::Write];
    let client = desk.client();
    let id = begun(&client).await;
    let before = shown(&client).await;
    let answers = answers("desk", &id).into_iter();
    let answers = answers.map(|(_, path, body)| (Method::POST, path, body));
    let changes = changes().into_iter();
    let changes = changes.map(|(method, path, body)| (method, path.to_owned(), body));
    for (method, path, body) in changes.chain(answers) {
        let asked = format!("{method} {path}");
        // Whoever begins a conversation learns that its name is taken, and nobody else does.
        let begins = body.to_string().contains("dinner");
        let expected = if begins {
            (409, "exists")
        } else {
            (404, "not_found")
        };
        let refused = client.with(method, &path, &[("user", "bob")], body).await;
        assert_eq!(refused.error(), (expected.0, expected.1.into()), "{asked}");
        assert_eq!(shown(&client).await, before, "{asked}");
    }
    assert_eq!(listed(&client, "bob").await, ["desk"]);
    for (method, path, body) in reads(&client).await {
        let read = client.with(method, path, &[("user", "bob")], body).await;
        assert!(read.status.is_success(), "{path}: {}", read.body);
    }
}

#[tokio::test]
async fn nobody_else_sees_what_is_somebodys_own() {
    let mut desk = ColleagueState::open(false);
    desk.own = &[ThreadAccess::Read];
    let client = desk.client();
    begun(&client).await;
    assert_eq!(listed(&client, "bob").await, [Value::Null; 0]);
    assert_eq!(listed(&client, "ada").await, ["desk"]);
    for (method, path, body) in reads(&client).await {
        let asked = format!("{method} {path}");
        for (user, expected) in [("bob", false), ("ada", true)] {
            let (method, body) = (method.clone(), body.clone());
            let read = client.with(method, path, &[("user", user)], body).await;
            if expected {
                assert!(read.status.is_success(), "{asked}: {}", read.body);
            } else if path.starts_with("/api/chat/") {
                // No run is under way, as in a conversation that does not exist.
                assert_eq!(read.status, StatusCode::NO_CONTENT, "{asked}");
            } else {
                assert_eq!(read.error(), (404, "not_found".into()), "{asked}");
                assert!(
                    read.body.contains("there is no thread \\\"desk\\\""),
                    "{}",
                    read.body
                );
            }
        }
    }
    let served = TestServer::open(desk.routes()).await;
    for (user, expected) in [("bob", false), ("ada", true)] {
        let opened = connect_async(socket(&served, user)).await;
        assert_eq!(opened.is_ok(), expected, "{user}");
    }
}

#[tokio::test]
async fn who_came_to_an_empty_place_does_not_see_what_somebody_else_begins_there() {
    let gate = Arc::new(Semaphore::new(0));
    let mut desk = ColleagueState::opening(false, Arc::clone(&gate));
    desk.own = &[ThreadAccess::Read];
    let served = TestServer::open(desk.routes()).await;
    let bob = connect_async(socket(&served, "bob")).await;
    let (mut bob, _) = bob.expect("it opens");
    let heard = tokio::spawn(async move {
        let mut heard = vec![];
        while let Some(Ok(message)) = bob.next().await {
            if let Ok(Value::Object(told)) = serde_json::from_str(message.to_text().unwrap_or("")) {
                heard.push(told["event"].clone());
            }
        }
        heard
    });
    let ada = connect_async(socket(&served, "ada")).await;
    let (mut ada, _) = ada.expect("it opens");
    let begin = json!({ "event": "user_input", "data": { "content": "lunch" } });
    let begin = Message::text(begin.to_string());
    ada.send(begin).await.expect("it is sent");
    // Nothing of the thread is stored yet.
    let heard = timeout(PATIENCE, heard).await.expect("it ends in time");
    assert_eq!(heard.expect("it can be read"), ["status", "error"]);
    gate.add_permits(1);
    let asked = async {
        while let Some(Ok(message)) = ada.next().await {
            if message.to_string().contains("confirm") {
                return true;
            }
        }
        false
    };
    assert!(timeout(PATIENCE, asked).await.expect("in time"));
}

#[tokio::test]
async fn nobody_copies_a_thread_to_somebody_elses_place() {
    let mut desk = ColleagueState::open(false);
    desk.own = &[ThreadAccess::Write];
    let client = desk.client();
    begun(&client).await;
    let (_, path, copy) = reads(&client).await.pop().expect("the copy is the last");
    let copied = client
        .with(Method::POST, path, &[("user", "ada")], copy.clone())
        .await;
    assert_eq!(copied.status, StatusCode::CREATED);
    for (user, expected) in [("bob", (409, "exists")), ("ada", (409, "exists"))] {
        let again = client
            .with(Method::POST, path, &[("user", user)], copy.clone())
            .await;
        assert_eq!(again.error(), (expected.0, expected.1.into()), "{user}");
    }
}

fn socket(served: &TestServer, user: &str) -> axum::http::Request<()> {
    let url = format!("ws://{}/ws/chat?thread=desk", served.address);
    let mut request = url.into_client_request().expect("a request");
    let user = user.parse().expect("a name");
    request.headers_mut().insert("user", user);
    request
}

#[tokio::test]
async fn a_socket_refuses_a_colleague() {
    for (own, said, expected) in [
        (
            &[][..],
            json!({ "event": "answer", "data": { "answer": true } }),
            "not_found",
        ),
        (
            &[ThreadAccess::Write],
            json!({ "event": "cancel" }),
            "not_found",
        ),
        (
            &[ThreadAccess::Write],
            json!({ "event": "user_input", "data": { "content": "dinner" } }),
            "exists",
        ),
    ] {
        let mut desk = ColleagueState::open(false);
        desk.own = own;
        let client = desk.client();
        begun(&client).await;
        let before = shown(&client).await;
        let served = TestServer::open(desk.routes()).await;
        let opened = connect_async(socket(&served, "bob")).await;
        let (mut socket, _) = opened.expect("it opens");
        let said = Message::text(said.to_string());
        socket.send(said).await.expect("it is sent");
        let refused = async {
            while let Some(Ok(heard)) = socket.next().await {
                let heard = heard.to_text().expect("text");
                let heard: Value = serde_json::from_str(heard).expect("JSON");
                if heard["event"] == "error" {
                    return heard["data"]["type"].clone();
                }
            }
            Value::Null
        };
        let told = timeout(PATIENCE, refused).await;
        let told = told.expect("it is told in time");
        assert_eq!(told, expected);
        assert_eq!(shown(&client).await, before);
    }
}
