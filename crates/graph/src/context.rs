use std::{
    future::Future,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use fugato_state::{Millis, Question, RunId, State, ThreadId};
use fugato_store::system_clock;
use fugato_stream::{Event, EventKind, Hub, Origin, Piece};
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::{
    BoxError,
    control::{Control, LazyControl},
    machine::{Ask, Names, ScatterItem, TaskPath},
    policy::millis,
    route,
    scope::ScopeAddress,
};

/// The input of a task: a snapshot of the state, its address, and access to events and effects.
#[derive(derive_more::Debug)]
#[debug(
    "Context {{ thread: {:?}, task: {:?}, attempt: {attempt:?}, .. }}",
    self.shared.thread,
    self.shared.names_of(&self.at).text(self.path)
)]
pub struct Context<S> {
    pub(crate) state: Arc<S>,
    pub(crate) shared: Arc<RunInner>,
    pub(crate) at: ScopeAddress,
    pub(crate) path: TaskPath,
    pub(crate) attempt: u32,
    pub(crate) item: Option<ScatterItem>,
    pub(crate) ask: Option<Box<Ask>>,
    /// The heartbeats of the task, if its policy has an idle timeout.
    pub(crate) pulse: Option<Arc<Heartbeat>>,
    /// The origin of the task's events, made with the first event.
    pub(crate) origin: OnceLock<Arc<Origin>>,
}

/// The data that all tasks of a run share.
pub(crate) struct RunInner {
    pub(crate) thread: ThreadId,
    pub(crate) run: RunId,
    pub(crate) names: Arc<Names>,
    pub(crate) hub: Arc<Hub>,
    /// True if a reader may come later, for whom the text of open blocks is kept.
    pub(crate) late_readers: bool,
    /// True if readers are not told of a failure, because another run may take its place.
    pub(crate) withholds_failure: bool,
    /// The clock of the store, in milliseconds since the Unix epoch, and this machine's steady clock
    /// at that time. Without a log it is read when somebody first asks for it.
    pub(crate) clock: OnceLock<(Millis, Instant)>,
    pub(crate) control: LazyControl,
}

/// The time of the last heartbeat of a task.
#[derive(Debug)]
pub(crate) struct Heartbeat(Mutex<Instant>);

impl Default for Heartbeat {
    fn default() -> Self {
        Self(Mutex::new(Instant::now()))
    }
}

impl Heartbeat {
    fn beat(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Waits until there was no heartbeat for the duration `idle`.
    pub(crate) async fn silent_for(&self, idle: Duration) {
        loop {
            let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if last.elapsed() >= idle {
                return;
            }
            tokio::time::sleep_until(last + idle).await;
        }
    }
}

impl RunInner {
    /// Returns the store's clock, continued by this machine's steady clock.
    pub(crate) fn now(&self) -> Millis {
        let (then, since) = self.clock.get_or_init(|| (system_clock(), Instant::now()));
        then.saturating_add(millis(since.elapsed()))
    }

    /// Returns the names of the nodes of a scope.
    pub(crate) fn names_of<'a>(&'a self, at: &'a ScopeAddress) -> &'a Names {
        at.as_ref().map_or(&self.names, |place| &place.names)
    }

    pub(crate) fn origin(&self, at: &ScopeAddress, path: TaskPath, attempt: u32) -> Origin {
        Origin {
            scope: at
                .as_ref()
                .map_or_else(|| "".into(), |place| place.text.clone()),
            node: self.names_of(at).name(path.node),
            visit: path.visit,
            index: path.index,
            attempt,
        }
    }

    pub(crate) fn event(&self, origin: Option<Arc<Origin>>, kind: EventKind) -> Event {
        Event {
            thread: self.thread.clone(),
            run: self.run,
            seq: None,
            origin,
            kind,
        }
    }
}

impl<S: State> Context<S> {
    /// Returns the state at the start of the step.
    pub fn state(&self) -> &S {
        &self.state
    }

    /// Returns the state at the start of the step as a shared pointer that an action can own.
    pub fn snapshot(&self) -> Arc<S> {
        Arc::clone(&self.state)
    }

    /// Returns the task's item, inside a scatter.
    pub fn item<T: DeserializeOwned>(&self) -> Result<T, BoxError> {
        route::item(self.item.as_ref())
    }

    /// Returns the answer to the task's own question `key`; none if it was not asked or has
    /// expired.
    pub fn answer<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, serde_json::Error> {
        let answer = self.ask.as_ref().and_then(|ask| ask.answer(key));
        answer.map(|answer| T::deserialize(answer)).transpose()
    }

    /// Returns the answer to the task's own approval; none unless the approved digest is that of
    /// `question`. A node that builds the question again from the action it is about to take does
    /// only what a person has approved.
    pub fn consent<T: DeserializeOwned>(
        &self,
        question: &Question,
    ) -> Result<Option<T>, serde_json::Error> {
        let approved = self.ask.as_ref().map(|ask| ask.digests.get(&question.key));
        if approved != Some(question.digest.as_ref()) {
            return Ok(None);
        }
        self.answer(&question.key)
    }

    /// Returns the memo that the task stored when it asked.
    pub fn memo<T: DeserializeOwned>(&self) -> Result<Option<T>, serde_json::Error> {
        let memo = self.ask.as_ref().and_then(|ask| ask.memo.as_ref());
        memo.map(|memo| T::deserialize(memo)).transpose()
    }

    /// Returns the thread.
    pub fn thread(&self) -> &ThreadId {
        &self.shared.thread
    }

    /// Returns the run.
    pub fn run(&self) -> RunId {
        self.shared.run
    }

    /// Returns the address of the task: `node#visit`, or `node#visit[index]` inside a scatter;
    /// inside a subgraph, after the address of the subgraph's task and a `/`.
    pub fn task(&self) -> String {
        let task = self.shared.names_of(&self.at).text(self.path);
        match &self.at {
            Some(place) => format!("{}/{task}", place.text),
            None => task,
        }
    }

    /// Returns the number of this attempt of the task, from 1.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Returns the clock of the store, in milliseconds since the Unix epoch.
    pub fn now(&self) -> Millis {
        self.shared.now()
    }

    /// Restarts the idle timeout of the node's policy. Every event does so too.
    pub fn heartbeat(&self) {
        if let Some(pulse) = &self.pulse {
            pulse.beat();
        }
    }

    /// Returns true if the run was cancelled or has lost its lease. The node's future is dropped
    /// then; this is for work that does not stop with it, such as a thread of its own.
    pub fn is_cancelled(&self) -> bool {
        let control = self.shared.control.known();
        control.is_some_and(Control::is_cancelled)
    }

    /// Waits until the run is cancelled or loses its lease.
    pub fn cancelled(&self) -> impl Future<Output = ()> + Send + use<S> {
        let control = self.shared.control.clone();
        async move { control.cancelled().await }
    }

    /// Sends the event that the task began.
    pub(crate) fn announce(&self) {
        if self.has_subscribers() {
            let origin = Arc::new(self.shared.origin(&self.at, self.path, self.attempt));
            let started = self.shared.event(Some(origin), EventKind::NodeStarted);
            self.shared.hub.send(started);
        }
    }

    /// Returns true if the events of the run have a reader. Events that are costly to make can be
    /// left out otherwise.
    pub fn has_subscribers(&self) -> bool {
        self.shared.hub.has_subscribers()
    }

    /// Sends an event to the readers of the stream that is not stored, such as a text delta. An
    /// event that must be stored is a note of the outcome.
    pub fn emit(&self, kind: EventKind) {
        self.heartbeat();
        if self.has_subscribers() || (self.shared.late_readers && kind.is_delta()) {
            let make = || Arc::new(self.shared.origin(&self.at, self.path, self.attempt));
            let origin = self.origin.get_or_init(make);
            let shared = &self.shared;
            if kind.is_delta() {
                shared.hub.send_piece(Piece {
                    thread: &shared.thread,
                    run: shared.run,
                    origin: Some(origin),
                    kind: &kind,
                });
            } else {
                shared.hub.send(shared.event(Some(origin.clone()), kind));
            }
        }
    }
}

/// A clone is the same attempt of the same task: its effects have the same addresses.
// A derive would require `S: Clone`, although the state is shared.
impl<S> Clone for Context<S> {
    fn clone(&self) -> Self {
        Self {
            state: Arc::clone(&self.state),
            shared: Arc::clone(&self.shared),
            at: self.at.clone(),
            path: self.path,
            attempt: self.attempt,
            item: self.item.clone(),
            ask: self.ask.clone(),
            pulse: self.pulse.clone(),
            origin: self.origin.clone(),
        }
    }
}
