use std::{
    fmt,
    future::Future,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use fugato_state::{Millis, Question, RunId, State, ThreadId};
use fugato_stream::{Event, EventKind, Hub, Origin};
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::{
    control::Control,
    effect::Calls,
    machine::{Ask, Item, Names, Path},
    scope::At,
};

/// What a task is given: a snapshot of the state, its own address, and a way to be heard.
pub struct Context<S> {
    pub(crate) state: Arc<S>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) at: At,
    pub(crate) path: Path,
    pub(crate) attempt: u32,
    pub(crate) item: Option<Item>,
    pub(crate) ask: Option<Box<Ask>>,
    /// Its signs of life, if somebody waits for them.
    pub(crate) pulse: Option<Arc<Pulse>>,
    /// Where the task's events come from; made when the first is sent.
    pub(crate) origin: OnceLock<Arc<Origin>>,
}

/// What all tasks of a run share.
pub(crate) struct Shared {
    pub(crate) thread: ThreadId,
    pub(crate) run: RunId,
    pub(crate) names: Arc<Names>,
    pub(crate) hub: Arc<Hub>,
    /// Whether a reader may come later, for whom the text of open blocks is kept.
    pub(crate) late_readers: bool,
    /// The clock of the store when the run began, in milliseconds since the Unix epoch.
    pub(crate) now: Millis,
    pub(crate) since: Instant,
    pub(crate) control: Arc<Control>,
    pub(crate) calls: Calls,
}

/// The signs of life of a task.
#[derive(Debug)]
pub(crate) struct Pulse(Mutex<Instant>);

impl Default for Pulse {
    fn default() -> Self {
        Self(Mutex::new(Instant::now()))
    }
}

impl Pulse {
    fn beat(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Waits until there was none for so long.
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

impl Shared {
    /// The clock of the store, carried on by this machine's steady clock.
    pub(crate) fn now(&self) -> Millis {
        let passed = Millis::try_from(self.since.elapsed().as_millis()).unwrap_or(Millis::MAX);
        self.now.saturating_add(passed)
    }

    /// The names of the nodes of a scope.
    pub(crate) fn names_of<'a>(&'a self, at: &'a At) -> &'a Names {
        at.as_ref().map_or(&self.names, |place| &place.names)
    }

    pub(crate) fn origin(&self, at: &At, path: Path, attempt: u32) -> Origin {
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
    /// The state at the start of the step.
    pub fn state(&self) -> &S {
        &self.state
    }

    /// The state at the start of the step, to hold on to: what an action moves along with it.
    pub fn snapshot(&self) -> Arc<S> {
        Arc::clone(&self.state)
    }

    /// The task's item, inside a scatter.
    pub fn item<T: DeserializeOwned>(&self) -> Result<T, ItemError> {
        let item = self.item.as_ref().ok_or(ItemError::NotScattered)?;
        serde_json::from_str(item.0.get()).map_err(ItemError::Shape)
    }

    /// The answer to the task's own question `key`; none if it was not asked or has expired.
    pub fn answer<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, serde_json::Error> {
        let answer = self.ask.as_ref().and_then(|ask| ask.answer(key));
        answer.map(|answer| T::deserialize(answer)).transpose()
    }

    /// The answer to the task's own approval; none unless what was approved is what this question
    /// asks about. A node that makes the question anew from what it is about to do does nothing else
    /// than what a person has seen.
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

    /// What the task wanted to find again when it asked.
    pub fn memo<T: DeserializeOwned>(&self) -> Result<Option<T>, serde_json::Error> {
        let memo = self.ask.as_ref().and_then(|ask| ask.memo.as_ref());
        memo.map(|memo| T::deserialize(memo)).transpose()
    }

    /// The thread.
    pub fn thread(&self) -> &ThreadId {
        &self.shared.thread
    }

    /// The run.
    pub fn run(&self) -> RunId {
        self.shared.run
    }

    /// The address of the task: `node#visit`, or `node#visit[index]` inside a scatter; inside a
    /// subgraph, after the address of the task that the subgraph is and a `/`.
    pub fn task(&self) -> String {
        let task = self.shared.names_of(&self.at).text(self.path);
        match &self.at {
            Some(place) => format!("{}/{task}", place.text),
            None => task,
        }
    }

    /// Which try of the task this is, from 1.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// The clock of the store, in milliseconds since the Unix epoch.
    pub fn now(&self) -> Millis {
        self.shared.now()
    }

    /// Says that the task is alive, to a policy that has an idle time. Every event says so too.
    pub fn heartbeat(&self) {
        if let Some(pulse) = &self.pulse {
            pulse.beat();
        }
    }

    /// Whether the run was cancelled. The node's future is dropped then; this is for work that does
    /// not stop with it, such as a thread of its own.
    pub fn is_cancelled(&self) -> bool {
        self.shared.control.is_cancelled()
    }

    /// Waits until the run is cancelled.
    pub fn cancelled(&self) -> impl Future<Output = ()> + Send + use<S> {
        let control = self.shared.control.clone();
        async move { control.cancelled().await }
    }

    /// Tells the readers that the task began.
    pub(crate) fn announce(&self) {
        if self.is_heard() {
            let origin = Arc::new(self.shared.origin(&self.at, self.path, self.attempt));
            let started = self.shared.event(Some(origin), EventKind::NodeStarted);
            self.shared.hub.send(started);
        }
    }

    /// Whether anybody reads the events of the run. What is costly to make can be left out if not.
    pub fn is_heard(&self) -> bool {
        self.shared.hub.is_heard()
    }

    /// Tells the readers of the stream something that need not last, such as a text delta.
    /// What must last is a note of the outcome.
    pub fn emit(&self, kind: EventKind) {
        self.heartbeat();
        if self.is_heard() || (self.shared.late_readers && kind.is_delta()) {
            let make = || Arc::new(self.shared.origin(&self.at, self.path, self.attempt));
            let origin = self.origin.get_or_init(make).clone();
            self.shared.hub.send(self.shared.event(Some(origin), kind));
        }
    }
}

/// A copy is the same attempt of the same task: what it does as an effect has the same address.
// A derive would ask that the state is copied, which is shared.
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

impl<S> fmt::Debug for Context<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("thread", &self.shared.thread)
            .field("task", &self.shared.names_of(&self.at).text(self.path))
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}

/// A task has no item of the wanted type.
#[derive(Debug, thiserror::Error)]
pub enum ItemError {
    /// The task does not come from a scatter.
    #[error("the task does not come from a scatter")]
    NotScattered,
    /// The item is not of the wanted type.
    #[error("the item of the scatter has another type")]
    Shape(#[source] serde_json::Error),
}
