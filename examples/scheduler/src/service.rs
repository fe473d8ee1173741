//! The entry point of the agent: requests, replies, and the state in the log.
use std::sync::Arc;

use fugato::{
    graph::{
        AnswerError, Answers, Graph, Run, RunError, RunErrorKind, RunResult, Runner, RunnerOptions,
    },
    state::{InterruptId, ThreadId},
    store::ThreadStore,
};
use jiff::{Timestamp, tz::TimeZone};
use serde::{Deserialize, Serialize};

use crate::{
    agent::{AgentState, CardAction, CardReply, Request, STEP_RESERVE, Update},
    deps::Deps,
    graph::graph,
};

/// The agent, over a store.
#[derive(Clone, Debug)]
pub struct Service {
    runner: Runner<AgentState>,
    max_rounds: u64,
    zone: Option<TimeZone>,
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
        let limit = max_rounds * STEPS_PER_ROUND + STEP_RESERVE;
        let runner = Runner::new(graph(deps)?, store).options(options.step_limit(limit));
        let zone = None;
        Ok(Self {
            runner,
            max_rounds,
            zone,
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
        let shown = clock.map(|zone| zone.to_datetime(Timestamp::now()));
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

    /// Answers a card with an answer in its wire format.
    pub fn resume(
        &self,
        thread: &ThreadId,
        resume: &CardAnswer,
        text: &str,
    ) -> Result<Run<AgentState>, serde_json::Error> {
        let said = (!text.trim().is_empty()).then(|| text.to_owned());
        let answer = match &resume.action {
            Some(action) => serde_json::json!({ "action": action, "text": said }),
            // A missing action does not count as a rejection: the card stays open.
            None if resume.kind == "confirm" => serde_json::json!({ "action": "" }),
            None => serde_json::json!({ "text": said }),
        };
        let id = InterruptId::from(resume.interaction_id.as_str());
        Ok(self.runner.resume(thread, Answers::to(id, answer)?))
    }

    /// Continues a run that a crash left unfinished.
    pub fn recover(&self, thread: &ThreadId) -> Run<AgentState> {
        self.runner.recover(thread)
    }
}

/// An answer in its wire format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardAnswer {
    /// The id of the card.
    pub interaction_id: String,
    /// `confirm` or `ask_user`.
    #[serde(default, rename = "type")]
    pub kind: String,
    /// The action on the card.
    #[serde(default)]
    pub action: Option<String>,
}

/// Returns the stable code of an answer that was not accepted; none for any other result.
pub fn answer_status(ended: &Result<RunResult<AgentState>, RunError>) -> Option<&'static str> {
    let error = ended.as_ref().err()?;
    match &error.kind {
        RunErrorKind::Answer(
            AnswerError::Unknown { .. } | AnswerError::NothingAsked | AnswerError::Expired { .. },
        ) => Some("stale_resume"),
        RunErrorKind::Answer(_) => Some("invalid_confirm_action"),
        _ => None,
    }
}

/// Reads the older form of an answer, which names no card: it is for the only open one.
pub fn confirm_action(action: &str) -> Option<CardAction> {
    match action {
        "accept" => Some(CardAction::Approve),
        "reject" => Some(CardAction::Reject),
        _ => None,
    }
}
