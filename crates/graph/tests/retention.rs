//! The retention of threads that have come to their end.
use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use fugato_graph::{
    Answers, BoxError, Context, END, Graph, Retention, RunErrorKind, Runner, RunnerOptions,
    ThreadStatus,
};
use fugato_state::{State, ThreadId};
use fugato_store::MemoryLog;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Desk {
    wish: String,
    done: u32,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
enum Change {
    Wished(String),
    Done,
}

impl State for Desk {
    type Update = Change;

    fn apply(&mut self, change: Change) {
        match change {
            Change::Wished(wish) => self.wish = wish,
            Change::Done => self.done += 1,
        }
    }
}

async fn work(cx: Context<Desk>) -> Result<Change, BoxError> {
    match cx.state().wish.as_str() {
        "fail" => Err("it cannot be done".into()),
        _ => Ok(Change::Done),
    }
}

/// Returns a runner with this policy, and the clock of its store.
fn desk(policy: Retention) -> (Runner<Desk>, Arc<AtomicI64>) {
    let now = Arc::new(AtomicI64::new(1_000));
    let clock = now.clone();
    let log = MemoryLog::with_clock(move || clock.load(Ordering::Relaxed));
    let graph = Graph::<Desk>::starting_at("begin")
        .node("begin", async |_: Context<Desk>| Vec::<Change>::new())
        .branch("begin", ["ask", "work"], |desk| {
            if desk.wish == "ask" { "ask" } else { "work" }
        })
        .pause("ask", |_| "sure?", |_, _: bool| None::<Change>)
        .edge("ask", "work")
        .node("work", work)
        .edge("work", END);
    let graph = graph.build().expect("the wiring is sound");
    let options = RunnerOptions::default().on_complete(policy);
    (Runner::new(graph, Arc::new(log)).options(options), now)
}

fn thread(name: &str) -> ThreadId {
    ThreadId::new(name).expect("the name keeps the rules")
}

async fn one_of_each(runner: &Runner<Desk>) {
    for wish in ["ask", "fail", "work"] {
        let run = runner.start(&thread(wish), Change::Wished(wish.into()));
        assert_eq!(run.await.is_err(), wish == "fail");
    }
}

async fn standing(runner: &Runner<Desk>) -> [bool; 3] {
    let mut there = [false; 3];
    for (there, name) in there.iter_mut().zip(["ask", "fail", "work"]) {
        let standing = runner.standing(&thread(name)).await;
        *there = standing.expect("a readable log") != ThreadStatus::New;
    }
    there
}

#[tokio::test]
async fn sch_c6_a_finished_thread_is_kept_unless_somebody_says_otherwise() {
    let (runner, now) = desk(Retention::default());
    one_of_each(&runner).await;
    now.fetch_add(i64::MAX / 2, Ordering::Relaxed);
    assert_eq!(runner.retire().await.expect("nothing to do"), []);
    assert_eq!(standing(&runner).await, [true; 3]);
}

#[tokio::test]
async fn sch_c6_a_finished_thread_is_kept_for_a_while() {
    let (runner, now) = desk(Retention::KeepFor(Duration::from_secs(7200)));
    one_of_each(&runner).await;
    now.fetch_add(7_199_999, Ordering::Relaxed);
    assert_eq!(runner.retire().await.expect("a store"), []);
    // A new run restarts the time of the thread.
    let again = runner.start(&thread("work"), Change::Wished("more".into()));
    assert_eq!(again.await.expect("it runs").state().done, 2);
    now.fetch_add(1, Ordering::Relaxed);
    assert_eq!(runner.retire().await.expect("a store"), []);
    now.fetch_add(7_200_000, Ordering::Relaxed);
    assert_eq!(runner.retire().await.expect("a store"), [thread("work")]);
    // Threads that can still go on are kept.
    assert_eq!(standing(&runner).await, [true, true, false]);
    let Ok(ThreadStatus::Waiting(open)) = runner.standing(&thread("ask")).await else {
        panic!("the question is open");
    };
    let id = open.first().expect("one question").id.clone();
    let answers = Answers::to(id, true).expect("JSON");
    let run = runner.resume(&thread("ask"), answers);
    run.await.expect("it goes on");
}

#[tokio::test]
async fn sch_c6_a_finished_thread_is_deleted_at_once() {
    let (runner, _) = desk(Retention::Delete);
    one_of_each(&runner).await;
    assert_eq!(standing(&runner).await, [true, true, false]);
    // The next request begins a new thread.
    let again = runner.start(&thread("work"), Change::Wished("work".into()));
    assert_eq!(again.await.expect("it runs").state().done, 1);
    assert_eq!(runner.retire().await.expect("a store"), []);
    assert_eq!(standing(&runner).await, [true, true, false]);
}

#[tokio::test]
async fn nothing_is_retired_under_a_run_or_without_administration() {
    let (runner, now) = desk(Retention::KeepFor(Duration::ZERO));
    one_of_each(&runner).await;
    let held = runner.log().lease(fugato_store::LeaseRequest::Acquire {
        thread: thread("work"),
        owner: "somebody else".into(),
        ttl: 10_000,
    });
    held.await.expect("nobody holds it");
    assert_eq!(runner.retire().await.expect("a store"), []);
    now.fetch_add(10_001, Ordering::Relaxed);
    assert_eq!(runner.retire().await.expect("a store"), [thread("work")]);

    let options = RunnerOptions::default().on_complete(Retention::Delete);
    let bare = Runner::on_log(runner.graph().clone(), Arc::new(MemoryLog::default()));
    let error = bare.options(options).retire().await.expect_err("it cannot");
    assert!(matches!(
        error.kind,
        RunErrorKind::Unsupported("administration")
    ));
}
