//! The entry point of the agent: requests, replies, and the state in the log.
use std::sync::Arc;

use fugato::{
    graph::{Answers, Graph, Run, Runner, RunnerOptions},
    state::{InterruptId, ThreadId},
    store::ThreadStore,
};
use jiff::tz::TimeZone;

use crate::{
    agent::{AgentState, CardReply, Request, STEP_RESERVE, Update},
    clock,
    deps::Deps,
    graph::graph,
    llm_config::LlmConfig,
};

/// The agent, over a store.
#[derive(Clone, Debug)]
pub struct Service {
    runner: Runner<AgentState>,
    max_rounds: u64,
    zone: Option<TimeZone>,
    mind: LlmConfig,
}

/// The most steps of the graph that a round takes: begin, decide, confirm, interrupt, begin
/// again, act.
const STEPS_PER_ROUND: u64 = 6;

impl Service {
    /// Creates the agent over a store. No run may have more than `max_rounds` rounds.
    pub fn new<T: ThreadStore + 'static>(
        deps: &Deps,
        store: Arc<T>,
        options: RunnerOptions,
        max_rounds: u64,
    ) -> Result<Self, fugato::graph::BuildError> {
        let runner = |graph| Runner::new(graph, store);
        Self::over(deps, runner, options, max_rounds)
    }

    /// Creates the agent over a runner of the caller's, which gets these options.
    pub fn over(
        deps: &Deps,
        runner: impl FnOnce(Graph<AgentState>) -> Runner<AgentState>,
        options: RunnerOptions,
        max_rounds: u64,
    ) -> Result<Self, fugato::graph::BuildError> {
        let limit = max_rounds * STEPS_PER_ROUND + STEP_RESERVE;
        let runner = runner(graph(deps)?).options(options.step_limit(limit));
        Ok(Self {
            runner,
            max_rounds,
            zone: None,
            mind: deps.mind.clone(),
        })
    }

    fugato::state::setters! {
        /// Adds the time of a clock in this zone to requests; without one the current day is
        /// unknown.
        pub fn zone(zone: TimeZone) { zone = Some(zone) }
    }

    /// Returns the graph, for pictures.
    pub fn graph(&self) -> &Graph<AgentState> {
        self.runner.graph()
    }

    /// Returns the model and its stages, for talk outside of the graph.
    pub(crate) fn mind(&self) -> &LlmConfig {
        &self.mind
    }

    /// Returns the runner, for the history of threads.
    pub fn runner(&self) -> &Runner<AgentState> {
        &self.runner
    }

    /// Starts a run for a request of a person.
    pub fn request(&self, thread: &ThreadId, request: Request) -> Run<AgentState> {
        self.runner.start(thread, self.input(request))
    }

    /// Converts a request into the update that begins a run, with the time of the clock and the
    /// limit of rounds.
    pub fn input(&self, mut request: Request) -> Update {
        let clock = self.zone.as_ref();
        let shown = clock.map(|zone| zone.to_datetime(clock::now()));
        request.now = request.now.or(shown);
        request.max_rounds = request.max_rounds.min(self.max_rounds);
        Update::Requested(request)
    }

    /// Answers a card for a person.
    pub fn reply(
        &self,
        thread: &ThreadId,
        card: &InterruptId,
        reply: &CardReply,
    ) -> Result<Run<AgentState>, serde_json::Error> {
        Ok(self
            .runner
            .resume(thread, Answers::to(card.clone(), reply)?))
    }

    /// Continues a run that a crash left unfinished.
    pub fn recover(&self, thread: &ThreadId) -> Run<AgentState> {
        self.runner.recover(thread)
    }
}
