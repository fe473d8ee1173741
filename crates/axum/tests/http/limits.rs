//! Limits of runs and streams, and quotas.
use std::time::Duration;

use async_trait::async_trait;
use axum::{
    Router,
    http::{Method, StatusCode},
    routing::get,
};
use fugato_axum::{ApiError, Caller, CallerQuota, Limits};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::server::{Client, LetterServer, request};

#[tokio::test(start_paused = true)]
async fn a_tenant_has_so_many_runs() {
    let letters = LetterServer::open();
    let limits = Limits::default().runs_per_minute(3).concurrent_runs(1);
    let client = Client(letters.routes().limits(limits).router());
    let begin = |thread: &str| {
        let path = format!("/threads/{thread}/runs");
        let client = client.clone();
        async move { client.post(&path, json!({ "text": "slow talk" })).await }
    };
    assert_eq!(begin("a").await.status, StatusCode::ACCEPTED);
    let second = begin("b").await;
    assert_eq!(second.error(), (429, "concurrent_runs".into()));
    assert_eq!(second.header("retry-after"), "1");
    letters.gate.add_permits(9);
    client.get("/threads/a/events?follow=false").await;
    for thread in ["c", "d"] {
        assert_eq!(
            client.run(thread, "talk").await.last().unwrap().seq,
            Some(4)
        );
    }
    tokio::time::advance(Duration::from_secs(20)).await;
    let fourth = begin("e").await;
    assert_eq!(fourth.error(), (429, "runs_per_minute".into()));
    assert_eq!(fourth.header("retry-after"), "40");
    let metrics = client.get("/metrics").await.body;
    for line in [
        "fugato_runs_begun_total 3",
        "fugato_runs_ended_total{end=\"finished\"} 3",
        "fugato_responses_total{class=\"4xx\"} 2",
        "fugato_runs_active 0",
        "fugato_streams_open 0",
    ] {
        assert!(metrics.lines().any(|it| it == line), "{line}\n{metrics}");
    }
}

#[tokio::test]
async fn a_tenant_has_so_many_streams() {
    let letters = LetterServer::open();
    let client = Client(
        letters
            .routes()
            .limits(Limits::default().streams(1))
            .router(),
    );
    client.run("desk", "talk").await;
    let follow = || request(Method::GET, "/threads/desk/events", &[], &Value::Null);
    let open = client.0.clone().oneshot(follow()).await.unwrap();
    assert_eq!(client.send(follow()).await.error(), (429, "streams".into()));
    drop(open);
    let again = client.get("/threads/desk/events?follow=false").await;
    assert_eq!(again.events().len(), 4);
}

/// Lets nobody use more.
struct UsedUp;

#[async_trait]
impl CallerQuota for UsedUp {
    async fn admit(&self, _: &Caller) -> Result<(), ApiError> {
        Err(ApiError::too_many("credits", "3 credits are used up", None))
    }
}

#[tokio::test]
async fn a_quota_keeps_from_more_and_from_nothing_else() {
    let letters = LetterServer::open();
    letters.client().run("desk", "a free day").await;
    let own = Router::new().route("/own", get(async || "own").post(async || "changed"));
    let client = Client(letters.routes().beside(own).quota(UsedUp).router());
    let said = json!({ "messages": [{ "role": "user", "content": "a free day" }] });
    for (path, body) in [
        ("/threads/other/runs", json!({ "text": "a free day" })),
        ("/v1/chat/completions", said),
        ("/own", json!({})),
    ] {
        let refused = client.post(path, body).await;
        assert_eq!(refused.error(), (429, "credits".into()), "{path}");
        assert!(refused.body.contains("3 credits"), "{}", refused.body);
        assert_eq!(refused.header("retry-after"), "");
    }
    assert_eq!(client.get("/own").await.body, "own");
    let answers = json!({ "answers": { client.asked("desk").await: true } });
    let answered = client.post("/threads/desk/resume", answers).await;
    assert_eq!(answered.status, StatusCode::ACCEPTED, "{}", answered.body);
    client.get("/threads/desk/events?follow=false").await;
    let path = "/threads/desk";
    let removed = client.with(Method::DELETE, path, &[], Value::Null).await;
    assert_eq!(removed.status, StatusCode::NO_CONTENT, "{}", removed.body);
}

#[tokio::test]
async fn words_are_so_long_at_most_whichever_way_they_come() {
    let letters = LetterServer::open();
    let client = letters.client();
    let long = |length: usize| "x".repeat(length);
    let chat = |text: &str| json!({ "messages": [{ "role": "user", "content": text }] });
    let (most, over) = (long(100_000), long(100_001));
    let agui = json!({
        "threadId": "desk", "runId": "r", "messages": [{ "id": "m", "role": "user", "content": over }],
    });
    let part = json!({ "type": "text", "text": over });
    let sdk = json!({ "id": "desk", "messages": [{ "id": "m", "role": "user", "parts": [part] }] });
    for (path, body) in [
        ("/threads/desk/runs", json!({ "text": over })),
        ("/v1/chat/completions", chat(&over)),
        ("/api/chat", sdk),
        ("/agui", agui),
        ("/sse/react", json!({ "thread": "desk", "text": over })),
    ] {
        let refused = client.post(path, body).await;
        assert_eq!(refused.error(), (413, "too_large".into()), "{path}");
        let names = refused.body.contains("100001") && refused.body.contains("100000");
        assert!(names, "{path}: {}", refused.body);
    }
    assert_eq!(client.get("/threads/desk").await.error().0, 404);
    let taken = client
        .post("/threads/desk/runs", json!({ "text": most }))
        .await;
    assert_eq!(taken.status, StatusCode::ACCEPTED, "{}", taken.body);
    client.get("/threads/desk/events?follow=false").await;

    // What answers is read as well.
    client.run("card", "a free day").await;
    let id = client.asked("card").await;
    for answers in [
        json!({ "answers": { &id: over } }),
        json!({ "answers": { &id: { "action": "say", "text": over } } }),
    ] {
        let refused = client.post("/threads/card/resume", answers).await;
        assert_eq!(
            refused.error(),
            (413, "too_large".into()),
            "{}",
            refused.body
        );
    }
    assert_eq!(client.asked("card").await, id);
}
