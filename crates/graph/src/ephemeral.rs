use std::{sync::Arc, time::Instant};

use fugato_state::{Millis, State, ThreadId};
use fugato_stream::Hub;

use crate::{
    Answers, Ended, Events, Graph, IntoUpdates, RunError, Runner, Saved,
    context::Shared,
    driver::Driver,
    fold::Fold,
    machine::{Machine, Under},
    open::Opened,
    request::{self, Request},
    runner::ended,
    snapshot,
};

/// Runs a graph without a log. Nothing outlives the call but what it returns: a pause hands out
/// machine and state, as JSON, for [`resume`](Self::resume).
#[derive(Debug, Clone)]
pub struct Ephemeral<S: State> {
    graph: Graph<S>,
    step_limit: u64,
    hub: Option<Arc<Told>>,
    thread: ThreadId,
}

/// A hub whose readers see the end when the last runner that it belongs to is dropped.
#[derive(Debug, Default)]
struct Told(Arc<Hub>);

impl Drop for Told {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl<S: State> Runner<S> {
    /// A runner without a log.
    ///
    /// # Panics
    /// Never: the name that events bear is fixed, and valid.
    pub fn ephemeral(graph: Graph<S>) -> Ephemeral<S> {
        // The name is never stored: it only fills the place in events.
        let thread = ThreadId::new("ephemeral").expect("the name keeps the rules");
        Ephemeral {
            graph,
            step_limit: 10_000,
            hub: None,
            thread,
        }
    }
}

impl<S: State> Ephemeral<S> {
    /// How many steps a run may close: 10,000 by default.
    #[must_use]
    pub fn step_limit(mut self, steps: u64) -> Self {
        self.step_limit = steps;
        self
    }

    /// The events of the runs of this runner from now on. They end when the runner is dropped.
    pub fn events(&mut self) -> Events {
        let told = self.hub.get_or_insert_default();
        Events::live(told.0.subscribe(), None)
    }

    /// Runs the graph on its initial state.
    pub async fn run<M>(
        &self,
        input: impl IntoUpdates<S::Update, M>,
    ) -> Result<Ended<S>, RunError> {
        self.run_on((self.graph.0.initial)(), input).await
    }

    /// Runs the graph on this state.
    pub async fn run_on<M>(
        &self,
        state: S,
        input: impl IntoUpdates<S::Update, M>,
    ) -> Result<Ended<S>, RunError> {
        let opened = self.opened(Machine::default(), Fold::new(state), S::VERSION);
        self.drive(opened, Request::Start(input.into_updates()))
            .await
    }

    /// Answers the questions of a run that parked, and goes on, perhaps in another process.
    pub async fn resume(&self, saved: &Saved, answers: Answers) -> Result<Ended<S>, RunError> {
        let mut names = self.graph.0.names.clone();
        let (machine, fold, version) = snapshot::load(&saved.0, &mut names)?;
        let opened = Opened {
            names,
            ..self.opened(machine, fold, version)
        };
        self.drive(opened, Request::Resume(answers)).await
    }

    fn opened(&self, machine: Machine, fold: Fold<S>, version: u32) -> Opened<S> {
        let names = self.graph.0.names.clone();
        Opened {
            machine,
            fold,
            names,
            head: 0,
            version,
            tail: 0,
            snapshot: 0,
        }
    }

    async fn drive(
        &self,
        opened: Opened<S>,
        request: Request<S::Update>,
    ) -> Result<Ended<S>, RunError> {
        let mut run = opened.machine.run();
        if matches!(request, Request::Start(_)) {
            run.0 += 1;
        }
        let shared = Arc::new(Shared {
            thread: self.thread.clone(),
            run,
            names: opened.names.clone(),
            hub: self
                .hub
                .as_ref()
                .map(|told| told.0.clone())
                .unwrap_or_default(),
            late_readers: false,
            now: system_now(),
            since: Instant::now(),
        });
        let under = Under {
            graph: self.graph.0.fingerprint.clone(),
            state: S::VERSION,
        };
        let mut driver = request::admit(&self.graph, opened, shared, None, request, &under)?;
        driver.step_limit = self.step_limit;
        driver
            .drive()
            .await
            .map_err(|error| error.on(None, driver.machine.steps()))?;
        parked(ended(&driver), &driver)
    }
}

fn parked<S: State>(mut end: Ended<S>, driver: &Driver<S>) -> Result<Ended<S>, RunError> {
    if let Ended::Parked { saved, .. } = &mut end {
        let Driver {
            machine,
            fold,
            shared,
            ..
        } = driver;
        *saved = Some(Saved(snapshot::save(machine, fold, &shared.names)?));
    }
    Ok(end)
}

fn system_now() -> Millis {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Millis::try_from(since.unwrap_or_default().as_millis()).unwrap_or(Millis::MAX)
}
