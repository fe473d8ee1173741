use std::sync::Arc;

use async_trait::async_trait;
use fugato_graph::{HistoryEvent, IntoUpdates, Run, RunError, RunFallback, Runner, StateEdit};
use fugato_state::{RunId, State, ThreadId};
use futures::TryStreamExt as _;

use super::{FallbackStep, RecordFallback, UnseenEffectsError, fell};

/// A fallback of a graph: another graph over the same state, or a function. It is set by
/// [`Runner::fallback`], so that it takes over whoever asked for the run.
///
/// When the run of the main graph fails, the other graph runs on the same thread, from the state
/// that the failed run has left. Effects with a key of the whole thread keep their receipts, so an
/// effect that both graphs perform under the same key is done once. An effect with a key of a task
/// of the failed run cannot be shared: after one, the fallback graph is refused, and the error of
/// the run has an [`UnseenEffectsError`] as its source. A function is refused after any effect.
#[derive(derive_more::Debug)]
#[debug("GraphFallback {{ backup: {name:?}, .. }}")]
pub struct GraphFallback<S: State> {
    name: String,
    backup: Backup<S>,
    record: Option<Arc<RecordFallback<S>>>,
}

enum Backup<S: State> {
    Graph(Runner<S>),
    Function(Box<Function<S>>),
}

type Function<S> = dyn Fn(Option<&S>, &FallbackStep) -> Vec<<S as State>::Update> + Send + Sync;

/// The name of the main graph in a [`FallbackStep`].
const MAIN: &str = "graph";

impl<S: State> GraphFallback<S> {
    /// Creates a fallback to another graph, on a runner over the same log.
    pub fn graph(name: impl Into<String>, backup: Runner<S>) -> Self {
        Self {
            name: name.into(),
            backup: Backup::Graph(backup),
            record: None,
        }
    }

    /// Creates a fallback to a function. It gets the state that the failed run has left, and the
    /// fall. Its updates are stored as an operator's amendment.
    pub fn function<R, Shape>(
        name: impl Into<String>,
        function: impl Fn(Option<&S>, &FallbackStep) -> R + Send + Sync + 'static,
    ) -> Self
    where
        R: IntoUpdates<S::Update, Shape>,
    {
        let function =
            move |state: Option<&S>, fall: &FallbackStep| function(state, fall).into_updates();
        Self {
            name: name.into(),
            backup: Backup::Function(Box::new(function)),
            record: None,
        }
    }

    /// Sets a function that records the fall in the state before the fallback begins.
    #[must_use]
    pub fn record<R, Shape>(
        mut self,
        record: impl Fn(&FallbackStep) -> R + Send + Sync + 'static,
    ) -> Self
    where
        R: IntoUpdates<S::Update, Shape>,
    {
        self.record = Some(Arc::new(move |fall| record(fall).into_updates()));
        self
    }
}

#[async_trait]
impl<S: State> RunFallback<S> for GraphFallback<S> {
    async fn take_over(
        &self,
        main: &Runner<S>,
        thread: &ThreadId,
        error: RunError,
    ) -> Result<Run<S>, RunError> {
        let fall = fell(MAIN, &self.name, &error);
        let done = done(main, thread).await?;
        let unseen: Vec<_> = match &self.backup {
            Backup::Graph(_) => done.into_iter().filter(|effect| !effect.shared).collect(),
            Backup::Function(_) => done,
        };
        if !unseen.is_empty() {
            let effects = unseen.into_iter().map(|effect| effect.key).collect();
            let (to, why) = (self.name.clone(), error.clone().into());
            return Err(error.because(UnseenEffectsError { to, effects, why }));
        }
        tracing::warn!(%thread, to = fall.to, reason = fall.reason, "fallback used");
        let mut updates = self.record.as_ref().map_or(vec![], |record| record(&fall));
        match &self.backup {
            Backup::Graph(runner) => Ok(runner.start(thread, updates)),
            Backup::Function(function) => {
                let state = main.state(thread).await?;
                updates.extend(function(state.as_deref(), &fall));
                let amendment = StateEdit::new(updates, self.name.clone(), fall.reason);
                Ok(main.amend(thread, amendment))
            }
        }
    }

    fn backup(&self) -> Option<&Runner<S>> {
        match &self.backup {
            Backup::Graph(runner) => Some(runner),
            Backup::Function(_) => None,
        }
    }
}

/// Returns the effects that the last run has performed, or may have.
async fn done<S: State>(
    main: &Runner<S>,
    thread: &ThreadId,
) -> Result<Vec<PerformedEffect>, RunError> {
    let (mut run, mut performed) = (RunId(0), Vec::<PerformedEffect>::new());
    let mut records = main.records(thread);
    while let Some(entry) = records.try_next().await? {
        if entry.run != run {
            run = entry.run;
            performed.clear();
        }
        take(&mut performed, &entry.scope, entry.event());
    }
    Ok(performed)
}

/// An effect that was performed, or may have been.
#[derive(PartialEq)]
struct PerformedEffect {
    key: String,
    /// True if its key belongs to the whole thread and not to a task.
    shared: bool,
}

impl PerformedEffect {
    fn of(scope: &str, task: Option<&str>, key: &str) -> Self {
        let key = match task {
            Some(task) if scope.is_empty() => format!("{task}/{key}"),
            Some(task) => format!("{scope}/{task}/{key}"),
            None => key.to_owned(),
        };
        let shared = task.is_none();
        Self { key, shared }
    }
}

fn take(performed: &mut Vec<PerformedEffect>, scope: &str, event: HistoryEvent<'_>) {
    match event {
        HistoryEvent::Intended { task, key, .. } | HistoryEvent::Receipt { task, key, .. } => {
            let effect = PerformedEffect::of(scope, task, key);
            if !performed.contains(&effect) {
                performed.push(effect);
            }
        }
        HistoryEvent::Undone { task, key, .. } => {
            let undone = PerformedEffect::of(scope, task, key);
            performed.retain(|effect| *effect != undone);
        }
        _ => {}
    }
}
