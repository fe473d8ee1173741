//! The state of the agent that persists across requests, and the vocabulary of its changes.
mod compacted;
mod free_time;
mod interaction;
mod phase;
mod request;
mod timeline;
mod transition;
mod update;

use std::{collections::BTreeMap, sync::Arc};

use fugato::{
    state::{Budget, Conversation, Plan},
    tool::{StepEvidence, Visibility, WantedCall},
};
use jiff::civil::{Date, DateTime};
use serde::{Deserialize, Serialize};

pub use compacted::{CompactedHistory, Part};
pub use free_time::FreeTime;
pub use fugato::agent::phases::{CardAction, CardReply};
pub use interaction::{Card, PendingInteraction, QuestionTopic};
pub use phase::{Mode, Phase, TerminalOutcome, TerminalStatus};
pub use request::{BY_HAND, Request};
pub use timeline::{Moment, Timeline};
pub use transition::{CURRENT_STEP, LOOP_CLOSED, PLAN, RETRIED, ROUGH_BUILD_DONE, STEP_ADVANCED};
pub use update::{DecisionView, RouteDecision, Update};

use crate::{
    calendar::{Lang, Sections},
    contract::Call,
    llm_config::ModelChoice,
    schedule::{DayMapping, Point, Queue, ScheduleState, Slot},
    store::StoreWrite,
};

/// The state of the agent that persists across requests.
///
/// Version 1: the first.
#[derive(smart_default::SmartDefault, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentState {
    /// The language of the person.
    pub lang: Lang,
    /// The time on the person's clock at the latest request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<DateTime>,
    /// The messages so far, and the pinned blocks that every prompt shows.
    pub conversation: Conversation,
    /// The summaries of its older parts, for prompts.
    pub compacted: CompactedHistory,
    /// The phase of the agent, which routes the graph.
    pub phase: Phase,
    /// The steps to carry out.
    pub plan: Plan,
    /// The active tools.
    #[default(Visibility::new())]
    pub tools: Visibility,
    /// Tools that a deterministic node has chosen for the next round; consumed once.
    pub hook: Option<ContextHook>,
    /// A write that waits for the person, or was accepted and waits for its execution.
    pub wanted: Option<WantedCall>,
    /// The open question to the person.
    pub pending: Option<PendingInteraction>,
    /// The classes that this conversation is about.
    pub task_class_ids: Vec<u32>,
    /// The current schedule; loaded when it is first needed.
    pub schedule: Option<Arc<ScheduleState>>,
    /// The schedule as it was loaded.
    pub original: Option<Arc<ScheduleState>>,
    /// The schedule as far as it was stored; none if that is what was loaded.
    pub stored: Option<Arc<ScheduleState>>,
    /// True if the person agreed to the schedule and some of it is not stored yet.
    pub agreed: bool,
    /// The state of the current run only.
    pub run: RunScope,
    /// The result of the last diagnosis.
    pub health: Health,
    /// Notes that the person wanted kept.
    pub notes: Vec<String>,
    /// The title that was made for the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The number of tool calls made in all; makes their ids unique.
    pub calls: u64,
    /// The stored schedule before the last request that changed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<Arc<ScheduleState>>,
    /// The times that the person wants kept free.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub free_times: Vec<FreeTime>,
    /// The times that were kept free before that request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_free_times: Option<Vec<FreeTime>>,
    /// The requests before it that can be undone, and those that can be made again.
    #[serde(skip_serializing_if = "Timeline::is_empty")]
    pub timeline: Timeline,
}

/// The progress of a call that the person made by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandCall {
    /// It is made at once, unless it changes what was agreed to.
    Made,
    /// The person is asked about it.
    Asked,
}

/// The part of the state that belongs to one run and is reset when the next one begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, and a router or a prompt asks for it by name"
)]
#[derive(smart_default::SmartDefault)]
pub struct RunScope {
    /// Rounds of execution.
    #[default(Budget::new(DEFAULT_MAX_ROUNDS))]
    pub rounds: Budget,
    /// Unusable answers in a row.
    pub corrections: u32,
    /// True if writes need no confirmation by the person.
    pub always_execute: bool,
    /// The thinking of the model: forced on or off, or none to let the route decide.
    pub thinking: Option<bool>,
    /// The models that the request chooses.
    #[serde(skip_serializing_if = "ModelChoice::is_empty")]
    pub models: ModelChoice,
    /// True if the route wants the model to think.
    #[default(true)]
    pub execute_thinking: bool,
    /// True if execution runs without a plan.
    pub react: bool,
    /// True if the person made the wanted call by hand, so that the run makes only that call.
    pub by_hand: bool,
    /// True if the person made the wanted call by hand in place of an answer; the question is asked
    /// again once the call is made.
    pub asks_again: bool,
    /// The progress of the wanted call that the person made by hand; none if it is of somebody
    /// else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hand: Option<HandCall>,
    /// The calls whose questions were open when the person made another one by hand; each is asked
    /// about again, the last one first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aside: Vec<WantedCall>,
    /// True if pending items are placed by rule first.
    pub needs_rough_build: bool,
    /// True if the rough build is refined afterwards.
    pub needs_refine: bool,
    /// True if the order of tasks may change.
    pub allow_reorder: bool,
    /// The kind of optimisation.
    pub mode: Mode,
    /// True if only tools of the optimisation may be used.
    pub optimize_only: bool,
    /// The account of what found no place, for the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<String>,
    /// True if all rounds were used before the placements were offered.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub out_of_rounds: bool,
    /// True if a placement was made that the person has not agreed to yet.
    pub unsaved: bool,
    /// True if the person is asked to keep the placements.
    pub closing: bool,
    /// True if the person refused to keep the placements.
    pub refused: bool,
    /// True if the schedule changed.
    pub has_schedule_changes: bool,
    /// The observations and writes of the current step.
    pub evidence: Vec<StepEvidence>,
    /// The tasks that the request is about, worked off one after another.
    pub queue: Queue,
    /// The results of storing classes.
    pub upserts: Upserts,
    /// True if a write failed and was not repaired; it follows from the evidence.
    pub failed_write: bool,
    /// The end of the run, if it did not end well.
    pub outcome: Option<TerminalOutcome>,
    /// True if the calendar was loaded anew for the request, which has to be read again then.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reread: bool,
    /// The status that the next node announces.
    pub announce: Option<String>,
    /// The question and the reply with which the run continues.
    pub resumed: Option<(String, String)>,
    /// The last decision of the model.
    pub judged: Option<DecisionView>,
    /// The slots that each task had before the run touched it, by task id.
    pub places: BTreeMap<u32, Vec<Slot>>,
    /// The number of changes that the run has stored.
    pub stored: u64,
    /// True if the run has changed the times that are kept free.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub has_changed: bool,
    /// True if rules understand the request.
    #[default(true)]
    pub understood: bool,
    /// The calls that rules make for the request, those that are left; none if they decide round
    /// by round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned: Option<Vec<Call>>,
    /// The text that the person gets before anything else.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// The times that are kept free, and no others, once the planned calls are made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub would_keep_free: Option<Vec<FreeTime>>,
    /// The steps that the planned calls go in the timeline: back if it is negative.
    #[serde(skip_serializing_if = "is_zero")]
    pub travels: i32,
    /// The repairs that the person is asked about after the planned calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<Vec<Call>>,
    /// Notes and the like that are kept for the person, without a card.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errand: Option<StoreWrite>,
    /// The reason why rules replaced the model, as it was shown to the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fell_back: Option<String>,
    /// The reason why a model other than the named one answered, as it was last shown to the
    /// person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stood_in: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(number: &i32) -> bool {
    *number == 0
}

/// The number of rounds of execution that a run has, unless the request says otherwise.
pub const DEFAULT_MAX_ROUNDS: u64 = 30;

/// The number of graph steps that a run may take beyond those of its rounds.
pub const STEP_RESERVE: u64 = 10;

/// Tools that are activated before a model asks for them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ContextHook {
    /// The domain.
    pub domain: String,
    /// Its packs beside the core pack.
    #[serde(default)]
    pub packs: Vec<String>,
    /// Why.
    #[serde(default)]
    pub reason: String,
}

impl ContextHook {
    /// Returns the hook with the tools for schedule work.
    pub fn schedule(reason: &str) -> Self {
        Self {
            domain: "schedule".into(),
            packs: vec!["analyze".into(), "mutation".into()],
            reason: reason.into(),
        }
    }
}

/// The results of the writes of classes in a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Upserts {
    /// The number of classes that were stored.
    pub stored: u32,
    /// True if a write was tried.
    pub last_tried: bool,
    /// True if the last class was stored.
    pub last_success: bool,
    /// The problems of the last class.
    pub last_issues: Vec<String>,
    /// The number of writes in a row that stored nothing.
    pub consecutive_failures: u32,
}

/// The result of the last diagnosis, for prompts, gates and the end of the optimisation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a diagnosis has these answers"
)]
pub struct Health {
    /// True if there was a diagnosis in this run.
    pub checked: bool,
    /// True if everything fits.
    pub is_feasible: bool,
    /// The number of missing sections.
    pub capacity_gap: i64,
    /// The same as a word.
    pub reason_code: String,
    /// True if there is a change that helps.
    pub should_continue: bool,
    /// The room for changes, as a word.
    pub tightness: String,
    /// The main problem.
    pub primary_problem: Option<String>,
    /// The recommended operation: swap, move, close or ask the user.
    pub operation: String,
    /// True if there is a problem that no change can repair.
    pub forced: bool,
    /// The state of the problems in one line.
    pub signal: String,
    /// The number of times in a row that the signal stayed the same.
    pub stagnation: u32,
    /// The best candidate: tool and arguments, ready to use.
    pub candidate: Option<(String, serde_json::Value)>,
}

impl AgentState {
    /// Returns true if there is a step of a plan to work on.
    pub fn has_step(&self) -> bool {
        self.plan
            .current_step()
            .is_some_and(|step| !step.content.trim().is_empty())
    }

    /// Returns the number of the day on which the person asked, for words such as "tomorrow". A
    /// schedule without calendar dates, or one that is over, begins today.
    pub fn today(&self) -> i32 {
        let days = self
            .schedule
            .iter()
            .flat_map(|schedule| &schedule.window.days);
        let first = days
            .clone()
            .next()
            .map_or(1, |day| i32::from(day.day_index));
        let dated = days.filter_map(|day| Some((i32::from(day.day_index), day.date.parse().ok()?)));
        let since = |date: Date| Some((self.now?.date() - date).get_days());
        match dated.max_by_key(|(index, _)| *index) {
            Some((last, date)) => match since(date) {
                Some(days) if days <= 0 => last + days,
                _ => first,
            },
            None => first,
        }
    }

    /// Returns the first point at which something can still begin, by the person's clock and the
    /// times of the sections; none if the time or the dates of the days are not known.
    pub fn earliest(&self, sections: &Sections) -> Option<Point> {
        self.earliest_in(self.schedule.as_ref()?, sections)
    }

    /// Returns the same for a schedule that the agent has not taken over yet.
    pub(crate) fn earliest_in(
        &self,
        schedule: &ScheduleState,
        sections: &Sections,
    ) -> Option<Point> {
        earliest(schedule, self.now?, sections)
    }

    /// Returns true if the last write for the current step failed, and none has repaired it.
    pub fn has_failed_write(&self) -> bool {
        StepEvidence::has_failed_write(&self.run.evidence, self.plan.current)
    }

    /// Returns true if the last diagnosis forbids further writes, so that only the person can help.
    pub fn is_gate_closed(&self) -> bool {
        self.health.checked && !self.health.is_feasible
    }

    /// Returns the active tools; the optimisation has a whitelist of its own.
    pub fn active_tools(&self) -> Visibility {
        if self.run.optimize_only {
            self.tools.clone().only(crate::tools::OPTIMIZE_ONLY)
        } else {
            self.tools.clone()
        }
    }
}

/// Returns the first point of a schedule at which something can still begin at a time, by the times
/// of the sections; none if its days have no dates.
pub(crate) fn earliest(
    schedule: &ScheduleState,
    now: DateTime,
    sections: &Sections,
) -> Option<Point> {
    let days = &schedule.window.days;
    let dated = |day: &DayMapping| Some((day.day_index, day.date.parse::<Date>().ok()?));
    let dated: Vec<(u16, Date)> = days.iter().filter_map(dated).collect();
    let last = dated.iter().map(|(index, _)| *index).max()?;
    let ahead = dated.iter().filter(|(_, date)| *date >= now.date());
    let Some((index, date)) = ahead.min_by_key(|(index, _)| *index) else {
        return Some((last.saturating_add(1), 1));
    };
    if *date > now.date() {
        return Some((*index, 1));
    }
    let begins = |section: &u8| {
        let slot = Slot::new(*index, *section, *section);
        sections
            .times(&slot)
            .is_none_or(|(begin, _)| begin >= now.time())
    };
    let last = sections.count();
    let first = (1..=last).find(begins).unwrap_or(last + 1);
    Some((*index, first))
}

#[cfg(test)]
mod tests;
