//! Attempts to get at threads of others, and to keep others from being served.
use axum::http::{Method, StatusCode};
use fugato_axum::Page;
use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio_tungstenite::{
    connect_async,
    tungstenite::{Message, client::IntoClientRequest as _},
};
use tower::ServiceExt as _;

use crate::{
    server::{Answer, Client, LetterServer, MANY, by_header, request},
    wire::{PATIENCE, TestServer, positions},
};

/// An answer to a question in each protocol.
pub(crate) fn answers(thread: &str, id: &str) -> [(&'static str, String, Value); 5] {
    let answers = json!({ "answers": { id: true } });
    let said = json!([{ "role": "user", "content": "" }]);
    let resume = json!({ "interaction_id": id, "type": "confirm", "action": "approve" });
    let openai =
        json!({ "messages": said, "ext": { "conversation_id": thread, "resume": resume } });
    let ag_ui = json!({
        "threadId": thread, "runId": "r", "messages": [], "tools": [], "context": [], "state": {},
        "resume": [{ "interruptId": id, "status": "resolved", "payload": true }],
    });
    [
        ("own", format!("/threads/{thread}/resume"), answers.clone()),
        (
            "named",
            "/sse/react".into(),
            json!({ "thread": thread, "answers": answers["answers"] }),
        ),
        ("openai", "/v1/chat/completions".into(), openai),
        ("ag-ui", "/agui".into(), ag_ui),
        (
            "ai sdk",
            "/api/chat".into(),
            json!({ "id": thread, "messages": [], "answers": answers["answers"] }),
        ),
    ]
}

async fn post(client: &Client, user: &str, path: &str, body: Value) -> Answer {
    client
        .with(Method::POST, path, &[("user", user)], body)
        .await
}

#[tokio::test]
async fn no_protocol_answers_for_another_tenant() {
    let letters = LetterServer::open();
    let client = Client(letters.routes().authenticate(by_header).router());
    let body = json!({ "thread": "desk", "text": "a free day" });
    assert_eq!(
        post(&client, "ada", "/sse/react", body).await.status,
        StatusCode::OK
    );
    let shown = async || {
        let ada = [("user", "ada")];
        client
            .with(Method::GET, "/threads/desk", &ada, Value::Null)
            .await
            .json()
    };
    let before = shown().await;
    let id = before["interrupts"][0]["id"].as_str().unwrap();
    // Neither by the name that its owner uses, nor by its id in the store.
    for name in ["desk", "ada%2Fdesk", "..%2Fada%2Fdesk"] {
        for (protocol, path, body) in answers(name, id) {
            let (status, kind) = post(&client, "bob", &path, body).await.error();
            assert_eq!(
                (status, kind.as_str()),
                (404, "not_found"),
                "{protocol} {name}"
            );
        }
    }
    let slashed = answers("ada/desk", id);
    for (protocol, path, body) in slashed.into_iter().skip(1) {
        let (status, kind) = post(&client, "bob", &path, body).await.error();
        assert_eq!((status, kind.as_str()), (404, "not_found"), "{protocol}");
    }
    let read_on =
        json!({ "messages": [], "ext": { "conversation_id": "desk", "resume": { "after": 0 } } });
    let read = post(&client, "bob", "/v1/chat/completions", read_on).await;
    assert_eq!(read.error(), (404, "not_found".into()));
    let bob = [("user", "bob")];
    let stream = client
        .with(Method::GET, "/api/chat/desk/stream", &bob, Value::Null)
        .await;
    assert_eq!(
        (stream.status, stream.body.as_str()),
        (StatusCode::NO_CONTENT, "")
    );
    assert_eq!(shown().await, before);
}

#[tokio::test]
async fn no_protocol_takes_a_forged_question() {
    let letters = LetterServer::open();
    let client = letters.client();
    client.run("desk", "a free day").await;
    let id = client.asked("desk").await;
    for forged in ["confirm#1~99", "confirm#2~1", "think#1~1", "nothing", ""] {
        assert_ne!(forged, id);
        for (protocol, path, body) in answers("desk", forged) {
            let answer = client.post(&path, body).await;
            let refused = answer.status.is_client_error();
            assert!(
                refused,
                "{protocol} {forged:?}: {} {}",
                answer.status, answer.body
            );
        }
    }
    assert_eq!(client.asked("desk").await, id);
    let state = client.get("/threads/desk/state").await.json();
    assert_eq!(state["state"]["placed"], Value::Null);
}

#[tokio::test]
async fn an_approval_of_something_else_is_refused() {
    let client = LetterServer::open().client();
    client.run("desk", "something sealed").await;
    let id = client.asked("desk").await;
    let resume = async |body: Value| client.post("/threads/desk/resume", body).await;
    let answers = json!({ id.as_str(): true });
    let forged = json!({ "answers": answers, "digests": { id.as_str(): "f0f0" } });
    assert_eq!(resume(forged).await.error(), (409, "digest".into()));
    assert_eq!(client.asked("desk").await, id);
    let shown = json!({ "answers": answers, "digests": { id.as_str(): "1f0c" } });
    assert_eq!(resume(shown).await.status, StatusCode::ACCEPTED);
}

#[tokio::test]
async fn a_socket_is_bound_to_its_tenant_and_its_size() {
    let letters = LetterServer::open();
    let limits = fugato_axum::Limits::default().body(200);
    let served = TestServer::open(letters.routes().authenticate(by_header).limits(limits)).await;
    let open = async |user: &str| {
        let url = format!("ws://{}/ws/chat?thread=desk", served.address);
        let mut request = url.into_client_request().unwrap();
        request.headers_mut().insert("user", user.parse().unwrap());
        connect_async(request).await.unwrap().0
    };
    let (mut ada, mut bob) = (open("ada").await, open("bob").await);
    let say = |event: &str, data: Value| {
        Message::text(json!({ "event": event, "data": data }).to_string())
    };
    ada.send(say("user_input", json!({ "content": "a free day" })))
        .await
        .unwrap();
    let id = loop {
        let heard = tokio::time::timeout(PATIENCE, ada.next()).await.unwrap();
        let heard: Value =
            serde_json::from_str(heard.unwrap().unwrap().to_text().unwrap()).unwrap();
        if heard["event"] == "interrupt" {
            break heard["data"]["id"].as_str().unwrap().to_owned();
        }
    };
    bob.send(say("answer", json!({ "id": id, "answer": true })))
        .await
        .unwrap();
    let refused = loop {
        let heard = tokio::time::timeout(PATIENCE, bob.next()).await.unwrap();
        let heard: Value =
            serde_json::from_str(heard.unwrap().unwrap().to_text().unwrap()).unwrap();
        if heard["event"] != "status" {
            break heard;
        }
    };
    assert_eq!(
        (&refused["event"], &refused["data"]["type"]),
        (&json!("error"), &json!("not_found"))
    );
    // A body that is too large is not read; the connection ends.
    bob.send(say("user_input", json!({ "content": "x".repeat(300) })))
        .await
        .unwrap();
    let ended = async {
        while let Some(Ok(message)) = bob.next().await {
            if message.is_close() {
                break;
            }
        }
    };
    tokio::time::timeout(PATIENCE, ended).await.unwrap();
}

#[tokio::test]
async fn no_path_leads_out_of_the_page() {
    let client = Client(LetterServer::open().routes().page(Page::chat()).router());
    assert_eq!(client.get("/app.js").await.status, StatusCode::OK);
    for path in [
        "/../Cargo.toml",
        "/..%2F..%2Fetc%2Fpasswd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/app.js/../../../etc/passwd",
        "//etc/passwd",
        "/page/app.js",
        "/app.js%00.css",
    ] {
        assert_eq!(
            client.get(path).await.error(),
            (404, "not_found".into()),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_thousand_streams_that_nobody_reads_keep_nobody_waiting() {
    let letters = LetterServer::open();
    let client = letters.client();
    client.run("desk", "talk").await;
    let follow = || {
        request(
            Method::GET,
            "/threads/desk/events?after=4",
            &[],
            &Value::Null,
        )
    };
    let mut unread = vec![];
    for _ in 0..1000 {
        let opened = client.0.clone().oneshot(follow()).await.unwrap();
        assert_eq!(opened.status(), StatusCode::OK);
        unread.push(opened);
    }
    assert_eq!(client.send(follow()).await.error(), (429, "streams".into()));
    // A run of the same thread comes to its end, and its reader gets everything.
    let begun = client
        .post("/threads/desk/runs", json!({ "text": "many" }))
        .await;
    assert_eq!(begun.status, StatusCode::ACCEPTED);
    drop(unread.split_off(1));
    let quick = client
        .get("/threads/desk/events?after=4&follow=false")
        .await;
    let expected: Vec<u64> = (5..=u64::from(MANY) + 6).collect();
    assert_eq!(positions(&quick.events()), expected);
    drop(unread);
    let metrics = client.get("/metrics").await.body;
    assert!(metrics.contains("fugato_streams_open 0\n"), "{metrics}");
}
