mod fallback;
mod join;
mod lease;

use std::{
    collections::HashMap,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use fugato_state::{Lang, Millis, RunId, Seq, State, ThreadId};
use fugato_store::{Lease, Snapshots, ThreadAdmin, ThreadLog, ThreadStore};
use fugato_stream::{EventKind, Hub, Redaction};
use futures::FutureExt;
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};
use tracing::Instrument as _;

pub use fallback::RunFallback;
use join::Entry;

use crate::{
    Answers, Durability, Events, Graph, IntoUpdates, Retention, Run, RunError, RunErrorKind,
    RunResult, RunnerOptions, StateEdit,
    admission::{self, Admission},
    context::RunInner,
    control::{Control, StopReason},
    driver::{Driver, explain},
    engine::Engine,
    events::{EventSource, REFUSED},
    in_place::in_place,
    journal::Journal,
    machine::{Directive, ProgramVersion, ThreadPhase},
    open::open,
    renewer::LeaseRenewer,
    request::{Request, StartMode},
    route::panic_text,
    snapshot::Snapshotter,
};

/// A runner of the threads of one graph over one log. Cheap to clone.
///
/// Every request on a thread goes through a runner: it takes the lease, opens the thread, records
/// the request, and runs the graph until it ends, parks or fails. The log is all that runners
/// share, so each request may come to another process.
///
/// ```
/// use std::sync::Arc;
///
/// use fugato_graph::{Answers, END, Graph, Runner};
/// use fugato_state::{State, ThreadId};
/// use fugato_store::MemoryLog;
/// # #[derive(Clone, Default, serde::Serialize, serde::Deserialize)]
/// # struct Order { item: String, confirmed: bool }
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// # enum Change { Ordered(String), Confirmed(bool) }
/// # impl State for Order {
/// #     type Update = Change;
/// #     fn apply(&mut self, change: Change) {
/// #         match change {
/// #             Change::Ordered(item) => self.item = item,
/// #             Change::Confirmed(yes) => self.confirmed = yes,
/// #         }
/// #     }
/// # }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let graph = Graph::<Order>::starting_at("confirm")
///     .pause("confirm", |order| order.item.clone(), |_, yes: bool| Change::Confirmed(yes))
///     .edge("confirm", END)
///     .build()?;
/// let (log, thread) = (Arc::new(MemoryLog::default()), ThreadId::new("order-7")?);
/// let first = Runner::new(graph.clone(), log.clone());
/// let parked = first.start_keyed(&thread, "request-1", Change::Ordered("tea".into())).await?;
/// let question = parked.interrupts()[0].id.clone();
///
/// let second = Runner::new(graph, log);
/// let ended = second.resume(&thread, Answers::to(question, true)?).await?;
/// assert!(ended.state().confirmed);
/// # Ok(())
/// # }
/// ```
///
/// Wrong: taking a timeout for a cancellation. It drops the [`Run`], and the run goes on;
/// [`cancel`](Self::cancel) stops it.
///
/// ```text
/// tokio::time::timeout(limit, runner.start(&thread, input).into_future()).await
/// ```
///
/// *Contract*
/// - **one owner**: a run holds the lease of its thread. Another request is `Busy` meanwhile. A
///   named one waits: a repeat gets the events of its own run, any other nothing until its own.
/// - **refused whole**: a request that is refused has changed nothing.
/// - **stored first**: an event with a position is sent after its record is stored.
///
/// # Errors
/// A [`RunError`] is a refusal (`Busy`, `Waiting`, `Unfinished`, `NothingToDo`, `Answer`, and
/// others), the failure of a run, which [`retry`](Self::retry) tries again, or an error of the
/// store. After an error of the store the run is unfinished, and [`recover`](Self::recover) or a
/// [`Worker`](crate::Worker) goes on.
///
/// # Cancellation safety
/// A run is a task of its own: dropping its [`Run`] detaches it, at every point.
///
/// # Panics
/// Requests panic outside of a tokio runtime.
///
/// # Cost
/// A request takes a lease, reads the records after the last snapshot, and appends about once for
/// each step ([`Durability::Strict`]) or less often. One task renews all leases of a runner.
#[derive_where::derive_where(Clone)]
#[derive(derive_more::Debug)]
#[debug("Runner {{ graph: {:?}, options: {:?}, .. }}", self.inner.graph, self.inner.options)]
pub struct Runner<S: State> {
    pub(crate) inner: Arc<RunnerInner<S>>,
}

/// The function by which an engine hears of a thread that goes on.
type Wake = dyn Fn(&ThreadId) + Send + Sync;

/// The state that all runs of a runner share.
pub(crate) struct RunnerInner<S: State> {
    pub(crate) graph: Graph<S>,
    pub(crate) log: Arc<dyn ThreadLog>,
    pub(crate) snapshots: Option<Arc<dyn Snapshots>>,
    pub(crate) admin: Option<Arc<dyn ThreadAdmin>>,
    pub(crate) options: Arc<RunnerOptions>,
    fallback: Option<Arc<dyn RunFallback<S>>>,
    waker: Option<Arc<Wake>>,
    live: Mutex<HashMap<ThreadId, LiveRun<S>>>,
    /// The hubs of the followers of threads, over all runs.
    lines: Mutex<HashMap<ThreadId, Weak<Hub>>>,
    /// Notified whenever a run is no longer live.
    rested: Notify,
    keeper: LeaseRenewer,
    /// True once no run may begin.
    closed: watch::Sender<bool>,
}

/// A run under way in this process.
struct LiveRun<S: State> {
    hub: Weak<Hub>,
    control: Weak<Control>,
    /// The names of the requests of this run.
    keys: Vec<String>,
    end: ResultReceiver<S>,
}

/// Receives the result of a run, for the requests that joined it.
type ResultReceiver<S> = watch::Receiver<Option<Result<RunResult<S>, RunError>>>;

impl<S: State> Runner<S> {
    /// Creates a runner over a complete store: log, snapshots and administration.
    pub fn new<T: ThreadStore + 'static>(graph: Graph<S>, store: Arc<T>) -> Self {
        Self::with(graph, store.clone(), Some(store.clone()), Some(store))
    }

    /// Creates a runner over a log alone: threads are opened from their first record.
    pub fn on_log(graph: Graph<S>, log: Arc<dyn ThreadLog>) -> Self {
        Self::with(graph, log, None, None)
    }

    fn with(
        graph: Graph<S>,
        log: Arc<dyn ThreadLog>,
        snapshots: Option<Arc<dyn Snapshots>>,
        admin: Option<Arc<dyn ThreadAdmin>>,
    ) -> Self {
        let (options, fallback, waker, live, lines, rested, keeper, closed) = Default::default();
        Self {
            inner: Arc::new(RunnerInner {
                graph,
                log,
                snapshots,
                admin,
                options,
                fallback,
                waker,
                live,
                lines,
                rested,
                keeper,
                closed,
            }),
        }
    }

    /// Returns a runner over the same graph and store.
    fn assemble(
        &self,
        options: Arc<RunnerOptions>,
        fallback: Option<Arc<dyn RunFallback<S>>>,
        waker: Option<Arc<Wake>>,
    ) -> Self {
        let RunnerInner {
            graph,
            log,
            snapshots,
            admin,
            ..
        } = &*self.inner;
        let (live, lines, rested, keeper, closed) = Default::default();
        Self {
            inner: Arc::new(RunnerInner {
                graph: graph.clone(),
                log: log.clone(),
                snapshots: snapshots.clone(),
                admin: admin.clone(),
                options,
                fallback,
                waker,
                live,
                lines,
                rested,
                keeper,
                closed,
            }),
        }
    }

    /// Returns a runner with these options, over the same graph and store.
    #[must_use]
    pub fn options(self, options: RunnerOptions) -> Self {
        let (fallback, waker) = (self.inner.fallback.clone(), self.inner.waker.clone());
        self.assemble(Arc::new(options), fallback, waker)
    }

    /// Returns a runner with this fallback, over the same graph and store. Every run of this runner
    /// that fails because of its graph is handed to it, whoever asked for the run.
    #[must_use]
    pub fn fallback(self, fallback: impl RunFallback<S> + 'static) -> Self {
        let (options, waker) = (self.inner.options.clone(), self.inner.waker.clone());
        self.assemble(options, Some(Arc::new(fallback)), waker)
    }

    /// Returns a runner over the same graph and store that tells an engine which threads are left
    /// to it: those that are [submitted](Self::submit), handed over, or broken off by their store,
    /// and those that go on at a time. `engine` is called with the thread once the log says that it
    /// goes on, and must not block. The word may be lost, for instance with the process:
    /// [`due`](Self::due) repeats it.
    #[must_use]
    pub fn woken_by(self, engine: impl Fn(&ThreadId) + Send + Sync + 'static) -> Self {
        let (options, fallback) = (self.inner.options.clone(), self.inner.fallback.clone());
        self.assemble(options, fallback, Some(Arc::new(engine)))
    }

    /// Polls work on behalf of a thread as its runs are polled: where these may
    /// [compute for long](RunnerOptions::block_in_place), no other task of the runtime waits for it.
    pub async fn in_place<F: Future>(&self, work: F) -> F::Output {
        in_place(self.inner.options.block_in_place, work).await
    }

    /// Returns the beginning of the names of this agent's threads.
    pub fn prefix(&self) -> &str {
        &self.inner.options.prefix
    }

    /// Returns the graph.
    pub fn graph(&self) -> &Graph<S> {
        &self.inner.graph
    }

    /// Returns the log.
    pub fn log(&self) -> &Arc<dyn ThreadLog> {
        &self.inner.log
    }

    /// Returns the administration of threads, if the store has one.
    pub fn admin(&self) -> Option<&Arc<dyn ThreadAdmin>> {
        self.inner.admin.as_ref()
    }

    /// Begins a run with an input, and creates the thread if it does not exist.
    pub fn start<M>(&self, thread: &ThreadId, input: impl IntoUpdates<S::Update, M>) -> Run<S> {
        let request = Request::start(None, input.into_updates(), StartMode::WithStep);
        self.spawn(thread, request, None)
    }

    /// Begins a run under a name of the caller's, so that a repeat has no second effect: it gets
    /// the end of the run, or goes on with it while it is open. A repeat with another input is an
    /// error. The name is kept for [`RunnerOptions::key_age`].
    pub fn start_keyed<M>(
        &self,
        thread: &ThreadId,
        key: impl Into<String>,
        input: impl IntoUpdates<S::Update, M>,
    ) -> Run<S> {
        let (key, updates) = (Some(key.into()), input.into_updates());
        let request = Request::start(key, updates, StartMode::WithStep);
        self.spawn(thread, request, None)
    }

    /// Begins a run that is stored before its first step and before its first event, so that
    /// whoever is told of it finds it after a crash; `key` names the request, as in
    /// [`start_keyed`](Self::start_keyed). It costs one append more than the others. With another
    /// [`Durability`] than [`Strict`](Durability::Strict) it is stored as that says.
    pub fn start_stored<M>(
        &self,
        thread: &ThreadId,
        key: Option<String>,
        input: impl IntoUpdates<S::Update, M>,
    ) -> Run<S> {
        let request = Request::start(key, input.into_updates(), StartMode::Stored);
        self.spawn(thread, request, None)
    }

    /// Answers open questions, and goes on with the run.
    ///
    /// While a run of this process has the thread, the answers go to that run, and its other tasks
    /// work on: the returned run has its events from there on, and its end. An answer is in the log
    /// before its event is sent. While another process runs the thread, the answers are `Busy`.
    pub fn resume(&self, thread: &ThreadId, answers: Answers) -> Run<S> {
        self.spawn(thread, Request::Resume(answers), None)
    }

    /// Goes on with a run that a crash left unfinished, or whose questions have expired.
    pub fn recover(&self, thread: &ThreadId) -> Run<S> {
        self.spawn(thread, Request::Recover, None)
    }

    /// Retries the failed tasks of a failed run, and nothing else.
    pub fn retry(&self, thread: &ThreadId) -> Run<S> {
        self.spawn(thread, Request::Retry, None)
    }

    /// Changes the state as an operator, while the thread is parked or has ended. If the amendment
    /// finishes a task, the thread goes on from there.
    pub fn amend(&self, thread: &ThreadId, amendment: StateEdit<S::Update>) -> Run<S> {
        self.spawn(thread, Request::Amend(amendment), None)
    }

    /// Returns true if a run of this process has the thread.
    pub fn is_live(&self, thread: &ThreadId) -> bool {
        lock(&self.inner.live).contains_key(thread)
    }

    /// Returns the events of a thread after a position, and of every run of it that begins in this
    /// process later. The stream has no end; the reader drops it.
    pub fn follow(&self, thread: &ThreadId, after: Seq) -> Events {
        let shared = self.inner.line(thread);
        let heard = shared.subscribe();
        if let Some(hub) = self.inner.hub(thread) {
            hub.relay(&shared);
        }
        Events::live(heard, Some(self.inner.source(thread)))
            .following()
            .after(after)
    }

    /// Returns the events of a thread after a position: the durable ones from the log, then those
    /// of the run that is under way in this process, if there is one.
    pub fn events(&self, thread: &ThreadId, after: Seq) -> Events {
        let live = self.inner.hub(thread).unwrap_or_else(|| {
            let silent = Arc::new(Hub::default());
            silent.close();
            silent
        });
        Events::live(live.subscribe(), Some(self.inner.source(thread))).after(after)
    }

    /// Goes on with a thread under a lease that was claimed.
    pub(crate) fn go_on(&self, lease: Lease) -> Run<S> {
        let thread = lease.thread.clone();
        self.spawn(&thread, Request::Recover, Some(lease))
    }

    /// Carries a request out in a task of its own, under a lease that was claimed if there is one.
    pub(crate) fn spawn(
        &self,
        thread: &ThreadId,
        request: Request<S::Update>,
        lease: Option<Lease>,
    ) -> Run<S> {
        let hub = Arc::new(Hub::default());
        let events = Events::live(hub.subscribe(), Some(self.inner.source(thread)));
        // A repeated request gets the events of its run. A new one waits for the end of the run that
        // is under way, of which it gets nothing: that is the answer to another request. Answers get
        // the events of the run that takes them.
        let attaches = request.key().filter(|_| request.joins().is_none());
        if let Some(running) = attaches.and_then(|key| self.inner.hub_of(thread, key)) {
            running.relay(&hub);
        }
        let (tell, told) = watch::channel(None);
        let (inner, thread) = (self.inner.clone(), thread.clone());
        // All log lines within the span carry the thread.
        let span = tracing::info_span!(target: "fugato.graph", "run", fugato.thread = %thread);
        let work = async move {
            // Whoever drives a thread is told by the end of the run.
            let waker = inner.waker.as_ref().filter(|_| lease.is_none());
            let run = inner.clone().run(&thread, request, lease, (&hub, told));
            let end = run.await;
            inner.forget(&thread, &hub);
            if let Some(engine) = waker.filter(|_| goes_on_later(&end)) {
                engine(&thread);
            }
            // Without a request that joined the run, this is all that knows of the channel.
            if tell.receiver_count() > 0 {
                tell.send_replace(Some(end.clone()));
            }
            hub.close();
            end
        };
        // What goes wrong outside of nodes is told to whoever asked for the run.
        let work = Lang::current().scope_future(work);
        let end = if self.inner.options.block_in_place {
            tokio::spawn(in_place(true, work).instrument(span))
        } else {
            tokio::spawn(work.instrument(span))
        };
        Run::new(events, end)
    }
}

impl<S: State> RunnerInner<S> {
    fn source(&self, thread: &ThreadId) -> EventSource {
        let (log, names) = (self.log.clone(), self.graph.0.names.clone());
        EventSource {
            log,
            thread: thread.clone(),
            names,
        }
    }

    fn hub(&self, thread: &ThreadId) -> Option<Arc<Hub>> {
        lock(&self.live).get(thread)?.hub.upgrade()
    }

    /// Returns the hub of the run that is under way, if a request of this name belongs to it.
    fn hub_of(&self, thread: &ThreadId, key: &str) -> Option<Arc<Hub>> {
        let live = lock(&self.live);
        let live = live.get(thread)?;
        let is_own = live.keys.iter().any(|known| known == key);
        live.hub.upgrade().filter(|_| is_own)
    }

    /// Returns the hub that outlasts the runs of a thread, as long as it has a follower.
    fn line(&self, thread: &ThreadId) -> Arc<Hub> {
        let mut lines = lock(&self.lines);
        if let Some(line) = lines.get(thread).and_then(Weak::upgrade) {
            return line;
        }
        // Only at powers of two, so that the cost is negligible.
        if lines.len().is_power_of_two() {
            lines.retain(|_, line| line.strong_count() > 0);
        }
        let line = Arc::default();
        lines.insert(thread.clone(), Arc::downgrade(&line));
        line
    }

    async fn run(
        self: Arc<Self>,
        thread: &ThreadId,
        request: Request<S::Update>,
        lease: Option<Lease>,
        (hub, end): (&Arc<Hub>, ResultReceiver<S>),
    ) -> Result<RunResult<S>, RunError> {
        let begins = !matches!(request, Request::Amend(_) | Request::Cancel { .. });
        if begins && *self.closed.borrow() {
            if let Some(lease) = lease {
                self.release(thread, lease.fence).await;
            }
            return Err(refuse(RunError::new(RunErrorKind::HandedOver), thread, hub));
        }
        let key = request.key().map(str::to_owned);
        let waits = key.is_some();
        let claimed = lease.is_some();
        let entry = match lease {
            Some(lease) => Ok(Entry::Leased(lease)),
            None => self.enter(thread, (request.joins(), waits), hub).await,
        };
        let lease = match entry {
            Ok(Entry::Leased(lease)) => lease,
            Ok(Entry::Joined(end)) => return end,
            Err(error) => return Err(refuse(error, thread, hub)),
        };
        let control = Arc::new(Control::default());
        control.leased(lease.until);
        control.at(lease.now);
        let ttl = self.options.ttl();
        let held = self
            .keeper
            .hold(&self.log, (thread, lease.fence), ttl, &control);
        let live = LiveRun {
            hub: Arc::downgrade(hub),
            control: Arc::downgrade(&control),
            keys: key.into_iter().collect(),
            end,
        };
        lock(&self.live).insert(thread.clone(), live);
        // The runner was closed since, by somebody who did not see this run.
        if begins && *self.closed.borrow() {
            control.stop(StopReason::Drain);
        }
        let followed = lock(&self.lines).get(thread).and_then(Weak::upgrade);
        if let Some(followed) = followed {
            hub.relay(&followed);
        }
        let again = self.fallback.as_ref().and_then(|_| request.again());
        let prepared = self.prepare(thread, &lease, request, (hub, control.clone()));
        let mut begun = None;
        let ended = match prepared.await {
            Ok(Admission::Already(ended)) => {
                self.release(thread, lease.fence).await;
                Ok(ended)
            }
            Ok(Admission::Run(driver)) => {
                begun = Some(driver.engine.shared.run);
                let keys: Vec<_> = driver.root.machine.open_keys().map(str::to_owned).collect();
                if let Some(live) = lock(&self.live).get_mut(thread) {
                    live.keys.extend(keys);
                }
                self.drive(thread, *driver).await
            }
            Err(error) => {
                control.calls.close();
                if let Some((backup, request)) = self.elsewhere(&error, again) {
                    drop(held);
                    self.release(thread, lease.fence).await;
                    return fallback::relayed(backup.spawn(thread, request, None), None, hub).await;
                }
                Err(refuse(error, thread, hub))
            }
        };
        drop(held);
        if claimed && matches!(&ended, Err(error) if error.is_refusal()) {
            // A thread that is claimed again at once would be refused again: it waits for the end
            // of the lease.
            return ended;
        }
        if !matches!(
            &ended,
            Ok(RunResult::Finished { .. } | RunResult::Interrupted { .. })
        ) {
            self.release(thread, lease.fence).await;
        }
        let finished = matches!(ended, Ok(RunResult::Finished { .. }));
        if finished && self.options.on_complete == Retention::Delete {
            self.clone().delete(thread).await;
        }
        match begun {
            Some(run) => self.stood_in(thread, run, ended, hub).await,
            None => ended,
        }
    }

    /// Removes a finished thread. A failure to do so does not fail the run.
    async fn delete(self: Arc<Self>, thread: &ThreadId) {
        let removed = Runner { inner: self }.retired(thread, None).await;
        if let Err(error) = removed {
            tracing::warn!(%thread, %error, "thread could not be removed");
        }
    }

    async fn drive(
        &self,
        thread: &ThreadId,
        mut driver: Driver<S>,
    ) -> Result<RunResult<S>, RunError> {
        let steps = |driver: &Driver<S>| driver.root.machine.steps();
        let error = match AssertUnwindSafe(driver.drive(&self.graph))
            .catch_unwind()
            .await
        {
            Ok(Ok(())) => return Ok(ended(&driver)),
            Ok(Err(error)) if driver.rested => {
                return Err(error.on(Some(thread), steps(&driver)));
            }
            Ok(Err(error)) => error,
            // Panics of nodes and wiring are caught elsewhere: it was `apply` or a serialiser.
            Err(panic) => RunError::new(RunErrorKind::Unfinished).because(panic_text(&*panic)),
        };
        // A cancellation that came too late for this run is stored for the next one.
        if let Some(StopReason::Cancel { by, why }) = driver.engine.shared.control.rest()
            && let Err(error) = self.signal(thread, by, why).await
        {
            tracing::warn!(%thread, %error, "cancel request could not be stored");
        }
        Err(broken_off(error, thread, &driver))
    }

    async fn prepare(
        &self,
        thread: &ThreadId,
        lease: &Lease,
        request: Request<S::Update>,
        (hub, control): (&Arc<Hub>, Arc<Control>),
    ) -> Result<Admission<S>, RunError> {
        self.options.check()?;
        let snapshots = self.snapshots.as_deref();
        let opened = open(&self.graph, &*self.log, snapshots, thread, lease.head).await?;
        let mut run = opened.scope.machine.run();
        // A start while a run is open repeats that run's request, or is refused.
        let open = *opened.scope.machine.phase() == ThreadPhase::Running;
        if matches!(request, Request::Start { .. }) && !open {
            run = run.next();
        }
        let shared = Arc::new(RunInner {
            thread: thread.clone(),
            run,
            names: opened.scope.names.clone(),
            hub: hub.clone(),
            late_readers: true,
            withholds_failure: self.fallback.is_some(),
            clock: (carried_on(lease.now, opened.last), Instant::now()).into(),
            control: control.into(),
        });
        let mut journal = Journal::new(self.log.clone(), thread.clone(), opened.head, lease.fence);
        journal.tail = opened.tail;
        journal.timed = matches!(self.options.durability, Durability::Batched { .. });
        let under = self.program();
        let engine = Engine::new(shared, Some(Box::new(journal)), self.options.clone());
        let mut driver = Box::new(Driver::new(opened.scope, engine));
        driver.snapshots = self.snapshots.as_ref().map(|store| Snapshotter {
            store: store.clone(),
            thread: thread.clone(),
            last: opened.snapshot,
        });
        let incarnation = crate::journal::incarnation();
        admission::admit(driver, opened.head, request, &under, incarnation)
    }

    /// Returns the version of this program: of its graph, and of its state.
    pub(crate) fn program(&self) -> ProgramVersion {
        ProgramVersion {
            graph: self.graph.fingerprint().into(),
            state: S::VERSION,
        }
    }

    fn forget(&self, thread: &ThreadId, hub: &Arc<Hub>) {
        let mut live = lock(&self.live);
        if live
            .get(thread)
            .is_some_and(|known| known.hub.as_ptr() == Arc::as_ptr(hub))
        {
            live.remove(thread);
        }
        drop(live);
        self.rested.notify_waiters();
    }
}

/// Returns true if the log says, after a run that ended so, that the thread goes on by itself.
fn goes_on_later<S>(end: &Result<RunResult<S>, RunError>) -> bool {
    match end {
        Ok(RunResult::Scheduled { .. }) => true,
        Ok(RunResult::Interrupted { interrupts, .. }) => interrupts
            .iter()
            .any(|asked| asked.question.expires_at.is_some()),
        Ok(_) => false,
        Err(error) => matches!(
            error.kind,
            RunErrorKind::HandedOver
                | RunErrorKind::Unfinished
                | RunErrorKind::Stuck { .. }
                | RunErrorKind::Store(_)
        ),
    }
}

/// Reports a request that was refused before anything ran, also to the readers of the stream.
fn refuse(error: RunError, thread: &ThreadId, hub: &Hub) -> RunError {
    tell(error.on(Some(thread), 0), REFUSED, thread, hub)
}

/// Reports a run that could not store its end, also to the readers of the stream.
fn broken_off<S: State>(error: RunError, thread: &ThreadId, driver: &Driver<S>) -> RunError {
    let error = error.on(Some(thread), driver.root.machine.steps());
    let shared = &driver.engine.shared;
    tell(error, shared.run, thread, &shared.hub)
}

fn tell(error: RunError, run: RunId, thread: &ThreadId, hub: &Hub) -> RunError {
    hub.send(fugato_stream::Event {
        thread: thread.clone(),
        run,
        seq: None,
        origin: None,
        kind: EventKind::RunFailed {
            error: if error.is_taken_over() {
                Redaction::taken_over()
            } else {
                explain(&error)
            },
        },
    });
    error
}

pub(crate) fn ended<S: State>(driver: &Driver<S>) -> RunResult<S> {
    let (state, machine) = (driver.root.fold.state.clone(), &driver.root.machine);
    match (machine.phase(), machine.directive()) {
        (ThreadPhase::Running, Directive::Sleep(until)) => RunResult::Scheduled { state, until },
        (ThreadPhase::Failed { .. } | ThreadPhase::Cancelled, _) => RunResult::Amended { state },
        (ThreadPhase::Running, _) => {
            RunResult::parked(state, crate::answer::interrupts(&driver.root))
        }
        _ => {
            let output = machine.output();
            let output = output.and_then(|json| serde_json::from_str(json.get()).ok());
            RunResult::Finished { state, output }
        }
    }
}

/// Returns the store's clock, or the last time in the log if the store's was set back since. A time
/// in the log that is more than an hour ahead is ignored.
pub(crate) fn carried_on(now: Millis, last: Millis) -> Millis {
    if last.saturating_sub(now) <= HOUR {
        now.max(last)
    } else {
        now
    }
}

/// One hour in milliseconds.
const HOUR: Millis = 3_600_000;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
