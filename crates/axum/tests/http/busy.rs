//! An agent that reads a long message keeps no other conversation waiting.
use std::{
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use async_trait::async_trait;
use fugato_axum::{AgentRoutes, AllowAll, BadInput, ServedAgent, UserMessage};
use fugato_graph::{Context, END, Graph, Runner, RunnerOptions};
use fugato_state::State;
use fugato_store::MemoryLog;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::{runtime::Builder, sync::Notify};

use crate::server::Client;

/// The longest time for which the long message is read. Whatever waits for that comes second.
const LONGEST: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Words(String);

impl State for Words {
    type Update = String;

    fn apply(&mut self, words: String) {
        self.0 = words;
    }
}

/// Reads the words "long" until it is told to stop.
struct SlowReader {
    runner: Runner<Words>,
    begun: Arc<Notify>,
    stop: Mutex<mpsc::Receiver<()>>,
}

#[async_trait]
impl ServedAgent for SlowReader {
    type State = Words;

    fn name(&self) -> &'static str {
        "reader"
    }

    fn runner(&self) -> &Runner<Words> {
        &self.runner
    }

    async fn input(&self, said: UserMessage) -> Result<Vec<String>, BadInput> {
        if said.text == "long" {
            self.begun.notify_one();
            let stop = self.stop.lock().expect("one at a time");
            stop.recv_timeout(LONGEST)
                .map_err(|_| BadInput::new("nobody else was answered"))?;
        }
        Ok(vec![said.text])
    }
}

#[test]
fn another_conversation_is_answered_while_a_long_message_is_read() {
    let graph = Graph::<Words>::starting_at("end")
        .node("end", async |_: Context<Words>| Vec::<String>::new())
        .edge("end", END);
    let graph = graph.build().expect("the wiring is right");
    let options = RunnerOptions::default().block_in_place(true);
    let runner = Runner::new(graph, Arc::new(MemoryLog::default())).options(options);
    let ((told, stop), begun) = (mpsc::channel(), Arc::new(Notify::new()));
    let agent = SlowReader {
        runner,
        begun: begun.clone(),
        stop: Mutex::new(stop),
    };
    let client = Client(AgentRoutes::new(agent).authenticate(AllowAll).router());
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(async {
        let say = |thread: &'static str, text: &'static str| {
            let client = client.clone();
            tokio::spawn(async move {
                let path = format!("/threads/{thread}/runs");
                client.post(&path, json!({ "text": text })).await
            })
        };
        let long = say("a", "long");
        begun.notified().await;
        let short = say("b", "short").await.expect("no panic");
        assert_eq!(short.status.as_u16(), 202, "{}", short.body);
        told.send(()).expect("it is read");
        let long = long.await.expect("no panic");
        assert_eq!(long.status.as_u16(), 202, "{}", long.body);
    });
}
