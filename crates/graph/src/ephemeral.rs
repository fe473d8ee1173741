use std::sync::{Arc, OnceLock};

use fugato_state::{State, ThreadId};
use fugato_stream::Hub;

use crate::{
    Answers, Events, Graph, IntoUpdates, RunError, RunResult, Runner, RunnerOptions,
    admission::{self, Admission},
    context::RunInner,
    control::LazyControl,
    driver::Driver,
    engine::Engine,
    fold::StateFold,
    machine::{Machine, ProgramVersion},
    request::{Request, StartMode},
    runner::ended,
    scope::Scope,
    snapshot,
};

/// A runner without a log. Only the result of a call outlives it: a pause returns machine and
/// state, as JSON, for [`resume`](Self::resume).
#[derive(Debug, Clone)]
pub struct Ephemeral<S: State> {
    graph: Graph<S>,
    options: Arc<RunnerOptions>,
    hub: Option<Arc<EndSignal>>,
    /// The hub of runs whose events were never requested.
    silent: Arc<Hub>,
    thread: ThreadId,
    under: ProgramVersion,
}

/// A hub that closes when the last runner that it belongs to is dropped.
#[derive(Debug, Default)]
struct EndSignal(Arc<Hub>);

impl Drop for EndSignal {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl<S: State> Runner<S> {
    /// Creates a runner without a log.
    ///
    /// # Panics
    /// Never: the thread name of events is fixed, and valid.
    pub fn ephemeral(graph: Graph<S>) -> Ephemeral<S> {
        // The name is never stored: it only fills the place in events.
        let thread = ThreadId::new("ephemeral").expect("the name keeps the rules");
        let under = ProgramVersion {
            graph: graph.0.fingerprint.clone(),
            state: S::VERSION,
        };
        Ephemeral {
            graph,
            options: Arc::default(),
            hub: None,
            silent: Arc::default(),
            thread,
            under,
        }
    }
}

impl<S: State> Ephemeral<S> {
    /// Sets the step limit of a run: 10,000 by default.
    #[must_use]
    pub fn step_limit(mut self, steps: u64) -> Self {
        Arc::make_mut(&mut self.options).step_limit = steps;
        self
    }

    fugato_state::setters! {
        /// Sets schedule, budgets and limits. Options of logs and leases have no effect here.
        pub fn options(options: RunnerOptions) { options = Arc::new(options) }
    }

    /// Returns the events of the runs of this runner from now on. They end when the runner is
    /// dropped.
    pub fn events(&mut self) -> Events {
        let told = self.hub.get_or_insert_default();
        Events::live(told.0.subscribe(), None)
    }

    /// Runs the graph on its initial state.
    pub async fn run<M>(
        &self,
        input: impl IntoUpdates<S::Update, M>,
    ) -> Result<RunResult<S>, RunError> {
        self.run_on((self.graph.0.initial)(), input).await
    }

    /// Runs the graph on this state.
    pub async fn run_on<M>(
        &self,
        state: S,
        input: impl IntoUpdates<S::Update, M>,
    ) -> Result<RunResult<S>, RunError> {
        let scope = Scope::woken(&self.graph, Machine::default(), StateFold::new(state));
        let request = Request::Start {
            updates: input.into_updates(),
            key: None,
            way: StartMode::WithStep,
        };
        self.drive(self.admit(scope, request)?).await
    }

    /// Answers the questions of a parked run, and goes on, possibly in another process.
    pub async fn resume(&self, saved: &[u8], answers: Answers) -> Result<RunResult<S>, RunError> {
        let scope = snapshot::load(saved, &self.graph)?;
        self.drive(self.admit(scope, Request::Resume(answers))?)
            .await
    }

    /// Makes the driver of a run. No future has its parts, which are large, and would be moved with it.
    fn admit(
        &self,
        scope: Scope<S>,
        request: Request<S::Update>,
    ) -> Result<Admission<S>, RunError> {
        let mut run = scope.machine.run();
        if matches!(request, Request::Start { .. }) {
            run = run.next();
        }
        let hub = self.hub.as_ref().map_or(&self.silent, |told| &told.0);
        let shared = Arc::new(RunInner {
            thread: self.thread.clone(),
            run,
            names: scope.names.clone(),
            hub: hub.clone(),
            late_readers: false,
            withholds_failure: false,
            clock: OnceLock::new(),
            control: LazyControl::default(),
        });
        let engine = Engine::new(shared, None, self.options.clone());
        let driver = Box::new(Driver::new(scope, engine));
        admission::admit(driver, 0, request, &self.under, 0)
    }

    async fn drive(&self, admitted: Admission<S>) -> Result<RunResult<S>, RunError> {
        let mut driver = match admitted {
            Admission::Run(driver) => driver,
            Admission::Already(ended) => return Ok(ended),
        };
        if let Err(error) = driver.drive(&self.graph).await {
            return Err(error.on(None, driver.root.machine.steps()));
        }
        let mut end = ended(&driver);
        if let RunResult::Interrupted { saved, .. } = &mut end {
            *saved = Some(snapshot::save(&driver.root)?);
        }
        Ok(end)
    }
}
