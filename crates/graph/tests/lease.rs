//! The lease of a run outlives what the run has under way, however late a renewal arrives; and who
//! gives it back is still told to stop.
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use fugato_graph::{
    BoxError, Context, END, Effect, Ended, Graph, NodePolicy, RunErrorKind, Runner, RunnerOptions,
    Standing,
};
use fugato_state::{Millis, Seq, State, ThreadId};
use fugato_store::{
    Appended, Commit, Head, LeaseRequest, Leased, MemoryLog, Record, Status, StoreError,
    StoreErrorKind, ThreadLog,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::Semaphore;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Left(Millis);

impl State for Left {
    type Update = Millis;

    fn apply(&mut self, left: Millis) {
        self.0 = left;
    }
}

const NOW: Millis = 2_000_000_000_000;
const SHORT: Millis = 30;
/// How long a renewal for the usual time is on its way.
const LATE: Duration = Duration::from_millis(200);

/// Comes between a run and its log.
#[async_trait]
trait Between: Send + Sync + 'static {
    async fn append(
        &self,
        log: &MemoryLog,
        thread: &ThreadId,
        commit: &Commit,
    ) -> Result<Appended, StoreError> {
        log.append(thread, commit).await
    }

    async fn lease(&self, log: &MemoryLog, request: LeaseRequest) -> Result<Leased, StoreError> {
        log.lease(request).await
    }
}

struct Log<B>(Arc<MemoryLog>, B);

#[async_trait]
impl<B: Between> ThreadLog for Log<B> {
    async fn append(&self, thread: &ThreadId, commit: &Commit) -> Result<Appended, StoreError> {
        self.1.append(&self.0, thread, commit).await
    }

    async fn read(
        &self,
        thread: &ThreadId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, Record)>, StoreError> {
        self.0.read(thread, from, limit).await
    }

    async fn head(&self, thread: &ThreadId) -> Result<Option<Head>, StoreError> {
        self.0.head(thread).await
    }

    async fn lease(&self, request: LeaseRequest) -> Result<Leased, StoreError> {
        self.1.lease(&self.0, request).await
    }
}

/// Renewals for the usual time come late.
struct Late;

#[async_trait]
impl Between for Late {
    async fn lease(&self, log: &MemoryLog, request: LeaseRequest) -> Result<Leased, StoreError> {
        if matches!(request, LeaseRequest::Renew { ttl: SHORT, .. }) {
            tokio::time::sleep(LATE).await;
        }
        log.lease(request).await
    }
}

/// How much of its lease the run has when a renewal has arrived that was sent before, and no later
/// one has yet.
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
    let act = move |cx: Context<Left>| {
        let held = held.clone();
        async move {
            // By now the keeper's renewal is on its way.
            tokio::time::sleep(Duration::from_millis(15)).await;
            let thread = cx.thread().clone();
            let look = move |_| async move { left(&held, thread).await };
            let minute = Effect::once().timeout(Duration::from_secs(60));
            cx.effect("look", minute, &(), look).await
        }
    };
    let graph = Graph::<Left>::starting_at("act")
        .node("act", act)
        .edge("act", END)
        .build()
        .expect("the wiring is sound");
    let options = RunnerOptions::default().lease(Duration::from_millis(30));
    let runner = Runner::on_log(graph, Arc::new(Log(log, Late))).options(options);
    let thread = ThreadId::new("t").expect("the name keeps the rules");
    let ended = runner.start(&thread, None).await.expect("it ends well");
    assert!(ended.state().0 >= 59_000, "{} ms are left", ended.state().0);
}

/// It takes its time to be told that a run is at rest, while others ask for the same thread.
#[derive(Clone)]
struct Slow {
    /// Has a permit once the run is at rest in the log, and nobody was told.
    stored: Arc<Semaphore>,
    renewals: Arc<AtomicUsize>,
    /// How many appends are refused after that time, as of one whose lease is lost.
    refused: Arc<AtomicUsize>,
}

impl Slow {
    fn new() -> Self {
        Self {
            stored: Arc::new(Semaphore::new(0)),
            renewals: Arc::default(),
            refused: Arc::default(),
        }
    }

    fn log(&self) -> Arc<Log<Self>> {
        Arc::new(Log(Arc::default(), self.clone()))
    }
}

/// Whether a run stops after this: it is at rest, or left to others.
fn is_last(commit: &Commit) -> bool {
    let is_left = |record: &Record| String::from_utf8_lossy(&record.0).contains("handed_over");
    commit.status != Status::Runnable || commit.records.iter().any(is_left)
}

#[async_trait]
impl Between for Slow {
    async fn append(
        &self,
        log: &MemoryLog,
        thread: &ThreadId,
        commit: &Commit,
    ) -> Result<Appended, StoreError> {
        if !is_last(commit) {
            return log.append(thread, commit).await;
        }
        let one_less = |left: usize| left.checked_sub(1);
        let refused = self
            .refused
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
        let appended = match refused {
            Ok(_) => Err(StoreError::new(StoreErrorKind::LeaseLost, "append")),
            Err(_) => log.append(thread, commit).await,
        };
        self.stored.add_permits(1);
        tokio::time::sleep(LATE).await;
        appended
    }

    async fn lease(&self, log: &MemoryLog, request: LeaseRequest) -> Result<Leased, StoreError> {
        if matches!(request, LeaseRequest::Renew { .. }) {
            self.renewals.fetch_add(1, Ordering::Relaxed);
        }
        log.lease(request).await
    }
}

/// Stores a step, and then stops at a question, or before a wait of an hour.
fn resting(asks: bool) -> Graph<Left> {
    let graph = Graph::<Left>::starting_at("begin")
        .node("begin", async |_: Context<Left>| 1)
        .node("more", async |_: Context<Left>| 1)
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
        let fail = async |_: Context<Left>| Err::<Millis, _>(BoxError::from("it is busy"));
        let again = NodePolicy::default().attempts(2).backoff(hour, hour);
        graph.node("rest", fail).policy("rest", again)
    };
    let graph = graph.edge("rest", END).build();
    graph.expect("the wiring is sound")
}

#[tokio::test(start_paused = true)]
async fn k14_who_cancels_while_a_run_comes_to_rest_is_heard() {
    let short = || RunnerOptions::default().lease(Duration::from_millis(30));
    let options = || short().longest_sleep(Duration::ZERO);
    for (asks, elsewhere) in [(true, false), (true, true), (false, false)] {
        let slow = Slow::new();
        let log = slow.log();
        let runner = Runner::on_log(resting(asks), log.clone()).options(options());
        let other = Runner::on_log(resting(asks), log.clone()).options(options());
        let thread = ThreadId::new("t").expect("the name keeps the rules");
        let run = runner.start(&thread, None).into_future();
        let cancel = async {
            slow.stored.acquire().await.expect("it is open").forget();
            let by = if elsewhere { &other } else { &runner };
            by.cancel(&thread, "Ada", "no time").await
        };
        let (ended, cancelled) = futures::join!(run, cancel);
        cancelled.expect("it is heard");
        // It was at rest before somebody else cancelled it.
        assert_eq!(ended.is_ok(), elsewhere);
        let standing = other.standing(&thread).await.expect("it can be read");
        assert_eq!(standing, Standing::Idle, "{asks} {elsewhere}");
    }
}

#[tokio::test(start_paused = true)]
async fn k14_who_cancels_while_a_run_is_left_to_others_is_heard() {
    let slow = Slow::new();
    let log = slow.log();
    let options = RunnerOptions::default().lease(Duration::from_millis(30));
    let graph = Graph::<Left>::starting_at("wait")
        .node("wait", async |_: Context<Left>| {
            tokio::time::sleep(LATE).await;
            1
        })
        .node("more", async |_: Context<Left>| 1)
        .edge("wait", "more")
        .edge("more", END)
        .build();
    let graph = graph.expect("the wiring is sound");
    let runner = Runner::on_log(graph, log.clone()).options(options);
    let thread = ThreadId::new("t").expect("the name keeps the rules");
    let run = runner.start(&thread, None).into_future();
    let leave = async {
        tokio::time::sleep(LATE / 2).await;
        runner.hand_over(Duration::from_secs(60)).await
    };
    let cancel = async {
        slow.stored.acquire().await.expect("it is open").forget();
        runner.cancel(&thread, "Ada", "no time").await
    };
    let (ended, _, cancelled) = futures::join!(run, leave, cancel);
    cancelled.expect("it is heard");
    let kind = ended.map_err(|error| error.kind);
    assert!(
        matches!(kind, Err(RunErrorKind::Cancelled { .. })),
        "{kind:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn k14_who_cancels_a_run_that_loses_its_lease_is_heard_by_the_next() {
    let slow = Slow::new();
    let log = slow.log();
    let runner = Runner::on_log(resting(true), log.clone());
    let thread = ThreadId::new("t").expect("the name keeps the rules");
    slow.refused.store(1, Ordering::Relaxed);
    let run = runner.start(&thread, None).into_future();
    let cancel = async {
        slow.stored.acquire().await.expect("it is open").forget();
        runner.cancel(&thread, "Ada", "no time").await
    };
    let (ended, cancelled) = futures::join!(run, cancel);
    cancelled.expect("it is heard");
    assert!(ended.is_err(), "{ended:?}");
    let again = runner.recover(&thread).await.map_err(|error| error.kind);
    assert!(
        matches!(again, Err(RunErrorKind::Cancelled { .. })),
        "{again:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn k10_nobody_renews_a_lease_that_is_given_back() {
    let slow = Slow::new();
    let log = slow.log();
    let options = RunnerOptions::default().lease(Duration::from_millis(30));
    let runner = Runner::on_log(resting(true), log.clone()).options(options);
    let thread = ThreadId::new("t").expect("the name keeps the rules");
    let ended = runner.start(&thread, None).await.expect("it ends well");
    assert_eq!(ended.interrupts().len(), 1);
    assert_eq!(slow.renewals.load(Ordering::Relaxed), 0);
}

/// A signal arrives when the run that it is for has ended; a permit lets it end.
struct Overtaken(Arc<Semaphore>);

#[async_trait]
impl Between for Overtaken {
    async fn lease(&self, log: &MemoryLog, request: LeaseRequest) -> Result<Leased, StoreError> {
        if let LeaseRequest::Signal { thread, .. } = &request {
            self.0.add_permits(1);
            while log.head(thread).await?.map(|head| head.status) != Some(Status::Idle) {
                tokio::task::yield_now().await;
            }
        }
        log.lease(request).await
    }
}

#[tokio::test(start_paused = true)]
async fn k14_who_cancels_too_late_does_not_stop_the_next_run() {
    let gate = Arc::new(Semaphore::new(0));
    let log = Arc::new(Log(Arc::default(), Overtaken(Arc::clone(&gate))));
    let held = Arc::clone(&gate);
    let graph = move || {
        let held = Arc::clone(&held);
        let wait = move |_: Context<Left>| {
            let held = Arc::clone(&held);
            async move {
                held.acquire().await?.forget();
                Ok::<Millis, BoxError>(1)
            }
        };
        let graph = Graph::<Left>::starting_at("begin")
            .node("begin", async |_: Context<Left>| 1)
            .node("wait", wait)
            .edge("begin", "wait")
            .edge("wait", END);
        graph.build().expect("the wiring is sound")
    };
    let runner = Runner::on_log(graph(), log.clone());
    let other = Runner::on_log(graph(), log.clone());
    let thread = ThreadId::new("t").expect("the name keeps the rules");
    let run = runner.start(&thread, None).into_future();
    let cancel = async {
        while log.head(&thread).await.expect("it can be read").is_none() {
            tokio::task::yield_now().await;
        }
        other.cancel(&thread, "Ada", "no time").await
    };
    let (ended, cancelled) = futures::join!(run, cancel);
    assert!(matches!(ended, Ok(Ended::Finished { .. })), "{ended:?}");
    let kind = cancelled.map_err(|error| error.kind);
    assert!(matches!(kind, Err(RunErrorKind::NothingToDo)), "{kind:?}");
    gate.add_permits(1);
    let ended = runner.start(&thread, None).await;
    assert!(matches!(ended, Ok(Ended::Finished { .. })), "{ended:?}");
}
