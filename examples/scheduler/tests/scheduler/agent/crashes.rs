//! K24 for this agent: a request has the same result wherever the process crashes and whatever its
//! store does.
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use fugato::llm::{ChatModel, ChatRequest, DeltaStream, ModelError};
use fugato_testkit::{
    Scripted,
    log::Failure,
    sim::{CrashSim, Fault},
};
use scheduler::{
    agent::{AgentState, Request, Update},
    graph::graph,
};
use serde_json::{Value, json};

use crate::common::{FIRST, approves, deps, ends, place, plan, strict, task, week};

/// A model that gives the same answer to the same request, in any process.
#[derive(Clone)]
struct Steady {
    script: Arc<[String]>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Steady {
    fn new(script: impl IntoIterator<Item = Value>) -> Self {
        Self {
            script: script.into_iter().map(|said| said.to_string()).collect(),
            asked: Arc::default(),
        }
    }

    fn reply(&self, request: &ChatRequest) -> Option<String> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let request = without_nonces(&format!("{request:?}"));
        let known = asked.iter().position(|known| *known == request);
        let at = known.unwrap_or_else(|| {
            asked.push(request);
            asked.len() - 1
        });
        self.script.get(at).cloned()
    }
}

/// Returns a request in the form that is equal in all processes: the tags around a decision are new
/// each time.
fn without_nonces(request: &str) -> String {
    let words = request.split_inclusive(|c: char| !c.is_ascii_hexdigit());
    let nonce = |word: &&str| {
        word.trim_end_matches(|c: char| !c.is_ascii_hexdigit())
            .len()
            == 16
    };
    words.filter(|word| !nonce(word)).collect()
}

#[async_trait]
impl ChatModel for Steady {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let reply = self.reply(&request);
        Scripted::new(reply.as_deref()).stream(request).await
    }

    fn name(&self) -> &'static str {
        "steady"
    }
}

fn simulation() -> CrashSim<AgentState> {
    let script = [
        task(),
        plan(["Place it"]),
        place(FIRST, 1, 3),
        ends("done"),
        json!("Done."),
    ];
    let model = Steady::new(script);
    CrashSim::new(move |_| graph(&deps(week()).mind(strict(model.clone()))))
        .input(|| vec![Update::Requested(Request::new("Place it").classes([1]))])
        .answer(approves)
        .random(16)
}

#[tokio::test]
async fn k24_no_crash_changes_what_comes_of_a_request() -> Result<(), Failure> {
    let report = simulation().run().await?;
    assert!(report.faults.contains_key(&Fault::DiesAfter), "{report}");
    assert_eq!(report.most_in_flight, 1, "{report}");
    Ok(())
}
