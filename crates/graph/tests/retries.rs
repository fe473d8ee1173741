//! The retries of a node: their number, their delays, their filter, their events, and their
//! cancellation.
use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use fugato_graph::{
    BoxError, Context, END, Graph, NodePolicy, RunError, RunErrorKind, RunResult, Runner,
    ThreadStatus,
};
use fugato_state::{State, ThreadId};
use fugato_store::MemoryLog;
use fugato_stream::EventKind;
use futures::StreamExt as _;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Tries(u32);

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Done(u32);

impl State for Tries {
    type Update = Done;

    fn apply(&mut self, Done(tries): Done) {
        self.0 = tries;
    }
}

/// Returns a runner whose node succeeds at its fourth try, or never: its third error is then fatal.
fn runner(fatal: bool) -> Runner<Tries> {
    let tries = Arc::new(AtomicU32::new(0));
    let work = move |_: Context<Tries>| {
        let tries = tries.fetch_add(1, Ordering::Relaxed) + 1;
        async move {
            match tries {
                3 if fatal => Err(BoxError::from("it was refused")),
                1..=3 => Err(BoxError::from("it was busy")),
                _ => Ok(Done(tries)),
            }
        }
    };
    let policy = NodePolicy::default()
        .attempts(5)
        .backoff(Duration::from_secs(1), Duration::from_secs(3))
        .retry_if(|error| error.to_string() == "it was busy");
    let graph = Graph::<Tries>::starting_at("work")
        .node("work", work)
        .policy("work", policy)
        .edge("work", END);
    Runner::new(
        graph.build().expect("the wiring is sound"),
        Arc::new(MemoryLog::default()),
    )
}

fn thread() -> ThreadId {
    ThreadId::new("t").expect("the name keeps the rules")
}

/// Returns the end of a run, its duration in seconds, and the events of its failures: the error,
/// and true if it was retried.
async fn watched(
    runner: &Runner<Tries>,
) -> (Result<RunResult<Tries>, RunError>, u64, Vec<(String, bool)>) {
    let began = Instant::now();
    let mut run = runner.start(&thread(), ());
    let mut told = vec![];
    while let Some(event) = run.next().await {
        if let EventKind::NodeFailed { error, retry_at } = event.kind {
            told.push((error, retry_at.is_some()));
        }
    }
    (run.await, began.elapsed().as_secs(), told)
}

#[tokio::test(start_paused = true)]
async fn sch_134_a_retry_waits_longer_each_time_and_is_told() {
    let (ended, seconds, told) = watched(&runner(false)).await;
    assert_eq!(ended.expect("it ends").state(), &Tries(4));
    assert_eq!(seconds, 1 + 2 + 3);
    assert_eq!(
        told,
        vec![("task work#1 failed: it was busy".to_owned(), true); 3]
    );
}

#[tokio::test(start_paused = true)]
async fn sch_134_what_cannot_be_helped_is_not_tried_again() {
    let (ended, seconds, told) = watched(&runner(true)).await;
    let error = ended.expect_err("it fails").to_string();
    assert!(error.contains("work"), "{error}");
    assert_eq!(seconds, 1 + 2);
    let busy = || ("task work#1 failed: it was busy".to_owned(), true);
    assert_eq!(
        told,
        [
            busy(),
            busy(),
            ("task work#1 failed: it was refused".to_owned(), false)
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn sch_134_a_retry_that_waits_can_be_cancelled() {
    let runner = runner(false);
    let mut run = runner.start(&thread(), ());
    let began = Instant::now();
    while let Some(event) = run.next().await {
        if matches!(event.kind, EventKind::NodeFailed { .. }) {
            let cancelled = runner.cancel(&thread(), "ada", "no time").await;
            cancelled.expect("it is under way");
        }
    }
    let error = run.await.expect_err("it was cancelled");
    assert!(
        matches!(error.kind, RunErrorKind::Cancelled { .. }),
        "{error}"
    );
    assert_eq!(
        began.elapsed().as_secs(),
        0,
        "nobody waited for the next try"
    );
    let standing = runner.standing(&thread()).await;
    assert_eq!(standing.expect("a readable log"), ThreadStatus::Idle);
}
