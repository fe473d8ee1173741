//! The items that a conversation shows when it is opened again.
use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::server::{Client, LetterServer, by_header};

async fn timeline(client: &Client, thread: &str) -> Value {
    let path = format!("/threads/{thread}/timeline");
    client.get(&path).await.json()
}

fn kinds(timeline: &Value) -> Vec<(u64, &str)> {
    let items = timeline["timeline"].as_array().unwrap().iter();
    let item = |item: &'_ Value| (item["seq"].as_u64().unwrap(), item["at"].as_u64().unwrap());
    let places: Vec<_> = items.clone().map(item).collect();
    assert!(places.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1));
    items
        .map(|it| (it["at"].as_u64().unwrap(), it["kind"].as_str().unwrap()))
        .collect()
}

#[tokio::test]
async fn sch_124_the_timeline_is_restored_from_the_log() {
    let letters = LetterServer::open();
    let client = letters.client();
    client.run("desk", "a free day").await;
    let open = timeline(&client, "desk").await;
    let asked = &open["timeline"][2];
    assert_eq!(
        open,
        json!({
            "thread": "desk",
            "head": 4,
            "timeline": [
                { "seq": 1, "at": 2, "kind": "user_text", "text": "a free day" },
                { "seq": 2, "at": 3, "kind": "business_card", "card": "week", "data": { "days": 7 } },
                {
                    "seq": 3,
                    "at": 4,
                    "kind": "confirm_request",
                    "state": "open",
                    "id": asked["id"],
                    "digest": asked["digest"],
                    "task": "confirm#1",
                    "key": "answer",
                    "prompt": { "type": "confirm", "title": "Place it?", "summary": "a free day" },
                    "schema": asked["schema"],
                },
            ],
        })
    );
    // The page gets the same with everything else that it shows.
    let shown = client.get("/threads/desk").await.json();
    assert_eq!(shown["timeline"], open["timeline"]);
    assert_eq!(shown["interrupts"][0]["id"], asked["id"]);

    let id = asked["id"].as_str().unwrap();
    let answers = json!({ "answers": { id: true } });
    let accept = [("accept", "text/event-stream")];
    let resumed = client
        .with(Method::POST, "/threads/desk/resume", &accept, answers)
        .await;
    assert_eq!(resumed.status, StatusCode::OK);
    let answered = timeline(&client, "desk").await;
    let state = |at: usize| {
        (
            &answered["timeline"][at]["state"],
            &answered["timeline"][at]["answer"],
        )
    };
    assert_eq!(state(2), (&json!("answered"), &json!(true)));

    client.run("desk", "talk").await;
    let later = timeline(&client, "desk").await;
    assert_eq!(
        kinds(&later),
        [
            (2, "user_text"),
            (3, "business_card"),
            (4, "confirm_request"),
            (8, "user_text"),
            (9, "business_card"),
        ]
    );
    let new = client.get("/threads/desk/timeline?after=3").await.json();
    assert_eq!(kinds(&new), [(8, "user_text"), (9, "business_card")]);
}

#[tokio::test]
async fn what_was_cancelled_is_withdrawn() {
    let client = LetterServer::open().client();
    client.run("desk", "a free day").await;
    let cancelled = client
        .post("/threads/desk/cancel", json!({ "why": "enough" }))
        .await;
    assert_eq!(cancelled.status, StatusCode::ACCEPTED);
    let left = timeline(&client, "desk").await;
    let [.., asked, end] = &left["timeline"].as_array().unwrap()[..] else {
        panic!("{left}")
    };
    assert_eq!(
        (&asked["state"], &asked["answer"]),
        (&json!("withdrawn"), &Value::Null)
    );
    assert_eq!(
        (&end["kind"], &end["code"], &end["summary"]),
        (&json!("status"), &json!("interrupted"), &json!("enough"))
    );
}

#[tokio::test]
async fn a_run_that_failed_leaves_its_trace() {
    let client = LetterServer::open().client();
    client.run("desk", "fail").await;
    client.run("desk", "talk").await;
    let told = timeline(&client, "desk").await;
    let kinds: Vec<_> = kinds(&told).into_iter().map(|(_, kind)| kind).collect();
    let run = ["user_text", "status", "user_text", "business_card"];
    assert_eq!(kinds, run);
    let failed = &told["timeline"][1];
    assert_eq!(failed["code"], "failed");
    let why = failed["summary"].as_str().unwrap();
    assert!(why.contains("the model is not there"), "{why}");
}

#[tokio::test]
async fn a_copy_begins_with_what_was_said_before() {
    let client = LetterServer::open().client();
    client.run("desk", "a free day").await;
    let fork = json!({ "at": 3, "thread": "other" });
    client.post("/threads/desk/fork", fork).await;
    let other = timeline(&client, "other").await;
    assert_eq!(kinds(&other), [(3, "user_text")]);
    assert_eq!(other["timeline"][0]["text"], "a free day");
}

#[tokio::test]
async fn nobody_reads_the_timeline_of_another_tenant() {
    let letters = LetterServer::open();
    let client = Client(letters.routes().authenticate(by_header).router());
    let ask = async |user: &str| {
        let path = "/threads/desk/timeline";
        client
            .with(Method::GET, path, &[("user", user)], Value::Null)
            .await
    };
    let ada = [("user", "ada"), ("accept", "text/event-stream")];
    let body = json!({ "text": "talk" });
    client
        .with(Method::POST, "/threads/desk/runs", &ada, body)
        .await;
    assert_eq!(kinds(&ask("ada").await.json()).len(), 2);
    assert_eq!(ask("bob").await.error(), (404, "not_found".into()));
}
