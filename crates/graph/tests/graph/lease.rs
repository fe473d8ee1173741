//! The lease of a run outlives its actions under way, however late a renewal arrives; and a run
//! that releases its lease is still cancelled.
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use fugato_graph::{
    BoxError, Context, END, Effect, Graph, Next, NodePolicy, RunError, RunErrorKind, RunResult,
    Runner, RunnerOptions, ThreadStatus,
};
use fugato_state::{Millis, State, ThreadId};
use fugato_store::{
    Commit, Intercept, InterceptedLog, LeaseRequest, MemoryLog, Record, Route, Status, StoreCall,
    StoreError, StoreErrorKind, ThreadLog, move_thread,
};
use fugato_stream::{EventKind, Redaction};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::Semaphore;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct TimeLeft(Millis);

impl State for TimeLeft {
    type Update = Millis;

    fn apply(&mut self, left: Millis) {
        self.0 = left;
    }
}

const NOW: Millis = 2_000_000_000_000;
const SHORT: Millis = 30;
/// The delay of a renewal for the usual time.
const LATE: Duration = Duration::from_millis(200);

fn thread() -> ThreadId {
    ThreadId::new("t").expect("the name keeps the rules")
}

fn short() -> RunnerOptions {
    RunnerOptions::default().lease(Duration::from_millis(30))
}

/// A store at which renewals for the usual time arrive late.
struct Late;

impl Intercept for Late {
    async fn around<T: Send>(
        &self,
        asked: StoreCall<'_>,
        act: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        if matches!(
            asked,
            StoreCall::Lease(LeaseRequest::Renew { ttl: SHORT, .. })
        ) {
            tokio::time::sleep(LATE).await;
        }
        act.await
    }
}

/// Returns the time left of the run's lease when an earlier renewal has arrived, and no later one.
async fn left(log: &MemoryLog, thread: ThreadId) -> Result<Millis, BoxError> {
    tokio::time::sleep(LATE).await;
    let owner = "somebody else".to_owned();
    let ttl = 1_000;
    let wanted = LeaseRequest::Acquire { thread, owner, ttl };
    match log.lease(wanted).await.map_err(|error| error.kind) {
        Err(StoreErrorKind::Busy { until, .. }) => Ok(until - NOW),
        other => Err(format!("the thread should be held, not {other:?}").into()),
    }
}

#[tokio::test(start_paused = true)]
async fn k10_a_late_renewal_does_not_shorten_the_lease_of_an_action() {
    // The store's clock stands still, so that nothing runs out: only what was granted counts.
    let log = Arc::new(MemoryLog::with_clock(|| NOW));
    let held = log.clone();
    let act = move |cx: Context<TimeLeft>| {
        let held = held.clone();
        async move {
            // By now the keeper's renewal is on its way.
            tokio::time::sleep(Duration::from_millis(15)).await;
            let thread = cx.thread().clone();
            let look = move |_| async move { left(&held, thread).await };
            let minute = Effect::once().timeout(Duration::from_secs(60));
            Ok(cx.effect("look", minute, &(), look).await?)
        }
    };
    let graph = Graph::<TimeLeft>::starting_at("act")
        .node("act", act)
        .edge("act", END)
        .build()
        .expect("the wiring is sound");
    let log = Arc::new(InterceptedLog::new(log, Late));
    let runner = Runner::on_log(graph, log).options(short());
    let ended = runner.start(&thread(), None).await.expect("it ends well");
    assert!(ended.state().0 >= 59_000, "{} ms are left", ended.state().0);
}

/// A store that is slow to renew the lease of one thread.
struct SlowFor(ThreadId);

impl Intercept for SlowFor {
    async fn around<T: Send>(
        &self,
        asked: StoreCall<'_>,
        act: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        if let StoreCall::Lease(LeaseRequest::Renew { thread, .. }) = asked
            && *thread == self.0
        {
            tokio::time::sleep(Duration::from_secs(60)).await;
        }
        act.await
    }
}

#[tokio::test(start_paused = true)]
async fn k14_a_slow_renewal_lets_no_lease_of_a_later_run_end() {
    let start = tokio::time::Instant::now();
    let clock = move || NOW + Millis::try_from(start.elapsed().as_millis()).expect("it is short");
    let log = Arc::new(MemoryLog::with_clock(clock));
    let graph = Graph::<TimeLeft>::starting_at("act")
        .node("act", async |_: Context<TimeLeft>| {
            tokio::time::sleep(Duration::from_secs(2)).await;
            1
        })
        .edge("act", END)
        .build()
        .expect("the wiring is sound");
    let slow = ThreadId::new("slow").expect("the name keeps the rules");
    let store = Arc::new(InterceptedLog::new(log.clone(), SlowFor(slow.clone())));
    let options = RunnerOptions::default().lease(Duration::from_millis(300));
    let runner = Runner::on_log(graph, store).options(options);
    let first = runner.start(&slow, None);
    // The renewal of the first run is on its way when the second one begins.
    tokio::time::sleep(Duration::from_millis(110)).await;
    let second = runner.start(&thread(), None);
    tokio::time::sleep(Duration::from_millis(500)).await;
    let owner = "somebody else".to_owned();
    let wanted = LeaseRequest::Acquire {
        thread: thread(),
        owner,
        ttl: 1_000,
    };
    let other = log.lease(wanted).await.map_err(|error| error.kind);
    assert!(
        matches!(other, Err(StoreErrorKind::Busy { .. })),
        "{other:?}"
    );
    second.await.expect("it ends well");
    drop(first);
}

/// A store that is slow to acknowledge the last append of a run, while others request the same
/// thread.
struct Slow {
    /// Has a permit once the end of the run is stored, and not acknowledged yet.
    stored: Semaphore,
    renewals: AtomicUsize,
    /// The number of appends that are refused at that time, as those of a lost lease.
    refused: AtomicUsize,
}

impl Slow {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            stored: Semaphore::new(0),
            renewals: AtomicUsize::new(0),
            refused: AtomicUsize::new(0),
        })
    }

    fn log(self: &Arc<Self>) -> Arc<InterceptedLog<MemoryLog, Arc<Self>>> {
        Arc::new(InterceptedLog::new(MemoryLog::default(), Arc::clone(self)))
    }

    /// Returns the result of a run that is cancelled after its end is stored.
    async fn cancelled(
        &self,
        runner: &Runner<TimeLeft>,
        by: &Runner<TimeLeft>,
    ) -> Result<RunResult<TimeLeft>, RunError> {
        let thread = thread();
        let run = runner.start(&thread, None).into_future();
        let cancel = async {
            self.stored.acquire().await.expect("it is open").forget();
            by.cancel(&thread, "Ada", "no time").await
        };
        let (ended, cancelled) = futures::join!(run, cancel);
        cancelled.expect("it is heard");
        ended
    }
}

/// Returns true if a run stops after this commit: it is at rest, or left to others.
fn is_last(commit: &Commit) -> bool {
    let is_left = |record: &Record| String::from_utf8_lossy(&record.0).contains("handed_over");
    commit.status != Status::Runnable || commit.records.iter().any(is_left)
}

impl Intercept for Slow {
    async fn around<T: Send>(
        &self,
        asked: StoreCall<'_>,
        act: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        match asked {
            StoreCall::Append(_, commit) if is_last(commit) => {
                let one_less = |left: usize| left.checked_sub(1);
                let refused =
                    self.refused
                        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
                let appended = match refused {
                    Ok(_) => Err(StoreError::new(StoreErrorKind::LeaseLost, "append")),
                    Err(_) => act.await,
                };
                self.stored.add_permits(1);
                tokio::time::sleep(LATE).await;
                return appended;
            }
            StoreCall::Lease(LeaseRequest::Renew { .. }) => {
                self.renewals.fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        }
        act.await
    }
}

/// Returns a graph that stores a step, and then stops at a question, or before a wait of an hour.
fn resting(asks: bool) -> Graph<TimeLeft> {
    let graph = Graph::<TimeLeft>::starting_at("begin")
        .node("begin", async |_: Context<TimeLeft>| 1)
        .node("more", async |_: Context<TimeLeft>| 1)
        .edge("begin", "more")
        .edge("more", "rest");
    let graph = if asks {
        graph.pause(
            "rest",
            |_| json!("go on?"),
            |_, yes: bool| Millis::from(yes),
        )
    } else {
        let hour = Duration::from_secs(3600);
        let fail = async |_: Context<TimeLeft>| Err::<Millis, _>(BoxError::from("it is busy"));
        let again = NodePolicy::default().attempts(2).backoff(hour, hour);
        graph.node("rest", fail).policy("rest", again)
    };
    let graph = graph.edge("rest", END).build();
    graph.expect("the wiring is sound")
}

#[tokio::test(start_paused = true)]
async fn k14_who_cancels_while_a_run_comes_to_rest_is_heard() {
    let options = || short().longest_sleep(Duration::ZERO);
    for (asks, elsewhere) in [(true, false), (true, true), (false, false)] {
        let slow = Slow::new();
        let log = slow.log();
        let runner = Runner::on_log(resting(asks), log.clone()).options(options());
        let other = Runner::on_log(resting(asks), log.clone()).options(options());
        let by = if elsewhere { &other } else { &runner };
        let ended = slow.cancelled(&runner, by).await;
        // It was at rest before the other runner cancelled it.
        assert_eq!(ended.is_ok(), elsewhere);
        let standing = other.status(&thread()).await.expect("it can be read");
        assert_eq!(standing, ThreadStatus::Idle, "{asks} {elsewhere}");
    }
}

#[tokio::test]
async fn a_closed_runner_begins_nothing_and_still_cancels() {
    let log = MemoryLog::default();
    let runner = Runner::on_log(resting(true), Arc::new(log.clone()));
    let rested = runner.start(&thread(), 0).await;
    assert!(rested.is_ok_and(|rested| !rested.interrupts().is_empty()));
    let other = ThreadId::new("other").expect("the name keeps the rules");
    runner.close();
    runner.closed().await;
    let begun = runner.start(&other, 0).await.map_err(|error| error.kind);
    assert_eq!(begun.err(), Some(RunErrorKind::HandedOver));
    assert_eq!(log.head(&other).await.ok(), Some(None));
    let cancelled = runner.cancel(&thread(), "ada", "it is over").await;
    assert!(cancelled.is_ok(), "{cancelled:?}");
}

#[tokio::test(start_paused = true)]
async fn k14_who_cancels_while_a_run_is_left_to_others_is_heard() {
    let slow = Slow::new();
    let graph = Graph::<TimeLeft>::starting_at("wait")
        .node("wait", async |_: Context<TimeLeft>| {
            tokio::time::sleep(LATE).await;
            1
        })
        .node("more", async |_: Context<TimeLeft>| 1)
        .edge("wait", "more")
        .edge("more", END)
        .build();
    let graph = graph.expect("the wiring is sound");
    let runner = Runner::on_log(graph, slow.log()).options(short());
    let leave = async {
        tokio::time::sleep(LATE / 2).await;
        runner.hand_over(Duration::from_secs(60)).await
    };
    let (ended, _) = futures::join!(slow.cancelled(&runner, &runner), leave);
    let kind = ended.map_err(|error| error.kind);
    assert!(
        matches!(kind, Err(RunErrorKind::Cancelled { .. })),
        "{kind:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn k14_who_cancels_a_run_that_loses_its_lease_is_heard_by_the_next() {
    let slow = Slow::new();
    let runner = Runner::on_log(resting(true), slow.log());
    slow.refused.store(1, Ordering::Relaxed);
    let ended = slow.cancelled(&runner, &runner).await;
    assert!(ended.is_err(), "{ended:?}");
    let again = runner.recover(&thread()).await.map_err(|error| error.kind);
    assert!(
        matches!(again, Err(RunErrorKind::Cancelled { .. })),
        "{again:?}"
    );
}

/// Nothing has failed: the other process has the thread, and the reader is told so, whoever it is.
#[tokio::test(start_paused = true)]
async fn a_run_that_loses_its_lease_says_that_another_process_goes_on() {
    let slow = Slow::new();
    slow.refused.store(1, Ordering::Relaxed);
    let runner = Runner::on_log(resting(true), slow.log());
    let (events, end) = runner.start(&thread(), None).split();
    let (events, ended) = futures::join!(futures::StreamExt::collect::<Vec<_>>(events), end);
    let kind = ended.map_err(|error| error.kind);
    assert_eq!(
        kind.err(),
        Some(RunErrorKind::Store(StoreErrorKind::LeaseLost))
    );
    let told = "another process goes on with this: open the conversation again to see it";
    for redaction in [Redaction::none(), Redaction::internals()] {
        let last = events.last().cloned();
        let last = last.and_then(|event| redaction.apply(event));
        let expected = EventKind::RunFailed {
            error: told.to_owned(),
        };
        assert_eq!(last.map(|event| event.kind), Some(expected));
    }
}

#[tokio::test(start_paused = true)]
async fn k10_nobody_renews_a_lease_that_is_given_back() {
    let slow = Slow::new();
    let runner = Runner::on_log(resting(true), slow.log()).options(short());
    let ended = runner.start(&thread(), None).await.expect("it ends well");
    assert_eq!(ended.interrupts().len(), 1);
    assert_eq!(slow.renewals.load(Ordering::Relaxed), 0);
}

/// A store at which a signal arrives after the end of its run; a permit lets the run end.
struct OvertakenStore {
    log: MemoryLog,
    gate: Arc<Semaphore>,
}

impl Intercept for OvertakenStore {
    async fn around<T: Send>(
        &self,
        asked: StoreCall<'_>,
        act: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        if let StoreCall::Lease(LeaseRequest::Signal { thread, .. }) = asked {
            self.gate.add_permits(1);
            while self.log.head(thread).await?.map(|head| head.status) != Some(Status::Idle) {
                tokio::task::yield_now().await;
            }
        }
        act.await
    }
}

#[tokio::test(start_paused = true)]
async fn k14_who_cancels_too_late_does_not_stop_the_next_run() {
    let gate = Arc::new(Semaphore::new(0));
    let log = MemoryLog::default();
    let overtaken = OvertakenStore {
        log: log.clone(),
        gate: Arc::clone(&gate),
    };
    let log = Arc::new(InterceptedLog::new(log, overtaken));
    let held = Arc::clone(&gate);
    let graph = move || {
        let held = Arc::clone(&held);
        let wait = move |_: Context<TimeLeft>| {
            let held = Arc::clone(&held);
            async move {
                held.acquire().await?.forget();
                Ok::<Millis, BoxError>(1)
            }
        };
        let graph = Graph::<TimeLeft>::starting_at("begin")
            .node("begin", async |_: Context<TimeLeft>| 1)
            .node("wait", wait)
            .edge("begin", "wait")
            .edge("wait", END);
        graph.build().expect("the wiring is sound")
    };
    let runner = Runner::on_log(graph(), log.clone());
    let other = Runner::on_log(graph(), log.clone());
    let thread = thread();
    let run = runner.start(&thread, None).into_future();
    let cancel = async {
        while log.head(&thread).await.expect("it can be read").is_none() {
            tokio::task::yield_now().await;
        }
        other.cancel(&thread, "Ada", "no time").await
    };
    let (ended, cancelled) = futures::join!(run, cancel);
    assert!(matches!(ended, Ok(RunResult::Finished { .. })), "{ended:?}");
    let kind = cancelled.map_err(|error| error.kind);
    assert!(matches!(kind, Err(RunErrorKind::NothingToDo)), "{kind:?}");
    gate.add_permits(1);
    let ended = runner.start(&thread, None).await;
    assert!(matches!(ended, Ok(RunResult::Finished { .. })), "{ended:?}");
}

/// A request waits for the run of another process, and for nobody who has moved away.
#[tokio::test]
async fn k31_a_request_does_not_wait_for_a_thread_that_moved() -> Result<(), BoxError> {
    let (here, there) = (Arc::new(MemoryLog::default()), MemoryLog::default());
    let step = async |_: Context<TimeLeft>| 1;
    let graph = Graph::<TimeLeft>::starting_at("step").node("step", step);
    let runner = Runner::new(graph.edge("step", END).build()?, here.clone());
    runner.start(&thread(), ()).await?;
    move_thread(&thread(), &*here, &there, &Route::new("here", "there")).await?;
    let asked = runner.start_keyed(&thread(), "again", ());
    let refused = tokio::time::timeout(Duration::from_secs(5), asked).await?;
    let refused = refused.expect_err("it lives there").to_string();
    assert!(refused.contains("it moved from here to there"), "{refused}");
    // A signal would reach nobody.
    let cancelled = runner.cancel(&thread(), "Ada", "no time").await;
    let kind = cancelled.map_err(|error| error.kind);
    assert!(matches!(kind, Err(RunErrorKind::Busy { .. })), "{kind:?}");
    Ok(())
}

/// A store that takes its time to tell what a thread is.
struct SlowToOpen;

impl Intercept for SlowToOpen {
    async fn around<T: Send>(
        &self,
        asked: StoreCall<'_>,
        act: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        if matches!(asked, StoreCall::Read { .. }) {
            tokio::time::sleep(LATE).await;
        }
        act.await
    }
}

/// A drive whose time is over before it has opened its thread takes a step all the same.
#[tokio::test]
async fn k29_a_drive_comes_on_however_long_it_takes_to_open() -> Result<(), BoxError> {
    let log = Arc::new(InterceptedLog::new(MemoryLog::default(), SlowToOpen));
    let step = async |_: Context<TimeLeft>| 1;
    let graph = Graph::<TimeLeft>::starting_at("step").node("step", step);
    let runner = Runner::new(graph.edge("step", END).build()?, log);
    runner.submit(&thread(), ()).await?;
    for _ in 0..5 {
        let next = runner.drive(&thread(), Duration::from_millis(1)).await?;
        if next == Next::Done {
            return Ok(());
        }
    }
    Err("five drives took no step".into())
}
