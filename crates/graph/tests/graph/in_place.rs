//! A node that computes for long keeps no other conversation waiting.
use std::{
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use fugato_graph::{Context, END, Graph, Runner, RunnerOptions};
use fugato_state::{State, ThreadId};
use fugato_store::MemoryLog;
use serde::{Deserialize, Serialize};
use tokio::{runtime::Builder, sync::Notify};

/// The longest wait of the node that computes. A run that has to wait for it comes second.
const LONGEST: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Words(String);

impl State for Words {
    type Update = String;

    fn apply(&mut self, words: String) {
        self.0 = words;
    }
}

/// The events, in their order, and the end of the computation.
struct Reading {
    begun: Notify,
    ended: Mutex<Vec<String>>,
    release: mpsc::Sender<()>,
    wait: Mutex<mpsc::Receiver<()>>,
}

impl Reading {
    /// Computes while the words are long, and ends the computation otherwise.
    fn read(&self, words: &str) {
        let is_long = words == "long";
        if is_long {
            self.begun.notify_one();
            let wait = self.wait.lock().expect("one at a time");
            wait.recv_timeout(LONGEST).ok();
        }
        let mut ended = self.ended.lock().expect("no panic");
        ended.push(words.to_owned());
        if !is_long {
            self.release.send(()).expect("somebody waits");
        }
    }
}

/// Runs a short reading after a long one has begun, on one worker, and returns the order in which they
/// ended.
fn order(nodes: &[&'static str], options: RunnerOptions) -> Vec<String> {
    let (release, wait) = mpsc::channel();
    let reading = Arc::new(Reading {
        begun: Notify::new(),
        ended: Mutex::default(),
        release,
        wait: Mutex::new(wait),
    });
    let mut graph = Graph::<Words>::starting_at("begin")
        .node("begin", async |_: Context<Words>| Vec::<String>::new());
    for name in nodes {
        let read = async |reading: Arc<Reading>, cx: Context<Words>| {
            // Of several nodes at the same time, one reads.
            if cx.task().starts_with("read") {
                reading.read(&cx.state().0);
            }
            Vec::<String>::new()
        };
        graph = graph
            .node_with(*name, reading.clone(), read)
            .edge("begin", *name)
            .edge(*name, END);
    }
    let graph = graph.build().expect("the wiring is right");
    let runner = Runner::new(graph, Arc::new(MemoryLog::default())).options(options);
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build();
    let thread = |name| ThreadId::new(name).expect("the name keeps the rules");
    runtime.expect("a runtime").block_on(async {
        let long = runner.start(&thread("a"), "long".to_owned());
        reading.begun.notified().await;
        let short = runner.start(&thread("b"), "short".to_owned());
        short.await.expect("it ends");
        long.await.expect("it ends");
    });
    let ended = reading.ended.lock().expect("no panic");
    ended.clone()
}

#[test]
fn another_thread_goes_on_while_a_node_computes() {
    for nodes in [&["read"][..], &["read", "other"]] {
        let options = RunnerOptions::default().block_in_place(true);
        assert_eq!(order(nodes, options), ["short", "long"], "{nodes:?}");
    }
}

/// A runtime of one thread, as in tests, has nobody to hand its tasks to.
#[tokio::test]
async fn a_runtime_of_one_thread_runs_it_all_the_same() {
    let graph = Graph::<Words>::starting_at("read")
        .node("read", async |_: Context<Words>| "read".to_owned())
        .edge("read", END);
    let graph = graph.build().expect("the wiring is right");
    let options = RunnerOptions::default().block_in_place(true);
    let runner = Runner::new(graph, Arc::new(MemoryLog::default())).options(options);
    let thread = ThreadId::new("a").expect("the name keeps the rules");
    let ended = runner.start(&thread, "words".to_owned()).await;
    assert_eq!(ended.expect("it ends").state().0, "read");
}
