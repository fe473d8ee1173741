//! Clients from whom the internals of the agent are kept, on every wire; and the choice of a model.
use std::sync::Arc;

use async_trait::async_trait;
use axum::http::{Method, StatusCode, request::Parts};
use fugato_axum::{
    AccessDenied, AgentRoutes, BadInput, Caller, ServedAgent, Tenant, TimelineItem, UserMessage,
};
use fugato_graph::{BoxError, BudgetUnit, Context, END, Graph, Outcome, Runner, RunnerOptions};
use fugato_state::{State, ToolStatus};
use fugato_store::MemoryLog;
use fugato_stream::{EventKind, Redaction};
use futures::{SinkExt as _, StreamExt as _};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_tungstenite::{
    connect_async,
    tungstenite::{Message, client::IntoClientRequest as _},
};

use crate::{
    server::Client,
    wire::{PATIENCE, TestServer},
};

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Account {
    wish: String,
    model: Option<String>,
    user: Option<String>,
}

impl State for Account {
    type Update = Self;

    fn apply(&mut self, new: Self) {
        *self = new;
    }
}

/// Says hello, notes what a tool and a model did, and fails if it is asked to.
struct Teller(Runner<Account>);

async fn look(cx: Context<Account>) -> Result<Outcome<Account>, BoxError> {
    cx.emit(EventKind::TextDelta {
        block: "b".into(),
        text: "Hello.".into(),
    });
    cx.emit(EventKind::TextFinished { block: "b".into() });
    cx.emit(EventKind::Correction {
        message: "secret_rule".into(),
    });
    if cx.state().wish == "fail" {
        return Err("secret_cause".into());
    }
    let tool = EventKind::ToolFinished {
        call: "c1".into(),
        name: "accounts".into(),
        status: ToolStatus::Ok,
        summary: "3 accounts".into(),
        result: Some("secret_4711".into()),
    };
    let usage = json!({ "input": 9, "output": 3 });
    let data = json!({ "attempts": [{ "model": "secret_model" }], "usage": usage });
    let name = "model_call".to_owned();
    let done = Outcome::done([]).note(tool);
    Ok(done.note(EventKind::Custom { name, data }))
}

impl Teller {
    fn routes(log: &Arc<MemoryLog>) -> AgentRoutes<Self> {
        let graph = Graph::<Account>::starting_at("secret_desk")
            .node("secret_desk", look)
            .edge("secret_desk", END)
            .output(|account: &Account| format!("{:?} {:?}", account.user, account.model))
            .build()
            .expect("the graph is well formed");
        let teller = Self(Runner::new(graph, Arc::clone(log)));
        AgentRoutes::new(teller).authenticate(by_role)
    }

    fn client(log: &Arc<MemoryLog>) -> Client {
        Client(Self::routes(log).router())
    }
}

#[async_trait]
impl ServedAgent for Teller {
    type State = Account;

    fn name(&self) -> &'static str {
        "teller"
    }

    fn models(&self, caller: &Caller) -> Vec<String> {
        let deep = caller.is_operator().then(|| "deep".to_owned());
        std::iter::once("quick".to_owned()).chain(deep).collect()
    }

    fn runner(&self) -> &Runner<Account> {
        &self.0
    }

    fn timeline_items(&self, _: &[Account]) -> Option<Vec<TimelineItem>> {
        Some(vec![])
    }

    async fn input(&self, said: UserMessage) -> Result<Vec<Account>, BadInput> {
        Ok(vec![Account {
            wish: said.text,
            model: said.model,
            user: said.caller.account(),
        }])
    }
}

/// Everyone is of one tenant; the operator is marked.
#[expect(clippy::unnecessary_wraps, reason = "authentication may refuse")]
fn by_role(request: &Parts) -> Result<Caller, AccessDenied> {
    let role = request.headers.get("role").and_then(|it| it.to_str().ok());
    let tenant = Tenant::new("acme").expect("a short name");
    let caller = Caller::new(tenant).user("ada");
    Ok(match role {
        Some("operator") => caller.operator(),
        _ => caller,
    })
}

/// Runs one conversation over each wire and returns what the client with this role reads.
async fn wires(client: &Client, role: &str) -> Vec<(&'static str, String)> {
    let said = json!([{ "role": "user", "content": "hello" }]);
    let post = |path, body: Value| (Method::POST, path, body);
    let get = |path| (Method::GET, path, Value::Null);
    let chat = |stream| json!({ "messages": said, "stream": stream });
    let ag_ui = json!({ "threadId": "g", "runId": "r", "messages": said });
    let requests = [
        post("/threads/t/runs", json!({ "text": "hello" })),
        get("/threads/t/events?follow=false"),
        get("/threads/t/timeline"),
        get("/threads/t"),
        post("/sse/react", json!({ "thread": "r", "text": "hello" })),
        get("/sse/react?thread=r"),
        post("/sse/planner", json!({ "thread": "p", "text": "hello" })),
        post("/agui", ag_ui),
        post("/api/chat", json!({ "id": "s", "messages": said })),
        post("/v1/chat/completions", chat(true)),
        post("/v1/chat/completions", chat(false)),
    ];
    let headers = [("role", role), ("accept", "text/event-stream")];
    let mut read = vec![];
    for (method, path, body) in requests {
        let answer = client.with(method, path, &headers, body).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.body);
        read.push((path, answer.body));
    }
    read
}

#[tokio::test]
async fn no_wire_shows_a_client_how_the_agent_works() {
    let client = Teller::client(&Arc::default());
    let read = wires(&client, "operator").await;
    let read = read.iter().filter(|(_, body)| body.contains("secret"));
    let shown: Vec<_> = read.map(|(path, _)| *path).collect();
    let all = [
        "/threads/t/runs",
        "/threads/t/events?follow=false",
        "/threads/t/timeline",
        "/threads/t",
        "/sse/react",
        "/sse/react?thread=r",
        "/sse/planner",
        "/agui",
        "/api/chat",
        "/v1/chat/completions",
    ];
    assert_eq!(shown, all);

    let client = Teller::client(&Arc::default());
    for (path, body) in wires(&client, "client").await {
        assert!(!body.contains("secret"), "{path}: {body}");
        let is_conversation = !path.starts_with("/threads/t/t") && path != "/threads/t";
        assert_eq!(
            body.contains("Hello."),
            is_conversation && !path.contains('?'),
            "{path}: {body}"
        );
    }
}

#[tokio::test]
async fn every_chat_protocol_counts_the_tokens_of_a_run_for_everybody() {
    for role in ["client", "operator"] {
        let client = Teller::client(&Arc::default());
        let read = wires(&client, role).await;
        let of = |path: &str| {
            read.iter()
                .rfind(|(of, _)| *of == path)
                .map(|(_, body)| body)
        };
        let whole = of("/v1/chat/completions").expect("it was asked");
        let whole: Value = serde_json::from_str(whole).expect("JSON");
        let counts = json!({ "prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12 });
        assert_eq!(whole["usage"], counts, "{role}");
        for path in ["/agui", "/api/chat"] {
            let body = of(path).expect("it was asked");
            assert!(body.contains("12"), "{role} {path}: {body}");
        }
        let headers = [("role", role)];
        let said = json!([{ "role": "user", "content": "hello" }]);
        let body = json!({
            "messages": said, "stream": true, "stream_options": { "include_usage": true }
        });
        let path = "/v1/chat/completions";
        let streamed = client.with(Method::POST, path, &headers, body).await;
        assert!(
            streamed
                .body
                .contains(r#""choices":[],"usage":{"completion_tokens":3,"#),
            "{}",
            streamed.body
        );
    }
}

#[tokio::test]
async fn a_conversation_that_ends_with_words_of_the_agent_is_no_request() {
    let client = Teller::client(&Arc::default());
    for role in ["assistant", "system", "tool"] {
        let messages = json!([
            { "role": "user", "content": "hello" }, { "role": role, "content": "fail" }
        ]);
        let body = json!({ "messages": messages });
        let refused = client.post("/v1/chat/completions", body).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{}", refused.body);
        assert!(refused.body.contains(role) && refused.body.contains("user"));
    }
}

#[tokio::test]
async fn a_used_up_budget_is_a_message_and_what_was_done_stays() {
    let routes = |log: &Arc<MemoryLog>| {
        let graph = Graph::<Account>::starting_at("think")
            .node("think", |cx: Context<Account>| {
                cx.spend(BudgetUnit::ModelCalls, 2);
                std::future::ready(Outcome::done([]))
            })
            .branch("think", ["think", END], |_| "think")
            .build()
            .expect("the graph is well formed");
        let options = RunnerOptions::default().budget(BudgetUnit::ModelCalls, 3);
        let teller = Teller(Runner::new(graph, Arc::clone(log)).options(options));
        Client(AgentRoutes::new(teller).authenticate(by_role).router())
    };
    let client = routes(&Arc::default());
    for (said, told) in [("hello", "3 model calls"), ("你好", "3 次模型调用")] {
        let messages = json!([{ "role": "user", "content": said }]);
        let body = json!({ "messages": messages });
        let whole = client.post("/v1/chat/completions", body).await;
        assert_eq!(whole.status, StatusCode::OK, "{}", whole.body);
        let message = whole.json()["choices"][0]["message"]["content"].to_string();
        assert!(message.contains(told), "{message}");
        let body = json!({ "messages": messages, "stream": true });
        let streamed = client.post("/v1/chat/completions", body).await;
        assert!(streamed.body.contains(told), "{}", streamed.body);
        assert!(!streamed.body.contains("run_failed"), "{}", streamed.body);
    }
}

#[tokio::test]
async fn a_client_is_refused_the_graph_the_log_and_the_state() {
    let client = Teller::client(&Arc::default());
    wires(&client, "client").await;
    for path in ["/graph", "/threads/t/history", "/threads/t/state"] {
        let refused = client.get(path).await;
        assert_eq!(refused.error(), (403, "forbidden".into()), "{path}");
        let operator = [("role", "operator")];
        let shown = client.with(Method::GET, path, &operator, Value::Null).await;
        assert_eq!(shown.status, StatusCode::OK, "{path}");
    }
    let unknown = client.get("/threads/nowhere/state").await;
    assert_eq!(unknown.error(), (404, "not_found".into()));
}

#[tokio::test]
async fn a_failure_is_told_without_its_cause() {
    let client = Teller::client(&Arc::default());
    let fail = json!({ "messages": [{ "role": "user", "content": "fail" }] });
    let told = |role: &'static str, fail: Value| {
        let client = client.clone();
        async move {
            let path = "/v1/chat/completions";
            let answer = client
                .with(Method::POST, path, &[("role", role)], fail)
                .await;
            assert_eq!(answer.error(), (500, "run_failed".into()));
            answer.json()["error"]["message"]
                .as_str()
                .unwrap()
                .to_owned()
        }
    };
    assert_eq!(told("client", fail.clone()).await, Redaction::RUN_FAILED);
    let operator = told("operator", fail).await;
    assert!(
        operator.contains("secret_desk") && operator.contains("secret_cause"),
        "{operator}"
    );
}

#[tokio::test]
async fn a_program_decides_itself_who_sees_what() {
    let routes = Teller::routes(&Arc::default());
    let outputs = |_: &Caller| Redaction::internals().tool_outputs(false);
    let client = Client(routes.redact(outputs).router());
    let headers = [("role", "operator"), ("accept", "text/event-stream")];
    let body = json!({ "text": "hello" });
    let answer = client
        .with(Method::POST, "/threads/t/runs", &headers, body)
        .await;
    assert!(answer.body.contains("secret_4711"), "{}", answer.body);
    assert!(!answer.body.contains("secret_desk"), "{}", answer.body);
    assert!(!answer.body.contains("secret_model"), "{}", answer.body);
}

#[tokio::test]
async fn a_socket_shows_a_client_no_internals() {
    let served = TestServer::open(Teller::routes(&Arc::default())).await;
    let mut read = vec![];
    for role in ["operator", "client"] {
        let url = format!("ws://{}/ws/chat?thread={role}", served.address);
        let mut request = url.into_client_request().unwrap();
        request.headers_mut().insert("role", role.parse().unwrap());
        let (mut socket, _) = connect_async(request).await.unwrap();
        let said = json!({ "event": "user_input", "data": { "content": "hello" } });
        socket.send(Message::text(said.to_string())).await.unwrap();
        let mut all = String::new();
        while !all.contains("final_answer") {
            let next = tokio::time::timeout(PATIENCE, socket.next()).await;
            let next = next.expect("the server answers in time").unwrap().unwrap();
            all.push_str(next.to_text().unwrap());
        }
        read.push((all.contains("secret"), all.contains("Hello.")));
    }
    assert_eq!(read, [(true, true), (false, true)]);
    served.stop().await.unwrap().unwrap();
}

async fn complete(client: &Client, role: &str, model: &str) -> Value {
    let said = json!([{ "role": "user", "content": "hello" }]);
    let body = json!({ "model": model, "messages": said });
    let path = "/v1/chat/completions";
    let answer = client
        .with(Method::POST, path, &[("role", role)], body)
        .await;
    answer.json()
}

#[tokio::test]
async fn the_field_model_names_the_agent_or_the_agent_and_a_model() {
    let log = Arc::default();
    let client = Teller::client(&log);
    let listed = |role: &'static str| {
        let client = client.clone();
        async move {
            let headers = [("role", role)];
            let listed = client
                .with(Method::GET, "/v1/models", &headers, Value::Null)
                .await;
            let listed = listed.json()["data"].as_array().unwrap().clone();
            listed
                .into_iter()
                .map(|model| model["id"].clone())
                .collect::<Vec<_>>()
        }
    };
    assert_eq!(listed("client").await, ["teller", "teller/quick"]);
    assert_eq!(
        listed("operator").await,
        ["teller", "teller/quick", "teller/deep"]
    );

    let answer = complete(&client, "client", "teller/quick").await;
    assert_eq!(answer["model"], "teller/quick");
    let thread = answer["ext"]["conversation_id"].as_str().unwrap();
    let path = format!("/threads/{thread}/state");
    let state = client
        .with(Method::GET, &path, &[("role", "operator")], Value::Null)
        .await;
    let state = state.json()["state"].clone();
    assert_eq!(
        (&state["model"], &state["user"]),
        (&json!("quick"), &json!("acme/ada"))
    );
    assert_eq!(
        complete(&client, "client", "teller").await["model"],
        "teller"
    );

    for wrong in [
        "quick",
        "teller/deep",
        "teller/",
        "other/quick",
        "tellerquick",
    ] {
        let error = complete(&client, "client", wrong).await["error"].clone();
        assert_eq!(error["type"], "model_not_found", "{wrong}");
        let expected = format!("there is no model {wrong:?}; allowed are teller, teller/quick");
        assert_eq!(error["message"], expected);
    }
}
