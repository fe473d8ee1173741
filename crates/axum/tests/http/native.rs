//! The API of the page.
use axum::http::{Method, StatusCode};
use fugato_stream::{Event, EventKind};
use serde_json::{Value, json};

use crate::server::{LetterServer, kinds};

#[tokio::test]
async fn a_run_is_begun_answered_and_shown() {
    let letters = LetterServer::open();
    let client = letters.client();
    let events = client.run("desk", "a free day").await;
    assert_eq!(
        kinds(&events),
        [
            "node_started",
            "reasoning_delta",
            "reasoning_finished",
            "text_delta",
            "text_delta",
            "text_finished",
            "run_started",
            "card",
            "node_finished",
            "interrupt_raised",
            "run_parked",
        ]
    );
    assert!(events.iter().all(|event| event.thread.as_str() == "desk"));

    let shown = client.get("/threads/desk").await.json();
    let id = shown["interrupts"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(
        shown,
        json!({
            "thread": "desk",
            "head": 4,
            "status": "waiting",
            "interrupts": [{
                "id": id,
                "digest": shown["interrupts"][0]["digest"],
                "task": "confirm#1",
                "key": "answer",
                "prompt": { "type": "confirm", "title": "Place it?", "summary": "a free day" },
                "schema": shown["interrupts"][0]["schema"],
            }],
            "title": "About a free day",
            "timeline": shown["timeline"],
        })
    );

    let answers = json!({ "answers": { id.as_str(): true } });
    let accepted = client.post("/threads/desk/resume", answers).await;
    assert_eq!(accepted.status, StatusCode::ACCEPTED);
    assert_eq!(accepted.json(), json!({ "thread": "desk", "run": 1 }));
    let rest = client
        .get("/threads/desk/events?after=4&follow=false")
        .await;
    let rest = rest.events();
    let finished = rest.last().map(|event: &Event| event.kind.clone());
    let output = Some(json!("placed"));
    assert_eq!(finished, Some(EventKind::RunFinished { output }));
}

#[tokio::test]
async fn k8_an_answer_that_does_not_fit_changes_nothing() {
    let letters = LetterServer::open();
    let client = letters.client();
    client.run("desk", "a free day").await;
    let id = client.asked("desk").await;
    let resume =
        |answers: Value| client.post("/threads/desk/resume", json!({ "answers": answers }));

    let unknown = resume(json!({ "confirm#9~9": true })).await;
    assert_eq!(unknown.error(), (404, "unknown_interrupt".into()));
    assert_eq!(unknown.json()["error"]["open"], json!([id]));
    assert_eq!(
        resume(json!({ id.as_str(): "perhaps" })).await.error(),
        (422, "schema".into())
    );
    assert_eq!(
        resume(json!({})).await.error(),
        (400, "invalid_request".into())
    );
    let again = client
        .post("/threads/desk/runs", json!({ "text": "more" }))
        .await;
    assert_eq!(again.error(), (409, "waiting".into()));
    assert_eq!(again.json()["error"]["open"], json!([id]));
    assert_eq!(client.asked("desk").await, id);

    assert_eq!(
        resume(json!({ id.as_str(): false })).await.status,
        StatusCode::ACCEPTED
    );
    client.get("/threads/desk/events?follow=false").await;
    let stale = resume(json!({ id.as_str(): true })).await;
    assert_eq!(stale.error(), (409, "nothing_asked".into()));
    let now = client.get("/threads/desk/state").await.json();
    assert_eq!(now["state"]["placed"], json!(false));
}

#[tokio::test]
async fn words_that_begin_nothing_are_not_called_accepted() {
    let letters = LetterServer::open();
    let client = letters.client();
    client.run("desk", "sealed").await;
    let id = client.asked("desk").await;
    let say = |body: Value| client.post("/threads/desk/runs", body);
    // A yes that names no card agrees to nothing.
    let unbound = say(json!({ "text": "yes" })).await;
    assert_eq!(unbound.status, StatusCode::OK);
    assert_eq!(
        unbound.json()["unchanged"],
        json!({ "waiting": [id.clone()] })
    );
    // What is told about words under the card is in the answer.
    let unclear = say(json!({ "text": "hm", "card": id.clone() })).await;
    assert_eq!(unclear.status, StatusCode::OK);
    let told = unclear.json()["unchanged"]["output"].clone();
    assert!(
        told.as_str().unwrap().contains("neither a yes nor a no"),
        "{told}"
    );
    assert_eq!(client.asked("desk").await, id);
}

#[tokio::test]
async fn k12_a_request_with_a_key_is_carried_out_once() {
    let letters = LetterServer::open();
    let client = letters.client();
    let key = [("idempotency-key", "k1"), ("accept", "text/event-stream")];
    let begin = |text: &str| {
        let body = json!({ "text": text });
        let (client, path) = (client.clone(), "/threads/desk/runs");
        async move { client.with(Method::POST, path, &key, body).await }
    };
    let first = begin("talk").await.events();
    assert_eq!(first.last().unwrap().seq, Some(4));
    let head = client.get("/threads/desk").await.json()["head"].clone();
    let again = begin("talk").await.events();
    assert_eq!(kinds(&again), ["run_started", "run_finished"]);
    assert_eq!(
        begin("talk louder").await.error(),
        (422, "request_changed".into())
    );
    assert_eq!(client.get("/threads/desk").await.json()["head"], head);
}

#[tokio::test]
async fn k12_a_request_with_a_key_amid_another_run_gets_its_own_answer() {
    let letters = LetterServer::open();
    let client = letters.client();
    let body = json!({ "text": "slow talk" });
    let first = client.post("/threads/desk/runs", body).await;
    assert_eq!(first.status, StatusCode::ACCEPTED);
    let key = [("idempotency-key", "k2")];
    let said = json!([{ "role": "user", "content": "talk" }]);
    let body = json!({ "messages": said, "ext": { "conversation_id": "desk" } });
    let second = client.with(Method::POST, "/v1/chat/completions", &key, body);
    let (second, ()) = tokio::join!(second, async {
        tokio::task::yield_now().await;
        letters.gate.add_permits(1);
    });
    let answer = second.json();
    assert_eq!(answer["id"], "chatcmpl-desk-2");
    assert_eq!(answer["choices"][0]["message"]["content"], "Let me look.");
}

#[tokio::test]
async fn k18_a_thread_is_looked_into_and_forked() {
    let letters = LetterServer::open();
    let client = letters.client();
    client.run("desk", "a free day").await;
    let history = client.get("/threads/desk/history?limit=2").await.json();
    assert_eq!(history["next"], 3);
    let rest = client.get("/threads/desk/history?from=3").await.json();
    assert_eq!(rest["next"], Value::Null);
    let entries = [&history["entries"], &rest["entries"]];
    let entries: Vec<&Value> = entries
        .iter()
        .flat_map(|it| it.as_array().unwrap())
        .collect();
    let facts: Vec<_> = entries
        .iter()
        .map(|entry| {
            entry["fact"]
                .as_object()
                .unwrap()
                .keys()
                .next()
                .unwrap()
                .as_str()
        })
        .collect();
    assert_eq!(facts, ["created", "started", "stepped", "asked"]);
    let before = client.get("/threads/desk/state?at=2").await.json();
    assert_eq!(before["state"]["steps"], 0);
    let beyond = client.get("/threads/desk/state?at=99").await;
    assert_eq!(beyond.error(), (404, "not_found".into()));

    let fork = client
        .post("/threads/desk/fork", json!({ "at": 3, "thread": "other" }))
        .await;
    assert_eq!(
        (fork.status, fork.json()),
        (StatusCode::CREATED, json!({ "thread": "other" }))
    );
    let again = client
        .post("/threads/desk/fork", json!({ "at": 3, "thread": "other" }))
        .await;
    assert_eq!(again.error(), (409, "exists".into()));
    let no_checkpoint = client.post("/threads/desk/fork", json!({ "at": 1 })).await;
    assert_eq!(no_checkpoint.error(), (422, "invalid_request".into()));

    let listed = client.get("/threads").await.json();
    let names = |listed: &Value| -> Vec<(String, String)> {
        let threads = listed["threads"].as_array().unwrap().iter();
        let text = |it: &Value| it.as_str().unwrap().to_owned();
        threads
            .map(|it| (text(&it["thread"]), text(&it["title"])))
            .collect()
    };
    let title = || String::from("About a free day");
    assert_eq!(
        names(&listed),
        [("desk".into(), title()), ("other".into(), title())]
    );
    let after = client.get("/threads?after=desk&limit=1").await.json();
    assert_eq!(names(&after), [("other".into(), title())]);
    let removed = client
        .with(Method::DELETE, "/threads/other", &[], Value::Null)
        .await;
    assert_eq!(removed.status, StatusCode::NO_CONTENT);
    assert_eq!(
        client.get("/threads/other").await.error(),
        (404, "not_found".into())
    );
}

/// The end of a run is told before its process is done with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_whose_end_was_told_can_be_removed_at_once() {
    let client = LetterServer::open().client();
    for n in 0..100 {
        let desk = format!("desk-{n}");
        client.run(&desk, "talk").await;
        let path = format!("/threads/{desk}");
        let removed = client.with(Method::DELETE, &path, &[], Value::Null).await;
        assert_eq!(removed.status, StatusCode::NO_CONTENT, "{desk}");
    }
}

#[tokio::test]
async fn a_graph_is_drawn_with_the_names_that_events_use() {
    let graph = LetterServer::open().client().get("/graph").await.json();
    assert_eq!(
        (&graph["name"], &graph["nodes"]),
        (
            &json!("clerk"),
            &json!(["think", "confirm", "seal", "which"])
        )
    );
    assert!(
        graph["mermaid"]
            .as_str()
            .unwrap()
            .starts_with("flowchart TD")
    );
}

#[tokio::test]
async fn what_failed_is_told_and_can_be_tried_again() {
    let letters = LetterServer::open();
    let client = letters.client();
    let events = client.run("desk", "fail").await;
    let error = "task think#1 failed: the model is not there";
    let failed = EventKind::RunFailed {
        error: error.into(),
    };
    assert_eq!(events.last().map(|event| &event.kind), Some(&failed));
    let shown = client.get("/threads/desk").await.json();
    assert_eq!(
        (&shown["status"], &shown["error"]),
        (&json!("failed"), &json!(error))
    );
    let accept = [("accept", "text/event-stream")];
    let again = client
        .with(Method::POST, "/threads/desk/retry", &accept, Value::Null)
        .await;
    assert_eq!(
        again.events().last().map(|event| event.kind.clone()),
        Some(failed)
    );
    let nothing = client.post("/threads/desk/recover", json!({})).await;
    assert_eq!(nothing.error(), (409, "nothing_to_do".into()));
}

#[tokio::test]
async fn what_cannot_be_used_takes_the_place_of_nothing() {
    let client = LetterServer::open().client();
    client.run("desk", "a free day").await;
    let id = client.asked("desk").await;
    let nonsense = json!({ "text": "nonsense instead" });
    let refused = client.post("/threads/desk/runs", nonsense).await;
    assert_eq!(refused.error(), (422, "unusable".into()));
    assert_eq!(client.asked("desk").await, id, "the question is still open");
    client.run("desk", "talk instead").await;
    let shown = client.get("/threads/desk").await.json();
    assert_eq!(shown["status"], "idle");
}
