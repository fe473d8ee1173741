//! Streams that are cut, shared, slow or left, over real connections.
use std::{sync::Arc, time::Duration};

use axum::body::BodyDataStream;
use fugato_state::ThreadId;
use fugato_store::{LeaseRequest, MemoryLog, Status, ThreadLog as _};
use fugato_stream::{Decoder, Event, EventKind};
use futures::StreamExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::{
    server::{LetterServer, MANY, kinds, request},
    wire::{Reader, TestServer, positions},
};

fn text(events: &[Event]) -> String {
    let text = |event: &Event| match &event.kind {
        EventKind::TextDelta { text, .. } => text.as_str().to_owned(),
        _ => String::new(),
    };
    events.iter().map(text).collect()
}

#[tokio::test]
async fn k22_a_cut_connection_misses_and_repeats_nothing() {
    let letters = LetterServer::open();
    let served = TestServer::open(letters.routes()).await;
    let begun = served
        .post("/threads/desk/runs", &json!({ "text": "slow" }))
        .await;
    assert_eq!(begun.status, 202);
    let mut cut = served.get("/threads/desk/events").await;
    let seen = cut.until("text_delta").await;
    assert_eq!(text(&seen), "Let me ");
    drop(cut);
    let back = "last-event-id: 0\r\n";
    let mut back = Reader::open(served.address, "GET", "/threads/desk/events", back, "").await;
    let open = back.until("text_delta").await;
    assert_eq!(
        (kinds(&open), text(&open)),
        (
            vec![
                "run_started".into(),
                "text_started".into(),
                "text_delta".into()
            ],
            "Let me ".into()
        )
    );
    letters.gate.add_permits(1);
    let rest = back.until("run_parked").await;
    assert_eq!(text(&rest), "look.");
    assert_eq!(positions(&open), [2]);
    assert_eq!(positions(&rest), [3, 4]);

    // From the middle of the log.
    let mut late = served.get("/threads/desk/events?after=3").await;
    let asked = late.until("interrupt_raised").await;
    assert_eq!(positions(&asked), [4]);
}

#[tokio::test]
async fn a_start_is_stored_when_it_is_answered() {
    let letters = LetterServer::open();
    let served = TestServer::open(letters.routes()).await;
    let begun = served
        .post("/threads/desk/runs", &json!({ "text": "slow" }))
        .await;
    assert_eq!(begun.status, 202);
    // Its first step waits at the gate.
    let thread = ThreadId::new("desk").unwrap();
    let head = letters.log.head(&thread).await.unwrap();
    let stored = head.map(|head| (head.seq, head.status));
    assert_eq!(stored, Some((2, Status::Runnable)));
}

#[tokio::test]
async fn k22_two_readers_follow_a_thread_from_run_to_run() {
    let letters = LetterServer::open();
    let served = TestServer::open(letters.routes()).await;
    let mut first = served
        .post("/threads/desk/runs", &json!({ "text": "slow talk" }))
        .await;
    assert_eq!(first.status, 202);
    assert!(first.line().await.is_some());
    let mut readers = [
        served.get("/threads/desk/events").await,
        served.get("/threads/desk/events").await,
    ];
    letters.gate.add_permits(1);
    for reader in &mut readers {
        assert_eq!(positions(&reader.until("run_finished").await), [2, 3, 4]);
    }
    served
        .post("/threads/desk/runs", &json!({ "text": "talk" }))
        .await;
    for reader in &mut readers {
        let next = reader.until("run_finished").await;
        assert_eq!(
            (text(&next), positions(&next)),
            ("Let me look.".into(), vec![5, 6, 7])
        );
    }
}

#[tokio::test]
async fn k22_a_client_that_goes_away_leaves_its_run_running() {
    let letters = LetterServer::open();
    let served = TestServer::open(letters.routes()).await;
    let body = json!({
        "messages": [{ "role": "user", "content": "slow talk" }],
        "stream": true,
        "extra": { "conversation_id": "desk" },
    });
    let mut gone = served.post("/v1/chat/completions", &body).await;
    assert!(gone.data().await.is_some());
    let chat = "/api/chat/desk/stream";
    let mut back = served.get(chat).await;
    assert_eq!(back.status, 200);
    assert_eq!(back.data().await.unwrap()["type"], "start");
    drop(gone);
    letters.gate.add_permits(1);
    let mut last = Value::Null;
    while let Some(chunk) = back.data().await {
        last = chunk;
    }
    assert_eq!(last["type"], "finish");
    let mut shown = served.get("/threads/desk").await;
    let shown: Value = serde_json::from_str(&shown.line().await.unwrap()).unwrap();
    assert_eq!(
        (&shown["status"], &shown["head"]),
        (&json!("idle"), &json!(4))
    );
}

/// Reads events from a body until one of this kind.
async fn read_until(body: &mut BodyDataStream, kind: &str) -> Vec<Event> {
    let (mut decoder, mut events) = (Decoder::new(), vec![]);
    loop {
        let bytes = body.next().await.unwrap().unwrap();
        decoder.push(&bytes, &mut events).unwrap();
        if kinds(&events).iter().any(|known| known == kind) {
            return events;
        }
    }
}

#[tokio::test]
async fn k22_a_slow_reader_misses_nothing_durable_and_holds_nothing_up() {
    let letters = LetterServer::open();
    let client = letters.client();
    client.run("desk", "talk").await;
    let follow = request(
        axum::http::Method::GET,
        "/threads/desk/events?after=4",
        &[],
        &Value::Null,
    );
    let slow = client.0.clone().oneshot(follow).await.unwrap();
    // Nothing of it is read while more happens than waits for a reader.
    let quick = client.run("desk", "many").await;
    let mut slow = slow.into_body().into_data_stream();
    let slow = read_until(&mut slow, "run_finished").await;
    let expected: Vec<u64> = (5..=u64::from(MANY) + 6).collect();
    assert_eq!(positions(&slow), expected);
    assert_eq!(positions(&quick), expected);
}

#[tokio::test(start_paused = true)]
async fn k22_a_reader_hears_of_runs_in_other_processes() {
    let letters = LetterServer::open();
    let (here, elsewhere) = (letters.client(), letters.client());
    elsewhere.run("desk", "talk").await;
    let follow = request(
        axum::http::Method::GET,
        "/threads/desk/events?after=4",
        &[],
        &Value::Null,
    );
    let follower = here.0.clone().oneshot(follow).await.unwrap();
    let mut follower = follower.into_body().into_data_stream();
    elsewhere.run("desk", "talk").await;
    let heard = read_until(&mut follower, "run_finished").await;
    assert_eq!(
        (positions(&heard), text(&heard)),
        (vec![5, 6, 7], String::new())
    );
}

#[tokio::test]
async fn a_run_is_cancelled_from_another_connection() {
    let letters = LetterServer::open();
    let served = TestServer::open(letters.routes()).await;
    let mut reader = served
        .post("/sse/react", &json!({ "thread": "desk", "text": "slow" }))
        .await;
    assert!(reader.data().await.is_some());
    let mut busy = served
        .post("/threads/desk/runs", &json!({ "text": "talk" }))
        .await;
    assert_eq!(busy.status, 409);
    // Which process runs it is the operator's, and no help to a client.
    let told: Value = serde_json::from_str(&busy.line().await.unwrap()).unwrap();
    let told = told["error"]["message"].as_str().unwrap();
    let pid = std::process::id().to_string();
    assert!(
        told.contains("Idempotency-Key") && !told.contains(&pid),
        "{told}"
    );
    let delete = Reader::open(served.address, "DELETE", "/threads/desk", "", "").await;
    assert_eq!(delete.status, 409);
    let cancelled = served
        .post("/threads/desk/cancel", &json!({ "why": "enough" }))
        .await;
    assert_eq!(cancelled.status, 202);
    let mut last = Value::Null;
    while let Some(data) = reader.data().await {
        last = data;
    }
    assert_eq!(
        (&last["by"], &last["why"]),
        (&json!("everyone"), &json!("enough"))
    );
    let nothing = served.post("/threads/desk/cancel", &json!({})).await;
    assert_eq!(nothing.status, 409);
}

/// The time of a store stands still while a clock that was set back catches up, and a lease of a
/// process that died does not end meanwhile.
#[tokio::test(start_paused = true)]
async fn a_lease_that_outlives_its_time_is_not_waited_for() {
    let mut letters = LetterServer::open();
    letters.log = Arc::new(MemoryLog::with_clock(|| 1_000));
    let client = letters.client();
    client.run("desk", "a free day").await;
    let id = client.asked("desk").await;
    let (thread, owner) = (ThreadId::new("desk").unwrap(), "a dead process".to_owned());
    let lease = LeaseRequest::Acquire {
        thread,
        owner,
        ttl: 4_000,
    };
    letters.log.lease(lease).await.unwrap();
    let body = json!({ "answers": { id.as_str(): true } });
    let answer = client.post("/threads/desk/resume", body);
    let answer = tokio::time::timeout(Duration::from_secs(60), answer).await;
    let answer = answer.expect("it is answered within a minute");
    assert_eq!(answer.error(), (409, "busy".into()));
    assert_eq!(client.asked("desk").await, id);
}
