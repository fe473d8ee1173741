use std::{
    collections::HashMap,
    fmt,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

use fugato_state::{Millis, RunId, Seq, State, ThreadId};
use fugato_store::{
    Fence, Lease, LeaseRequest, Leased, Snapshots, ThreadAdmin, ThreadLog, ThreadStore,
};
use fugato_stream::{EventKind, Hub};
use futures::FutureExt;

use crate::{
    Answers, Ended, Events, Graph, IntoUpdates, Run, RunError, RunErrorKind,
    context::Shared,
    driver::{Driver, explain},
    events::Source,
    journal::Journal,
    keeper::Keeper,
    machine::{Phase, Under},
    open::{Opened, open},
    request::{self, Request},
    route::panic_text,
    snapshot::Snapshotter,
};

/// Runs the threads of one graph over one log. Cheap to clone.
pub struct Runner<S: State> {
    pub(crate) shop: Arc<Shop<S>>,
}

impl<S: State> Clone for Runner<S> {
    fn clone(&self) -> Self {
        Self {
            shop: self.shop.clone(),
        }
    }
}

/// What all runs of a runner share.
pub(crate) struct Shop<S: State> {
    pub(crate) graph: Graph<S>,
    pub(crate) log: Arc<dyn ThreadLog>,
    pub(crate) snapshots: Option<Arc<dyn Snapshots>>,
    pub(crate) admin: Option<Arc<dyn ThreadAdmin>>,
    options: RunnerOptions,
    hubs: Mutex<HashMap<ThreadId, Weak<Hub>>>,
    keeper: Keeper,
}

/// How runs behave.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunnerOptions {
    /// How many steps a run may close: 10,000 by default.
    pub step_limit: u64,
    /// How often a task may be begun, crashes included, before the run fails: 3 by default.
    pub crash_limit: u32,
    /// Who holds the leases, for messages to people: the process id by default.
    pub owner: String,
    /// How long a lease lasts without renewal: 10 s by default.
    pub lease: Duration,
}

impl Default for RunnerOptions {
    fn default() -> Self {
        Self {
            step_limit: 10_000,
            crash_limit: 3,
            owner: format!("process {}", std::process::id()),
            lease: Duration::from_secs(10),
        }
    }
}

impl RunnerOptions {
    /// How many steps a run may close.
    #[must_use]
    pub fn step_limit(mut self, steps: u64) -> Self {
        self.step_limit = steps;
        self
    }

    /// How often a task may be begun, crashes included.
    #[must_use]
    pub fn crash_limit(mut self, attempts: u32) -> Self {
        self.crash_limit = attempts;
        self
    }

    /// Who holds the leases, for messages to people.
    #[must_use]
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.owner = owner.into();
        self
    }

    /// How long a lease lasts without renewal.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    pub(crate) fn ttl(&self) -> Millis {
        Millis::try_from(self.lease.as_millis())
            .unwrap_or(Millis::MAX)
            .max(1)
    }
}

impl<S: State> Runner<S> {
    /// A runner over a store that has everything: log, snapshots and administration.
    pub fn new<T: ThreadStore + 'static>(graph: Graph<S>, store: Arc<T>) -> Self {
        Self::with(graph, store.clone(), Some(store.clone()), Some(store))
    }

    /// A runner over a log alone: threads are opened from their first record.
    pub fn on_log(graph: Graph<S>, log: Arc<dyn ThreadLog>) -> Self {
        Self::with(graph, log, None, None)
    }

    fn with(
        graph: Graph<S>,
        log: Arc<dyn ThreadLog>,
        snapshots: Option<Arc<dyn Snapshots>>,
        admin: Option<Arc<dyn ThreadAdmin>>,
    ) -> Self {
        let (options, hubs, keeper) = Default::default();
        Self {
            shop: Arc::new(Shop {
                graph,
                log,
                snapshots,
                admin,
                options,
                hubs,
                keeper,
            }),
        }
    }

    /// The same runner with other options.
    #[must_use]
    pub fn options(self, options: RunnerOptions) -> Self {
        let Shop {
            graph,
            log,
            snapshots,
            admin,
            ..
        } = &*self.shop;
        Self {
            shop: Arc::new(Shop {
                graph: graph.clone(),
                log: log.clone(),
                snapshots: snapshots.clone(),
                admin: admin.clone(),
                options,
                hubs: Mutex::default(),
                keeper: Keeper::default(),
            }),
        }
    }

    /// The graph.
    pub fn graph(&self) -> &Graph<S> {
        &self.shop.graph
    }

    /// Begins a run with an input. The thread begins too, if it does not exist.
    pub fn start<M>(&self, thread: &ThreadId, input: impl IntoUpdates<S::Update, M>) -> Run<S> {
        self.spawn(thread, Request::Start(input.into_updates()))
    }

    /// Answers open questions, and goes on.
    pub fn resume(&self, thread: &ThreadId, answers: Answers) -> Run<S> {
        self.spawn(thread, Request::Resume(answers))
    }

    /// Goes on with a run that a crash left unfinished, or whose questions have expired.
    pub fn recover(&self, thread: &ThreadId) -> Run<S> {
        self.spawn(thread, Request::Recover)
    }

    /// Tries again what failed in a failed run, and nothing else.
    pub fn retry(&self, thread: &ThreadId) -> Run<S> {
        self.spawn(thread, Request::Retry)
    }

    /// The events of a thread after a position: the durable ones from the log, then those of the
    /// run that is under way in this process, if there is one.
    pub fn events(&self, thread: &ThreadId, after: Seq) -> Events {
        let live = lock(&self.shop.hubs).get(thread).and_then(Weak::upgrade);
        let live = live.unwrap_or_else(|| {
            let silent = Arc::new(Hub::default());
            silent.close();
            silent
        });
        Events::live(live.subscribe(), Some(self.shop.source(thread))).after(after)
    }

    fn spawn(&self, thread: &ThreadId, request: Request<S::Update>) -> Run<S> {
        let hub = Arc::new(Hub::default());
        let events = Events::live(hub.subscribe(), Some(self.shop.source(thread)));
        let (shop, thread) = (self.shop.clone(), thread.clone());
        let end = tokio::spawn(async move {
            let end = shop.clone().run(&thread, request, hub.clone()).await;
            shop.forget(&thread, &hub);
            hub.close();
            end
        });
        Run::new(events, end)
    }
}

impl<S: State> Shop<S> {
    fn source(&self, thread: &ThreadId) -> Source {
        let (log, names) = (self.log.clone(), self.graph.0.names.clone());
        Source {
            log,
            thread: thread.clone(),
            names,
        }
    }

    async fn run(
        self: Arc<Self>,
        thread: &ThreadId,
        request: Request<S::Update>,
        hub: Arc<Hub>,
    ) -> Result<Ended<S>, RunError> {
        let lease = match self.acquire(thread).await {
            Ok(lease) => lease,
            Err(error) => return Err(refuse(error, thread, &hub)),
        };
        let held = self
            .keeper
            .hold(&self.log, thread, lease.fence, self.options.ttl());
        lock(&self.hubs).insert(thread.clone(), Arc::downgrade(&hub));
        let ended = match self.prepare(thread, &lease, request, hub.clone()).await {
            Ok(mut driver) => match AssertUnwindSafe(driver.drive()).catch_unwind().await {
                Ok(Ok(())) => Ok(ended(&driver)),
                Ok(Err(error)) if driver.rested => {
                    Err(error.on(Some(thread), driver.machine.steps()))
                }
                Ok(Err(error)) => Err(broken_off(error, thread, &driver)),
                // Nodes and wiring are called calmly: it was `apply` or a serialiser.
                Err(panic) => {
                    let error =
                        RunError::new(RunErrorKind::Unfinished).because(panic_text(&*panic));
                    Err(broken_off(error, thread, &driver))
                }
            },
            Err(error) => Err(refuse(error, thread, &hub)),
        };
        drop(held);
        if ended.is_err() {
            self.release(thread, lease.fence).await;
        }
        ended
    }

    async fn prepare(
        &self,
        thread: &ThreadId,
        lease: &Lease,
        request: Request<S::Update>,
        hub: Arc<Hub>,
    ) -> Result<Driver<S>, RunError> {
        let snapshots = self.snapshots.as_deref();
        let Opened {
            machine,
            fold,
            names,
            head,
            version,
            tail,
            snapshot,
        } = open(&self.graph, &*self.log, snapshots, thread, lease.head).await?;
        let opened = Opened {
            machine,
            fold,
            names,
            head,
            version,
            tail,
            snapshot,
        };
        let mut run = opened.machine.run();
        if matches!(request, Request::Start(_)) {
            run.0 += 1;
        }
        let shared = Arc::new(Shared {
            thread: thread.clone(),
            run,
            names: opened.names.clone(),
            hub,
            late_readers: true,
            now: lease.now,
            since: Instant::now(),
        });
        let mut journal = Journal::new(self.log.clone(), thread.clone(), head, lease.fence);
        journal.tail = tail;
        let under = Under {
            graph: self.graph.fingerprint().into(),
            state: S::VERSION,
        };
        let mut driver =
            request::admit(&self.graph, opened, shared, Some(journal), request, &under)?;
        driver.snapshots = self.snapshots.clone().map(|store| {
            let thread = thread.clone();
            Snapshotter {
                store,
                thread,
                last: snapshot,
            }
        });
        driver.step_limit = self.options.step_limit;
        driver.crash_limit = self.options.crash_limit;
        Ok(driver)
    }

    async fn acquire(&self, thread: &ThreadId) -> Result<Lease, RunError> {
        let (owner, ttl) = (self.options.owner.clone(), self.options.ttl());
        let request = LeaseRequest::Acquire {
            thread: thread.clone(),
            owner,
            ttl,
        };
        match self.log.lease(request).await? {
            Leased::Granted(leases) => leases
                .into_iter()
                .next()
                .ok_or(RunErrorKind::NothingToDo)
                .map_err(RunError::new),
            _ => Err(RunError::new(RunErrorKind::Unsupported(
                "a store that grants leases",
            ))),
        }
    }

    async fn release(&self, thread: &ThreadId, fence: Fence) {
        let release = LeaseRequest::Release {
            thread: thread.clone(),
            fence,
        };
        if let Err(error) = self.log.lease(release).await {
            // The lease runs out by itself.
            tracing::debug!(%thread, %error, "a lease could not be given back");
        }
    }

    fn forget(&self, thread: &ThreadId, hub: &Arc<Hub>) {
        let mut hubs = lock(&self.hubs);
        if hubs
            .get(thread)
            .is_some_and(|known| known.as_ptr() == Arc::as_ptr(hub))
        {
            hubs.remove(thread);
        }
    }
}

/// A request that was refused before anything ran: readers of the stream are told too.
fn refuse(error: RunError, thread: &ThreadId, hub: &Hub) -> RunError {
    tell(error.on(Some(thread), 0), RunId(0), thread, hub)
}

/// A run that could not store how it went on: its log does not tell the readers, so this does.
fn broken_off<S: State>(error: RunError, thread: &ThreadId, driver: &Driver<S>) -> RunError {
    let error = error.on(Some(thread), driver.machine.steps());
    tell(error, driver.shared.run, thread, &driver.shared.hub)
}

fn tell(error: RunError, run: RunId, thread: &ThreadId, hub: &Hub) -> RunError {
    hub.send(fugato_stream::Event {
        thread: thread.clone(),
        run,
        seq: None,
        origin: None,
        kind: EventKind::RunFailed {
            error: explain(&error),
        },
    });
    error
}

pub(crate) fn ended<S: State>(driver: &Driver<S>) -> Ended<S> {
    let state = driver.fold.state.clone();
    if *driver.machine.phase() == Phase::Running {
        return Ended::parked(state, driver.machine.interrupts().cloned().collect());
    }
    let output = driver.machine.output();
    let output = output.and_then(|json| serde_json::from_str(json.get()).ok());
    Ended::Finished { state, output }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<S: State> fmt::Debug for Runner<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shop { graph, options, .. } = &*self.shop;
        f.debug_struct("Runner")
            .field("graph", graph)
            .field("options", options)
            .finish_non_exhaustive()
    }
}
