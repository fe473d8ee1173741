//! Programs that do not keep K35: the simulation finds each of them.
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use fugato_graph::BoxError;
use fugato_testkit::consent::{ConsentSim, ConsentWorld, TestEndpoints, TestRequest, TestResponse};
use serde_json::{Value, json};

use crate::consent::{Defect, Small, lock};

/// A flaw of the door.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DoorFlaw {
    /// A bare yes agrees to the card that is open.
    RemembersCards,
    /// An id agrees to the card of the same name that is open, whatever its digest.
    IgnoresTokens,
    /// A repeat agrees to the card that is open by now.
    RepeatsAnswers,
    /// The lookup of repeats comes before the commit of the answer: of copies that
    /// come at once each agrees to the card that it finds open.
    LooksUpKeysFirst,
}

/// The small agent, behind a door that rewrites what is sent.
struct FlawedProgram {
    small: Small,
    wrong: DoorFlaw,
    seen: Arc<Mutex<BTreeSet<String>>>,
}

/// That door, as long as the agent is open.
struct FlawedDoor {
    inner: TestEndpoints,
    wrong: DoorFlaw,
    seen: Arc<Mutex<BTreeSet<String>>>,
}

impl FlawedDoor {
    async fn send(&self, request: TestRequest) -> TestResponse {
        let named = name_of(&request);
        let request = self.rewritten(&request).await.unwrap_or(request);
        if self.wrong != DoorFlaw::LooksUpKeysFirst {
            lock(&self.seen).insert(named.clone());
        }
        let response = self.inner.send(request).await;
        lock(&self.seen).insert(named);
        response
    }

    async fn open(&self, thread: &str) -> Option<String> {
        let look = TestRequest::new("GET", format!("/threads/{thread}"), Value::Null);
        let view = self.inner.send(look).await;
        let view: Value = serde_json::from_str(&view.body).ok()?;
        Some(view.pointer("/interrupts/0/id")?.as_str()?.to_owned())
    }

    async fn rewritten(&self, request: &TestRequest) -> Option<TestRequest> {
        let part = |from: &str, end: &str| {
            let rest = from.strip_prefix("/threads/")?;
            Some(rest.strip_suffix(end)?.to_owned())
        };
        let answer = |thread: &str, id: &str, value: &Value| {
            let body = json!({ "answers": { id: value } });
            TestRequest::post(format!("/threads/{thread}/resume"), body)
        };
        if self.wrong == DoorFlaw::RemembersCards {
            let thread = part(&request.path, "/runs")?;
            let is_bare = request.body["text"] == "yes" && request.body.get("card").is_none();
            let id = self.open(&thread).await.filter(|_| is_bare)?;
            return Some(answer(&thread, &id, &json!(true)));
        }
        let thread = part(&request.path, "/resume")?;
        let (id, value) = request.body["answers"].as_object()?.iter().next()?;
        let is_new = !lock(&self.seen).contains(&name_of(request));
        match self.wrong {
            DoorFlaw::RepeatsAnswers if is_new => return None,
            DoorFlaw::LooksUpKeysFirst => {
                self.open(&thread)
                    .await
                    .filter(|open| is_new && open == id)?;
                for _ in 0..30 {
                    tokio::task::yield_now().await;
                }
            }
            _ => {}
        }
        let name = |id: &str| id.split('~').next().map(str::to_owned);
        let open = self.open(&thread).await?;
        let stem = |id: &str| name(id).map(|it| it.split('#').next().map(str::to_owned));
        (stem(&open) == stem(id)).then(|| answer(&thread, &open, value))
    }
}

/// The name by which a repeat of a request is known.
fn name_of(request: &TestRequest) -> String {
    format!("{} {}", request.path, request.body)
}

#[async_trait]
impl ConsentWorld for FlawedProgram {
    async fn restart(&self) -> Result<TestEndpoints, BoxError> {
        let door = Arc::new(FlawedDoor {
            inner: self.small.restart().await?,
            wrong: self.wrong,
            seen: self.seen.clone(),
        });
        Ok(TestEndpoints::new(move |request| {
            let door = door.clone();
            async move { door.send(request).await }
        }))
    }

    async fn writes(&self) -> Vec<Value> {
        self.small.writes().await
    }

    fn content(&self, prompt: &Value) -> Option<Value> {
        self.small.content(prompt)
    }

    fn requests(&self) -> Vec<String> {
        self.small.requests()
    }

    fn edits(&self) -> Vec<String> {
        self.small.edits()
    }
}

/// Returns the report of the simulation on a door, within its usual number of cases.
async fn found(wrong: DoorFlaw) -> String {
    let door = move |store| {
        let (small, seen) = (Small::new(store, Defect::None)?, Arc::default());
        Ok::<_, BoxError>(FlawedProgram { small, wrong, seen })
    };
    let failure = ConsentSim::new(door).share(1).run().await;
    failure.expect_err("it is found").to_string()
}

#[tokio::test]
async fn a_door_that_remembers_what_it_sent_is_found() {
    let failure = found(DoorFlaw::RemembersCards).await;
    assert!(failure.contains("was written 1 times under 0"), "{failure}");
    assert!(failure.contains("FUGATO_CONSENT="), "{failure}");
}

#[tokio::test]
async fn a_door_that_ignores_digest_and_token_is_found() {
    let failure = found(DoorFlaw::IgnoresTokens).await;
    assert!(failure.contains("was written"), "{failure}");
}

#[tokio::test]
async fn a_door_whose_repeats_answer_what_is_open_is_found() {
    let failure = found(DoorFlaw::RepeatsAnswers).await;
    assert!(failure.contains("was written"), "{failure}");
}

#[tokio::test]
async fn an_agent_that_writes_another_value_is_found() {
    let sim = ConsentSim::new(|store| Small::new(store, Defect::WritesOtherValue)).share(1);
    let failure = sim.run().await.expect_err("it is found").to_string();
    assert!(failure.contains("was written"), "{failure}");
}

#[tokio::test]
async fn a_door_that_looks_up_keys_before_the_commit_is_found() {
    let failure = found(DoorFlaw::LooksUpKeysFirst).await;
    assert!(failure.contains("was written"), "{failure}");
}
