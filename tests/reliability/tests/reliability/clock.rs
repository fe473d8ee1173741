//! A clock that is set back while threads run and sleep.
use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use fugato_graph::{Context, END, Graph, NodePolicy, Runner, RunnerOptions};
use fugato_sqlite::{SqliteLog, SqliteOptions};
use fugato_state::{Millis, ThreadId};
use reliability::{
    BoxError,
    job::{FinishedJob, Job},
};

/// A clock that is wrong by so much.
#[derive(Clone, Default)]
struct Clock(Arc<AtomicI64>);

impl Clock {
    fn now(&self) -> Millis {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let now = Millis::try_from(now.as_millis()).unwrap_or(Millis::MAX);
        now + self.0.load(Ordering::SeqCst)
    }

    fn step_back(&self) {
        self.0.fetch_sub(HOUR, Ordering::SeqCst);
    }
}

const HOUR: Millis = 3_600_000;

/// Steps the clock back while it runs, fails, sleeps, and is tried again.
fn graph(clock: &Clock) -> Result<Graph<Job>, BoxError> {
    let clock = clock.clone();
    let flaky = move |cx: Context<Job>| {
        let clock = clock.clone();
        async move {
            clock.step_back();
            match cx.attempt() {
                1 => Err(BoxError::from("not yet")),
                n => Ok(FinishedJob(format!("try {n}"))),
            }
        }
    };
    let again = Duration::from_millis(50);
    Ok(Graph::<Job>::starting_at("flaky")
        .node("flaky", flaky)
        .policy(
            "flaky",
            NodePolicy::default().attempts(2).backoff(again, again),
        )
        .pause(
            "ask",
            |_| "go on?",
            |_, by: u64| FinishedJob(format!("answered {by}")),
        )
        .edge("flaky", "ask")
        .edge("ask", END)
        .build()?)
}

#[tokio::test]
async fn d20_a_clock_that_is_set_back_stops_nothing() -> Result<(), BoxError> {
    let (folder, clock) = (fugato_testkit::tempdir()?, Clock::default());
    let told = clock.clone();
    let options = SqliteOptions::default().clock(move || told.now());
    let log = Arc::new(SqliteLog::open_with(
        folder.path().join("clock.db"),
        options,
    )?);
    let leases = RunnerOptions::default().lease(Duration::from_millis(150));
    let runner = Runner::new(graph(&clock)?, log).options(leases);
    let thread = ThreadId::new("set back")?;
    let parked = runner.start(&thread, ()).await?;
    assert_eq!(parked.state().lines, ["try 2"]);
    clock.step_back();
    let answers = fugato_graph::Answers::only(1)?;
    let ended = runner.resume(&thread, answers).await?;
    assert_eq!(ended.state().lines, ["try 2", "answered 1"]);
    let history = runner.history(&thread, 1, 100).await?;
    let times: Vec<_> = history.iter().map(|entry| entry.at).collect();
    assert!(times.is_sorted(), "{times:?}");
    Ok(())
}
