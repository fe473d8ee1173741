use std::sync::Arc;

use fugato_graph::{IntoUpdates, RunError, RunErrorKind, RunResult, Runner, machine::Fact};
use fugato_state::{RunId, State, ThreadId};

use super::{FallbackError, FallbackStep, RecordFallback, fell};

/// A graph with a fallback: another graph over the same state, or a function.
///
/// When the run of the main graph fails, the other graph runs on the same thread, from the state
/// that the failed run has left. Effects with a key of the whole thread keep their receipts, so an
/// effect that both graphs perform under the same key is done once. An effect with a key of a task
/// of the failed run cannot be shared: after one, the fallback graph is refused with
/// [`FallbackError::UnseenEffects`]. A function is refused after any effect.
///
/// Other errors are not failures of the graph and lead to no fallback: a thread that is busy,
/// waiting or cancelled, or a store that is down.
#[derive(derive_more::Debug)]
#[debug("GraphFallback {{ backup: {name:?}, .. }}")]
pub struct GraphFallback<S: State> {
    main: Runner<S>,
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
    pub fn graph(main: Runner<S>, name: impl Into<String>, backup: Runner<S>) -> Self {
        Self {
            main,
            name: name.into(),
            backup: Backup::Graph(backup),
            record: None,
        }
    }

    /// Creates a fallback to a function. It gets the state that the failed run has left, and the
    /// fall. Its updates are stored as an operator's amendment.
    pub fn function<R, Shape>(
        main: Runner<S>,
        name: impl Into<String>,
        function: impl Fn(Option<&S>, &FallbackStep) -> R + Send + Sync + 'static,
    ) -> Self
    where
        R: IntoUpdates<S::Update, Shape>,
    {
        let function =
            move |state: Option<&S>, fall: &FallbackStep| function(state, fall).into_updates();
        Self {
            main,
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

    /// Starts a run of the main graph, and falls back if it fails.
    pub async fn start<M>(
        &self,
        thread: &ThreadId,
        input: impl IntoUpdates<S::Update, M>,
    ) -> Result<RunResult<S>, FallbackError> {
        let ended = self.main.start(thread, input).await;
        self.or_else(thread, ended).await
    }

    /// Falls back for a run of the main graph that was resumed, retried or recovered, if it has
    /// failed.
    pub async fn or_else(
        &self,
        thread: &ThreadId,
        ended: Result<RunResult<S>, RunError>,
    ) -> Result<RunResult<S>, FallbackError> {
        let error = match ended {
            Err(error) if is_failure(&error.kind) => error,
            other => return Ok(other?),
        };
        let fall = fell(MAIN, &self.name, &error);
        let done = self.done(thread).await?;
        let unseen: Vec<_> = match &self.backup {
            Backup::Graph(_) => done.into_iter().filter(|deed| !deed.shared).collect(),
            Backup::Function(_) => done,
        };
        if !unseen.is_empty() {
            let effects = unseen.into_iter().map(|deed| deed.key).collect();
            let (to, why) = (self.name.clone(), error.into());
            return Err(FallbackError::UnseenEffects { to, effects, why });
        }
        tracing::warn!(%thread, to = fall.to, reason = fall.reason, "fallback used");
        let mut updates = self.record.as_ref().map_or(vec![], |record| record(&fall));
        match &self.backup {
            Backup::Graph(runner) => Ok(runner.start(thread, updates).await?),
            Backup::Function(function) => {
                let state = self.main.state(thread).await?;
                updates.extend(function(state.as_deref(), &fall));
                let amendment =
                    fugato_graph::StateEdit::new(updates, self.name.clone(), fall.reason);
                Ok(self.main.amend(thread, amendment).await?)
            }
        }
    }

    /// Returns the effects that the last run has performed, or may have.
    async fn done(&self, thread: &ThreadId) -> Result<Vec<PerformedEffect>, RunError> {
        const PAGE: usize = 256;
        let (mut run, mut deeds, mut from) = (RunId(0), Vec::<PerformedEffect>::new(), 0);
        loop {
            let page = self.main.history(thread, from, PAGE).await?;
            for entry in &page {
                if entry.run != run {
                    run = entry.run;
                    deeds.clear();
                }
                take(&mut deeds, &entry.scope, &entry.fact);
            }
            match page.last() {
                Some(last) if page.len() == PAGE => from = last.seq + 1,
                _ => return Ok(deeds),
            }
        }
    }
}

/// An effect that was performed, or may have been.
#[derive(PartialEq)]
struct PerformedEffect {
    key: String,
    /// True if its key belongs to the whole thread and not to a task.
    shared: bool,
}

impl PerformedEffect {
    fn of(scope: &str, task: Option<&String>, key: &str) -> Self {
        let key = match task {
            Some(task) if scope.is_empty() => format!("{task}/{key}"),
            Some(task) => format!("{scope}/{task}/{key}"),
            None => key.to_owned(),
        };
        let shared = task.is_none();
        Self { key, shared }
    }
}

fn take(deeds: &mut Vec<PerformedEffect>, scope: &str, fact: &Fact<String>) {
    match fact {
        Fact::Intended { task, key, .. } | Fact::Receipt { task, key, .. } => {
            let deed = PerformedEffect::of(scope, task.as_ref(), key);
            if !deeds.contains(&deed) {
                deeds.push(deed);
            }
        }
        Fact::Undone { task, key, .. } => {
            let undone = PerformedEffect::of(scope, task.as_ref(), key);
            deeds.retain(|deed| *deed != undone);
        }
        _ => {}
    }
}

/// Returns true if a run has failed for good because of its graph.
fn is_failure(kind: &RunErrorKind) -> bool {
    matches!(
        kind,
        RunErrorKind::Node { .. }
            | RunErrorKind::Panicked { .. }
            | RunErrorKind::Router { .. }
            | RunErrorKind::UndeclaredTarget { .. }
            | RunErrorKind::HalfFilledJoin { .. }
            | RunErrorKind::Timeout { .. }
            | RunErrorKind::Idle { .. }
            | RunErrorKind::Budget { .. }
            | RunErrorKind::StepLimit { .. }
            | RunErrorKind::CrashLimit { .. }
    )
}
