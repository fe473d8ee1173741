//! Answers to a question whose siblings still work.
use std::sync::Arc;

use async_trait::async_trait;
use axum::http::{Method, StatusCode};
use fugato_axum::{AgentRoutes, AllowAll, BadInput, ServedAgent, UserMessage};
use fugato_graph::{BoxError, Context, END, Graph, Runner};
use fugato_state::{State, ThreadId};
use fugato_store::MemoryLog;
use fugato_stream::EventKind;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::server::{Client, kinds};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Lines(Vec<String>);

impl State for Lines {
    type Update = String;

    fn apply(&mut self, line: String) {
        self.0.push(line);
    }
}

/// Asks for consent while another node waits at the gate.
struct Parallel(Runner<Lines>);

#[async_trait]
impl ServedAgent for Parallel {
    type State = Lines;

    fn name(&self) -> &'static str {
        "parallel"
    }

    fn runner(&self) -> &Runner<Lines> {
        &self.0
    }

    async fn input(&self, said: UserMessage) -> Result<Vec<String>, BadInput> {
        Ok(vec![said.text])
    }
}

fn agent(gate: &Arc<Semaphore>) -> Parallel {
    let gate = gate.clone();
    let slow = move |_: Context<Lines>| {
        let gate = gate.clone();
        async move {
            gate.acquire().await?.forget();
            Ok::<_, BoxError>("slow".to_owned())
        }
    };
    let card = |_: &Lines| json!({ "type": "confirm", "title": "Send it?" });
    let graph = Graph::<Lines>::starting_at("open")
        .node("open", async |_: Context<Lines>| "open".to_owned())
        .pause("confirm", card, |_, yes: bool| format!("confirmed {yes}"))
        .node("slow", slow)
        .edge("open", "confirm")
        .edge("open", "slow")
        .join(["confirm", "slow"], "last")
        .node("last", async |_: Context<Lines>| "last".to_owned())
        .edge("last", END)
        .output(|lines: &Lines| lines.0.clone())
        .build()
        .unwrap();
    Parallel(Runner::new(graph, Arc::new(MemoryLog::default())))
}

/// Waits until the log has a record with this word.
async fn written(runner: &Runner<Lines>, word: &str) -> String {
    let thread = ThreadId::new("t").unwrap();
    loop {
        let log = runner.history(&thread, 1, 100).await.unwrap();
        let log: Vec<_> = log.into_iter().map(|entry| json!(entry.stored())).collect();
        if let Some(found) = log.iter().find_map(|fact| fact.get(word)) {
            let id = &found["questions"][0]["id"];
            return id.as_str().unwrap_or_default().to_owned();
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn k7_an_answer_amid_siblings_is_accepted_and_streamed() {
    let gate = Arc::new(Semaphore::new(0));
    let agent = agent(&gate);
    let runner = agent.0.clone();
    let client = Client(AgentRoutes::new(agent).authenticate(AllowAll).router());
    let begun = client
        .post("/threads/t/runs", json!({ "text": "a letter" }))
        .await;
    assert_eq!(begun.status, StatusCode::ACCEPTED, "{}", begun.body);
    let id = written(&runner, "asked").await;

    // What does not fit is refused while the sibling works, and changes nothing.
    let resume = |answer: Value| client.post("/threads/t/resume", answer);
    let wrong = resume(json!({ "answers": { id.as_str(): "perhaps" } })).await;
    assert_eq!(wrong.error(), (422, "schema".into()));

    let answers = json!({ "answers": { id.as_str(): true } });
    let stream = [("accept", "text/event-stream")];
    let answering = client.with(Method::POST, "/threads/t/resume", &stream, answers.clone());
    let works = async {
        written(&runner, "answered").await;
        // The answer is stored, and the sibling still works; the same answer again attaches.
        let again = resume(answers.clone()).await;
        assert_eq!(again.status, StatusCode::ACCEPTED, "{}", again.body);
        gate.add_permits(1);
    };
    let (answered, ()) = futures::join!(answering, works);
    assert_eq!(answered.status, StatusCode::OK, "{}", answered.body);
    let events = answered.events();
    let told = kinds(&events);
    assert_eq!(
        told.first().map(String::as_str),
        Some("run_started"),
        "{told:?}"
    );
    assert_eq!(
        told.iter()
            .filter(|kind| *kind == "interrupt_answered")
            .count(),
        1,
        "{told:?}"
    );
    let output = Some(json!([
        "a letter",
        "open",
        "confirmed true",
        "slow",
        "last"
    ]));
    let last = events.into_iter().last().map(|event| event.kind);
    assert_eq!(last, Some(EventKind::RunFinished { output }));
}
