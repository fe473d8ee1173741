//! The shutdown of a server, and the runs that go on after it.
use serde_json::{Value, json};

use crate::{
    server::{LetterServer, kinds},
    wire::{PATIENCE, TestServer, positions},
};

async fn json(served: &TestServer, path: &str) -> (u16, Value) {
    let mut reader = served.get(path).await;
    let line = reader.line().await.unwrap();
    (reader.status, serde_json::from_str(&line).unwrap())
}

#[tokio::test]
async fn k14_a_server_that_ends_hands_its_runs_over() {
    let letters = LetterServer::open();
    let first = TestServer::open(letters.routes()).await;
    assert_eq!(
        json(&first, "/health").await,
        (200, json!({ "status": "ok" }))
    );
    let mut run = first
        .post("/sse/react", &json!({ "thread": "desk", "text": "long" }))
        .await;
    let mut follower = first.get("/threads/desk/events").await;
    letters.gate.add_permits(2);
    for _ in 0..2 {
        follower.until("node_finished").await;
    }

    // A step is under way, so the server waits for it, and takes nothing new.
    let address = first.address;
    let ended = first.stop();
    let health = async {
        loop {
            let mut health = crate::wire::Reader::open(address, "GET", "/health", "", "").await;
            if health.line().await.unwrap().contains("closing") {
                return health.status;
            }
        }
    };
    assert_eq!(health.await, 503);
    let body = json!({ "text": "talk" }).to_string();
    let refused =
        crate::wire::Reader::open(address, "POST", "/threads/other/runs", "", &body).await;
    assert_eq!(refused.status, 503);
    letters.gate.add_permits(1);
    let rest = follower.until("node_finished").await;
    assert!(follower.event().await.is_none());
    while run.data().await.is_some() {}
    let ended = tokio::time::timeout(PATIENCE, ended).await.unwrap();
    assert_eq!(ended.unwrap().unwrap(), 0);

    // Another process goes on at once, and finished steps are not repeated.
    let second = TestServer::open(letters.routes().recovers()).await;
    let after = positions(&rest).pop().unwrap();
    let mut back = second
        .get(&format!("/threads/desk/events?after={after}"))
        .await;
    letters.gate.add_permits(9);
    let end = back.until("run_finished").await;
    let steps = kinds(&end)
        .iter()
        .filter(|kind| *kind == "node_finished")
        .count();
    assert_eq!(steps, 6);
    let (_, state) = json(&second, "/threads/desk/state").await;
    assert_eq!(state["state"]["steps"], 9);
}

#[tokio::test]
async fn a_step_that_takes_too_long_is_given_up() {
    let letters = LetterServer::open();
    let served = TestServer::open(letters.routes().grace(std::time::Duration::ZERO)).await;
    served
        .post("/threads/desk/runs", &json!({ "text": "long" }))
        .await;
    let mut follower = served.get("/threads/desk/events").await;
    let ended = tokio::time::timeout(PATIENCE, served.stop()).await.unwrap();
    assert_eq!(ended.unwrap().unwrap(), 1);
    while follower.data().await.is_some() {}
}
