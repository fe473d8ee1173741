use std::sync::Arc;

use fugato::{
    state::{CompactionUpdate, ConversationUpdate, PlanStep, State},
    tool::{StepEvidence, VisibilityUpdate, WantedCall},
};
use serde::{Deserialize, Serialize};

use super::{
    AgentState, CardReply, ContextHook, FreeTime, Health, Mode, Part, PendingInteraction, Request,
    TerminalOutcome,
};
use crate::{
    calendar::Lang,
    contract::Call,
    schedule::{Change, Difference, PlacementPreferences, QueueUpdate, ScheduleState},
    store::{StoreWrite, WrittenClass},
};

/// A change of the agent's state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Update {
    /// The person asks for something: a run begins.
    Requested(Request),
    /// The conversation has a title.
    Titled(String),
    /// The conversation continues.
    Talked(ConversationUpdate),
    /// A part of the conversation was summarised.
    Compacted {
        /// The part.
        part: Part,
        /// The summary, and the place up to which it goes.
        update: CompactionUpdate,
    },
    /// A part of the conversation could not be summarised.
    NotCompacted(Part),
    /// The request was understood.
    Routed(RouteDecision),
    /// A plan is ready to be confirmed.
    Planned {
        /// Its steps.
        steps: Vec<PlanStep>,
        /// True if pending items are placed by rule first.
        needs_rough_build: bool,
        /// Classes that the plan is about; empty to leave them.
        task_class_ids: Vec<u32>,
        /// The tools with which execution begins.
        hook: ContextHook,
    },
    /// The plan is accepted without asking.
    PlanConfirmed,
    /// The person is asked.
    Asked(PendingInteraction),
    /// The person has answered.
    Replied(CardReply),
    /// The schedule was loaded.
    Loaded(Arc<ScheduleState>),
    /// The schedule changed.
    Scheduled(Vec<Change>),
    /// The tasks that the request is about are worked off.
    Queued(QueueUpdate),
    /// A class is stored.
    Classed(WrittenClass),
    /// A class is not stored, for these reasons.
    ClassRefused(Vec<String>),
    /// Everything pending was placed by rule.
    RoughBuilt {
        /// True if the result is to be refined.
        refine: bool,
        /// The account of what found no place, if the person has to decide about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left: Option<String>,
    },
    /// Suggested places are kept.
    Kept,
    /// These changes are stored.
    Stored(Vec<Difference>),
    /// The calendar was changed by others; this is its new state.
    Overtaken(Arc<ScheduleState>),
    /// The calendar was changed by others before the request; this is its state now.
    Reread(Arc<ScheduleState>),
    /// A round of execution began.
    RoundBegan,
    /// The tools of the hook were activated.
    HookUsed,
    /// The model's answer could not be used.
    Corrected,
    /// The model's answer could be used.
    Judged(DecisionView),
    /// A write is wanted.
    Wanted(WantedCall),
    /// The wanted write was made, or given up.
    WantedDone,
    /// Other tools are active.
    Tools(VisibilityUpdate),
    /// Something was seen or done for the current step.
    Evidence(StepEvidence),
    /// A diagnosis was made.
    Diagnosed(Health),
    /// The current step is done.
    Advanced,
    /// Everything is placed; the person is asked whether to keep it.
    Closing,
    /// The call in place of an answer was made; the question is asked again.
    AskedAgain,
    /// A call by hand changes what was agreed to, so the person is asked about it in these words.
    HandAsked(String),
    /// Execution is finished, well or not.
    Done,
    /// The run ends, and not well.
    Ended(TerminalOutcome),
    /// The status was announced.
    Announced,
    /// The model did not answer, and rules continue; the text is what the person was shown.
    FellBack(String),
    /// A model other than the named one answered; the text is what the person was shown.
    StoodIn(String),
    /// Something is kept for later.
    Noted(String),
    /// Rules place everything, because the person said so.
    PlacedByWord,
    /// Rules make these calls for the request, one after another.
    PlannedCalls(Vec<Call>),
    /// Rules make these repairs, each if the person agrees to it; the calls of one belong together.
    PlannedRepairs(Vec<Vec<Call>>),
    /// This is kept for the person, without a card.
    Errand(StoreWrite),
    /// The person prefers this from now on; none for nothing.
    Preferred(Option<PlacementPreferences>),
    /// These times are kept free from now on, and no others.
    KeptFree(Vec<FreeTime>),
    /// These times, and no others, are kept free once the person has agreed to what this needs.
    WouldKeepFree(Vec<FreeTime>),
    /// The planned calls go these steps in the timeline: back if it is negative.
    Travels(i32),
    /// The run was summarised.
    Delivered,
}

impl From<VisibilityUpdate> for Update {
    fn from(update: VisibilityUpdate) -> Self {
        Self::Tools(update)
    }
}

/// The result of classifying a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "the attributes of a route")]
pub struct RouteDecision {
    /// The next phase.
    pub phase: super::Phase,
    /// True if pending items are placed by rule first.
    pub rough_build: bool,
    /// True if the rough build is refined.
    pub refine: bool,
    /// True if the order of tasks may change.
    pub reorder: bool,
    /// True if the model shall think.
    pub thinking: bool,
    /// The kind of optimisation.
    pub mode: Mode,
}

impl RouteDecision {
    /// Returns the route straight to execution, without a plan and without a rough build.
    pub fn straight() -> Self {
        Self {
            phase: super::Phase::Executing,
            rough_build: false,
            refine: false,
            reorder: true,
            thinking: false,
            mode: Mode::default(),
        }
    }
}

/// The decision of the model, as routers see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionView {
    /// Continue.
    Continue,
    /// Execute the wanted call.
    Act,
    /// The wanted call has to be confirmed.
    Confirm,
    /// A question was asked.
    Ask,
    /// The step or everything is done.
    Done,
}

impl State for AgentState {
    type Update = Update;

    fn lang(&self) -> Lang {
        self.lang
    }

    fn apply(&mut self, update: Update) {
        match update {
            Update::Requested(request) => self.request(request),
            Update::Titled(title) => self.title = Some(title),
            Update::Talked(update) => self.conversation.apply(update),
            Update::Compacted { part, update } => self.compacted.apply(part, update),
            Update::NotCompacted(part) => self.compacted.failed(part),
            Update::Routed(routed) => self.route(&routed),
            Update::Planned {
                steps,
                needs_rough_build,
                task_class_ids,
                hook,
            } => {
                self.finish_plan(steps, needs_rough_build, task_class_ids, hook);
            }
            Update::PlanConfirmed => self.confirm_plan(),
            Update::Asked(pending) => self.open(pending),
            Update::Replied(reply) => self.reply(&reply),
            Update::Loaded(schedule) => {
                self.original = Some(schedule.clone());
                self.schedule = Some(schedule);
            }
            Update::Scheduled(changes) => self.reschedule(&changes),
            Update::RoughBuilt { refine, left } => self.rough_built(refine, left),
            Update::Queued(update) => self.run.queue.apply(&update),
            Update::Classed(written) => self.put_class(&written),
            Update::ClassRefused(issues) => self.miss_class(issues),
            Update::Kept => self.keep(),
            Update::Stored(changes) => self.store(&changes),
            Update::Overtaken(schedule) => self.overtaken(schedule),
            Update::Reread(schedule) => {
                self.overtaken(schedule);
                self.run.reread = true;
            }
            Update::RoundBegan => self.next_round(),
            Update::HookUsed => self.use_hook(),
            Update::Corrected => self.run.corrections += 1,
            Update::Judged(judged) => {
                self.run.corrections = 0;
                self.run.judged = Some(judged);
            }
            Update::Wanted(wanted) => self.want(wanted),
            Update::WantedDone => self.finish_wanted(),
            Update::Tools(update) => self.tools.apply(update),
            Update::Evidence(evidence) => self.record(evidence),
            Update::Diagnosed(health) => self.diagnose(health),
            Update::Advanced => self.advance_step(),
            Update::Closing => self.close(),
            Update::AskedAgain => self.ask_again(),
            Update::HandAsked(summary) => self.ask_about_hand(summary),
            Update::Done => self.done(),
            Update::Ended(outcome) => self.end(outcome),
            Update::Announced => self.run.announce = None,
            Update::FellBack(told) => self.run.fell_back = Some(told),
            Update::StoodIn(told) => self.run.stood_in = Some(told),
            Update::Noted(note) => self.notes.push(note),
            Update::PlannedCalls(calls) => {
                self.run.understood = true;
                self.run.planned = Some(calls);
                self.run.travels = 0;
            }
            Update::PlannedRepairs(repairs) => {
                self.run.understood = true;
                self.run.repairs = repairs;
                self.next_repair();
            }
            Update::PlacedByWord => self.run.understood = true,
            Update::Errand(write) => self.run.errand = Some(write),
            Update::Preferred(wishes) => self.prefer(wishes.as_ref()),
            Update::KeptFree(times) => self.keep_free(times),
            Update::WouldKeepFree(times) => self.run.would_keep_free = Some(times),
            Update::Travels(steps) => self.run.travels = steps,
            Update::Delivered => self.delivered(),
        }
    }
}
