//! The graph engine keeps its rules on threads that a Restate server goes on with.
use std::{
    collections::{BTreeMap, btree_map::Entry},
    future::pending,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    time::Duration,
};

use fugato_graph::{Drive, Next, RunError};
use fugato_restate::{Restate, RestateOptions};
use fugato_state::ThreadId;
use fugato_store::MemoryLog;
use fugato_testkit::log::{Abilities, LogFactory, OpenError, OpenedLog, PlacingEngine, TestClock};
use tokio::{
    net::TcpListener,
    runtime::Runtime,
    sync::{oneshot, watch},
};

use crate::common::{TestResult, registered};

/// The threads of all scenarios, each under a name of its own, as those of one agent.
#[derive(Default)]
struct Threads(watch::Sender<BTreeMap<ThreadId, Placing>>);

/// A thread that the engine goes on with when its scenario says so, and not meanwhile.
#[derive(Default)]
struct Placing {
    turn: Option<Turn>,
    /// True if the engine comes back by itself: a timer, or a drive that failed.
    comes: bool,
    /// True if the sweep is to find it.
    lost: bool,
}

/// The permission to go on until the thread rests.
struct Turn {
    agent: Arc<dyn Drive>,
    thread: ThreadId,
    tell: oneshot::Sender<Result<Next, RunError>>,
}

impl Threads {
    /// Gives the engine a turn. Returns true if it has never heard of the thread.
    fn give(&self, key: &ThreadId, turn: Turn) -> bool {
        let mut new = false;
        self.0.send_modify(|threads| {
            let entry = threads.entry(key.clone());
            new = matches!(entry, Entry::Vacant(_));
            let placing = entry.or_default();
            placing.lost = !new && !placing.comes;
            placing.turn = Some(turn);
        });
        new
    }

    /// Waits for the turn of the engine; none if the scenario is over.
    async fn turn(&self, key: &ThreadId) -> Option<(Arc<dyn Drive>, ThreadId)> {
        let mut threads = self.0.subscribe();
        let may = threads
            .wait_for(|threads| threads.get(key).is_none_or(|it| it.turn.is_some()))
            .await
            .ok()?;
        let turn = may.get(key)?.turn.as_ref()?;
        Some((turn.agent.clone(), turn.thread.clone()))
    }
}

#[async_trait::async_trait]
impl Drive for Threads {
    fn prefix(&self) -> &'static str {
        ""
    }

    async fn drive(&self, key: &ThreadId, limit: Duration) -> Result<Next, RunError> {
        let Some((agent, thread)) = self.turn(key).await else {
            return Ok(Next::Done);
        };
        let next = agent.drive(&thread, limit).await;
        if matches!(next, Ok(Next::Yield)) {
            return next;
        }
        self.0.send_modify(|threads| {
            if let Some(placing) = threads.get_mut(key) {
                placing.comes = !matches!(next, Ok(Next::Done | Next::WaitForAnswer));
                if let Some(turn) = placing.turn.take() {
                    // A scenario that took too long does not wait any more.
                    drop(turn.tell.send(next.clone()));
                }
            }
        });
        next.map(soon)
    }

    async fn due(&self, n: usize) -> Result<Vec<ThreadId>, RunError> {
        let mut due = vec![];
        self.0.send_if_modified(|threads| {
            let lost = threads.iter_mut().filter(|(_, it)| it.lost).take(n);
            due.extend(lost.map(|(key, it)| {
                it.lost = false;
                key.clone()
            }));
            false
        });
        Ok(due)
    }
}

/// Lets timers come at once, and wait for their turn: the clock of a scenario stands still.
fn soon(next: Next) -> Next {
    let after = Duration::ZERO;
    match next {
        Next::WakeAt { until, .. } => Next::WakeAt { until, after },
        Next::Retry { until, .. } => Next::Retry { until, after },
        next => next,
    }
}

/// One server and one endpoint for all scenarios. They end with the process.
struct Service {
    engine: Restate,
    threads: Arc<Threads>,
    /// Each scenario has a runtime of its own, which ends with it.
    runtime: Runtime,
    _server: servers::Restate,
}

impl Service {
    fn start() -> Option<Self> {
        let server = servers::Restate::start()?;
        let runtime = Runtime::new().expect("the system has threads");
        let threads = Arc::new(Threads::default());
        // Drives yield as soon as they can.
        let options = RestateOptions::new(server.server().url())
            .limit(Duration::ZERO)
            .sweep(Duration::from_millis(20));
        let engine = Restate::new(options).expect("it is an address");
        let (serving, agent, admin) = (engine.clone(), threads.clone(), server.admin());
        let (tell, told) = mpsc::channel();
        runtime.spawn(async move {
            if let Err(error) = serve(serving, agent, &admin, &tell).await {
                drop(tell.send(Err(error)));
            }
        });
        let registered = told.recv().expect("it tells how it began");
        registered.expect("the endpoint is known to the server");
        Some(Self {
            engine,
            threads,
            runtime,
            _server: server,
        })
    }

    fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Service>> = OnceLock::new();
        SHARED.get_or_init(Self::start).as_ref()
    }
}

async fn serve(
    engine: Restate,
    agent: Arc<Threads>,
    admin: &str,
    tell: &mpsc::Sender<TestResult>,
) -> TestResult {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let endpoint = format!("http://{}", listener.local_addr()?);
    let known = async {
        drop(tell.send(registered(&engine, admin, &endpoint).await));
    };
    let served = engine.serve(listener, vec![agent], pending());
    Ok(tokio::join!(served, known).0?)
}

/// The logs of one scenario, and the service that goes on with their threads.
struct PlacedScenario {
    service: &'static Service,
    scenario: u64,
    logs: AtomicU64,
}

impl PlacedScenario {
    fn new() -> Self {
        static MADE: AtomicU64 = AtomicU64::new(0);
        Self {
            service: Service::shared().expect("the suite runs where it is there"),
            scenario: MADE.fetch_add(1, Ordering::Relaxed),
            logs: AtomicU64::new(0),
        }
    }

    /// Returns the beginning of what its threads are called.
    fn prefix(&self) -> String {
        format!("{}/", self.scenario)
    }
}

impl Drop for PlacedScenario {
    fn drop(&mut self) {
        let prefix = self.prefix();
        let threads = &self.service.threads.0;
        threads.send_modify(|threads| threads.retain(|key, _| !key.as_str().starts_with(&prefix)));
    }
}

#[async_trait::async_trait]
impl PlacingEngine for PlacedScenario {
    async fn place(&self, agent: Arc<dyn Drive>, thread: &ThreadId) -> Result<Next, RunError> {
        let (prefix, log) = (self.prefix(), self.logs.load(Ordering::Relaxed));
        let key = ThreadId::new(format!("{prefix}{log}/{thread}")).expect("it is short");
        let (tell, told) = oneshot::channel();
        let turn = Turn {
            agent,
            thread: thread.clone(),
            tell,
        };
        if self.service.threads.give(&key, turn) {
            let _of_the_service = self.service.runtime.enter();
            self.service.engine.wake(&key);
        }
        told.await.expect("a turn ends with what comes next")
    }
}

#[async_trait::async_trait]
impl LogFactory for PlacedScenario {
    fn abilities(&self) -> Abilities {
        Abilities::log_only().with_snapshots().with_admin()
    }

    async fn fresh(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        self.logs.fetch_add(1, Ordering::Relaxed);
        let clock = clock.clone();
        Ok(OpenedLog::whole(MemoryLog::with_clock(move || clock.now())))
    }

    fn engine(&self) -> Option<&dyn PlacingEngine> {
        Some(self)
    }
}

fugato_testkit::kernel_suite!(
    PlacedScenario::new(),
    if Service::shared().is_some(),
    in shares
);
