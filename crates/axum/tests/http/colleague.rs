//! Somebody of the same tenant, who may read a conversation but not answer in it.
use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::http::{Method, StatusCode, request::Parts};
use fugato_axum::{Agent, AgentRoutes, Caller, Denied, Said, Tenant, Unusable};
use fugato_graph::{BoxError, Context, END, Graph, NodePolicy, Runner, RunnerOptions};
use fugato_state::{Interrupt, State, ThreadId};
use fugato_store::MemoryLog;
use fugato_stream::Answered;
use futures::{SinkExt as _, StreamExt as _};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_tungstenite::{
    connect_async,
    tungstenite::{Message, client::IntoClientRequest as _},
};

use crate::{
    hostile::answers,
    office::{Answer, Client},
    wire::{PATIENCE, Served},
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

/// Asks whoever began; `busy` work beside the question fails, and is to be tried again in an hour.
#[derive(Clone)]
struct Desk(Runner<Claim>);

impl Desk {
    fn open(busy: bool) -> Self {
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
            .node("open", async |_: Context<Claim>| Change::Looked)
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
        Self(Runner::new(graph, Arc::new(MemoryLog::default())).options(options))
    }

    fn routes(&self) -> AgentRoutes<Self> {
        AgentRoutes::new(self.clone()).authenticate(by_user)
    }

    fn client(&self) -> Client {
        Client(self.routes().router())
    }
}

#[async_trait]
impl Agent for Desk {
    type State = Claim;

    fn name(&self) -> &'static str {
        "desk"
    }

    fn runner(&self) -> &Runner<Claim> {
        &self.0
    }

    async fn input(&self, said: Said) -> Result<Vec<Change>, Unusable> {
        Ok(vec![Change::Begun(said.caller.user.unwrap_or_default())])
    }

    async fn answer(
        &self,
        thread: &ThreadId,
        caller: &Caller,
        _: &Interrupt,
        answered: Answered,
    ) -> Result<Value, Unusable> {
        let claim = self.0.state(thread).await;
        let claim = claim.map_err(|error| Unusable::new("it cannot be read now").because(error))?;
        if claim.map(|claim| claim.of.clone()) != caller.user {
            return Err(Unusable::forbidden("only who began the claim may answer"));
        }
        Ok(answered.reply.into_value())
    }
}

/// Everybody is of one tenant.
fn by_user(request: &Parts) -> Result<Caller, Denied> {
    let user = request.headers.get("user").and_then(|it| it.to_str().ok());
    let user = user.ok_or_else(|| Denied::unauthorized("send the header user"))?;
    let tenant = Tenant::new("acme").expect("a short name");
    Ok(Caller::new(tenant).user(user))
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

/// All that is known of the thread.
async fn shown(client: &Client) -> [Value; 3] {
    let see = |path: &'static str| send(client, "ada", path, Value::Null);
    [
        see("/threads/desk").await.json(),
        see("/threads/desk/state").await.json(),
        see("/threads/desk/history").await.json(),
    ]
}

async fn every_door_refuses(busy: bool) {
    let client = Desk::open(busy).client();
    let id = begun(&client).await;
    let before = shown(&client).await;
    for (protocol, path, body) in answers("desk", &id) {
        let refused = send(&client, "bob", &path, body).await;
        assert_eq!(refused.error(), (403, "forbidden".into()), "{protocol}");
        assert_eq!(shown(&client).await, before, "{protocol}");
    }
    // An answer that says less is one to the same question.
    let bare = json!({ "messages": [{ "role": "user", "content": "" }], "ext": {
        "conversation_id": "desk", "resume": { "type": "confirm", "action": "approve" } } });
    let refused = send(&client, "bob", "/v1/chat/completions", bare).await;
    assert_eq!(refused.error(), (403, "forbidden".into()));
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

/// The thread does not only wait: its questions are open all the same.
#[tokio::test]
async fn every_door_refuses_a_colleague_while_other_work_is_left() {
    every_door_refuses(true).await;
}

#[tokio::test]
async fn a_socket_refuses_a_colleague() {
    let desk = Desk::open(false);
    let client = desk.client();
    let id = begun(&client).await;
    let before = shown(&client).await;
    let served = Served::open(desk.routes()).await;
    let url = format!("ws://{}/ws/chat?thread=desk", served.address);
    let mut request = url.into_client_request().expect("a request");
    let bob = "bob".parse().expect("a name");
    request.headers_mut().insert("user", bob);
    let (mut socket, _) = connect_async(request).await.expect("it opens");
    let answer = json!({ "event": "answer", "data": { "id": id, "answer": true } });
    let answer = Message::text(answer.to_string());
    socket.send(answer).await.expect("it is sent");
    let refused = async {
        while let Some(Ok(heard)) = socket.next().await {
            let heard: Value = serde_json::from_str(heard.to_text().expect("text")).expect("JSON");
            if heard["event"] == "error" {
                return heard["data"]["type"].clone();
            }
        }
        Value::Null
    };
    let told = tokio::time::timeout(PATIENCE, refused).await;
    let told = told.expect("it is told in time");
    assert_eq!(told, "forbidden");
    assert_eq!(shown(&client).await, before);
}
