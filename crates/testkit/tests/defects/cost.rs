//! Defects of cost, counted and never timed.
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use fugato_graph::{Context, END, Graph, Outcome, Runner, RunnerOptions, Schedule};
use fugato_state::State;
use fugato_stream::EventKind;
use futures::StreamExt;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tokio::sync::Notify;

use super::bench::{Bench, Calls, Work, did, names};

/// Builds a loop of this many steps, each of which adds this many bytes, with idle nodes in
/// parallel.
fn growing(steps: usize, bytes: usize, idle: usize) -> Graph<Work> {
    let mut graph = Graph::<Work>::starting_at("a").node("a", move |_: Context<Work>| {
        std::future::ready(did("x".repeat(bytes)))
    });
    let mut to = vec!["a".to_owned(), END.to_owned()];
    for n in 0..idle {
        let name = format!("idle{n}");
        graph = graph
            .node(name.clone(), async |_: Context<Work>| ())
            .edge(name.clone(), END);
        to.push(name);
    }
    let round = move |work: &Work| if work.done.len() < steps { "a" } else { END };
    graph.branch("a", to, round).build().unwrap()
}

/// Returns the appends of a run, their bytes, and the bytes of its snapshots.
async fn stored(graph: &Graph<Work>) -> (usize, usize, usize) {
    let bench = Bench::new();
    let runner = bench.runner(graph);
    runner.start(&bench.thread, ()).await.unwrap();
    // Snapshots are put in the background.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    let commits = bench.log.commits();
    let records = commits.iter().flat_map(|commit| &commit.records);
    let bytes = records.map(|record| record.0.len()).sum();
    let mut snapshots = 0;
    for (seq, _) in bench.log.puts() {
        let store = bench.opened.snapshots.as_ref().unwrap();
        let snapshot = store.latest_at(&bench.thread, seq).await.unwrap();
        snapshots += snapshot.map_or(0, |snapshot| snapshot.body.len());
    }
    (commits.len(), bytes, snapshots)
}

#[tokio::test]
async fn d30_stored_bytes_are_linear_in_what_was_written() {
    for steps in [100, 400, 1_600] {
        let (appends, bytes, snapshots) = stored(&growing(steps, 1_024, 0)).await;
        assert_eq!(appends, steps);
        let written = steps * 1_024;
        assert!(
            bytes < written + steps * 200 + 1_000,
            "{steps} steps: {bytes} bytes"
        );
        assert!(
            snapshots <= 2 * written,
            "{steps} steps: {snapshots} bytes of snapshots"
        );
    }
}

#[tokio::test]
async fn d31_a_step_costs_the_same_in_a_large_graph() {
    let small = stored(&growing(50, 10, 0)).await;
    let large = stored(&growing(50, 10, 1_000)).await;
    assert_eq!(small, large);
}

/// A state that counts its clones and serialisations.
#[derive(Debug, Default)]
struct Counted {
    lines: Vec<String>,
    clones: Arc<AtomicUsize>,
    writes: Arc<AtomicUsize>,
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        self.clones.fetch_add(1, Ordering::SeqCst);
        let (clones, writes) = (self.clones.clone(), self.writes.clone());
        let lines = self.lines.clone();
        Self {
            lines,
            clones,
            writes,
        }
    }
}

impl Serialize for Counted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.writes.fetch_add(1, Ordering::SeqCst);
        self.lines.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Counted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let lines = Vec::deserialize(deserializer)?;
        Ok(Self {
            lines,
            ..Self::default()
        })
    }
}

impl State for Counted {
    type Update = String;

    fn apply(&mut self, line: String) {
        self.lines.push(line);
    }
}

/// Returns the number of clones and serialisations of a state of 100 KB in a run of 500 steps.
async fn copies() -> (usize, usize) {
    let bench = Bench::new();
    let counted = Counted::default();
    let (clones, writes) = (counted.clones.clone(), counted.writes.clone());
    let graph = Graph::with_initial("a", move || Counted {
        lines: vec!["x".repeat(100_000)],
        clones: counted.clones.clone(),
        writes: counted.writes.clone(),
    });
    let graph = graph
        .node("a", async |_: Context<Counted>| "line".to_owned())
        .branch("a", ["a", END], |state: &Counted| {
            if state.lines.len() <= 500 { "a" } else { END }
        })
        .build()
        .unwrap();
    let runner = Runner::new(graph, Arc::new(bench.log.clone()));
    let ended = runner.start(&bench.thread, ()).await.unwrap();
    assert_eq!(ended.state().lines.len(), 501);
    (clones.load(Ordering::SeqCst), writes.load(Ordering::SeqCst))
}

#[tokio::test]
async fn d32_no_step_clones_the_state() {
    assert_eq!(copies().await.0, 0);
}

#[tokio::test]
async fn d33_no_step_writes_the_state() {
    // Once, when the thread begins.
    assert_eq!(copies().await.1, 1);
}

#[tokio::test]
async fn d34_a_reader_that_lags_is_kept_no_queue() {
    const DELTAS: usize = 100_000;
    let bench = Bench::new();
    let read = Arc::new(Notify::new());
    let waits = read.clone();
    let graph = Graph::<Work>::starting_at("a")
        .node("a", move |cx: Context<Work>| {
            let waits = waits.clone();
            async move {
                let delta = || EventKind::TextDelta {
                    block: "b".into(),
                    text: "x".into(),
                };
                cx.emit(delta());
                // The reader holds the first event while the others are produced.
                waits.notified().await;
                for _ in 1..DELTAS {
                    cx.emit(delta());
                }
                Outcome::done([did("a")])
            }
        })
        .edge("a", END)
        .build()
        .unwrap();
    let mut run = bench.runner(&graph).start(&bench.thread, ());
    let mut events = vec![run.next().await.unwrap()];
    read.notify_one();
    while bench.head().await == 0 {
        tokio::task::yield_now().await;
    }
    while let Some(event) = run.next().await {
        events.push(event);
    }
    let texts = events.iter().filter_map(|event| match &event.kind {
        EventKind::TextDelta { text, .. } => Some(text.len()),
        _ => None,
    });
    assert_eq!(texts.sum::<usize>(), DELTAS);
    // The queue of a reader is bounded, and deltas beyond that are merged.
    assert!(
        events.len() < fugato_stream::CAPACITY + 50,
        "{} events were kept",
        events.len()
    );
}

#[tokio::test]
async fn d35_a_fast_branch_waits_for_no_slow_sibling() {
    let bench = Bench::new();
    let (calls, leave) = (Calls::default(), Arc::new(Notify::new()));
    let (waits, leaves) = (leave.clone(), leave);
    let mut graph = Graph::<Work>::starting_at("open")
        .node("open", calls.node("open"))
        .node("slow", move |_: Context<Work>| {
            let waits = waits.clone();
            async move {
                waits.notified().await;
                did("slow")
            }
        })
        .edge("open", "slow")
        .edge("open", "fast1")
        .edge("slow", END);
    for n in 1..=9 {
        graph = graph.node(format!("fast{n}"), async |_: Context<Work>| did("fast"));
        graph = graph.edge(format!("fast{n}"), format!("fast{}", n + 1));
    }
    // Only the end of the fast branch lets the slow one go: in lockstep this run would never end.
    let graph = graph
        .node("fast10", move |_: Context<Work>| {
            leaves.notify_one();
            std::future::ready(did("fast"))
        })
        .edge("fast10", END)
        .build()
        .unwrap();
    let options = RunnerOptions::default().schedule(Schedule::Eager);
    let runner = bench.runner(&graph).options(options);
    let ended = runner.start(&bench.thread, ()).await.unwrap();
    let mut expected = vec!["open"];
    expected.extend(["fast"; 10]);
    expected.push("slow");
    assert_eq!(ended.state().done, names(&expected));
}
