//! The state of the agent: what crosses requests, and the vocabulary of its changes.
mod compacted;
mod interaction;
mod phase;
mod request;
mod transition;
mod update;

use std::{collections::BTreeMap, sync::Arc};

use fugato::{
    state::{Budget, Conversation, Plan},
    tool::Visibility,
};
use jiff::civil::{Date, DateTime};
use serde::{Deserialize, Serialize};

pub use compacted::{Compacted, Part};
pub use interaction::{Action, Card, Pending, Reply, Topic, Wanted};
pub use phase::{Mode, Phase, TerminalOutcome, TerminalStatus};
pub use request::{BY_HAND, Request};
pub use transition::{CURRENT_STEP, LOOP_CLOSED, PLAN, ROUGH_BUILD_DONE, STEP_ADVANCED};
pub use update::{Evidence, EvidenceSource, Judged, Routed, Update};

use crate::{
    calendar::Lang,
    schedule::{Queue, ScheduleState, Slot},
};

/// Everything that crosses requests.
///
/// Version 1: the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Agent {
    /// The language of the person.
    pub lang: Lang,
    /// What the person's clock showed when they asked for something last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<DateTime>,
    /// What was said, and what every prompt shows.
    pub conversation: Conversation,
    /// What older parts of it came to, for prompts.
    pub compacted: Compacted,
    /// Where the agent stands: what routes it.
    pub phase: Phase,
    /// What is to be done, step by step.
    pub plan: Plan,
    /// Which tools are active.
    pub tools: Visibility,
    /// Tools that a deterministic node has chosen for the next round; consumed once.
    pub hook: Option<ContextHook>,
    /// A write that waits for the person, or was accepted and waits for its execution.
    pub wanted: Option<Wanted>,
    /// What the person is asked.
    pub pending: Option<Pending>,
    /// The classes that this conversation is about.
    pub task_class_ids: Vec<u32>,
    /// What lies where; loaded when it is first needed.
    pub schedule: Option<Arc<ScheduleState>>,
    /// What lay where when it was loaded.
    pub original: Option<Arc<ScheduleState>>,
    /// What lies where as far as it was stored; none if that is what was loaded.
    pub stored: Option<Arc<ScheduleState>>,
    /// Whether the person agreed to what lies where, and it is not all stored yet.
    pub agreed: bool,
    /// What belongs to one run only.
    pub run: RunScope,
    /// What the last diagnosis said.
    pub health: Health,
    /// Notes that the person wanted kept.
    pub notes: Vec<String>,
    /// How many tool calls were made in all: makes their ids unique.
    pub calls: u64,
}

/// What belongs to one run, and is reset when the next one begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, and a router or a prompt asks for it by name"
)]
pub struct RunScope {
    /// Rounds of execution.
    pub rounds: Budget,
    /// Unusable answers in a row.
    pub corrections: u32,
    /// Whether the person need not be asked.
    pub always_execute: bool,
    /// Whether the model shall think: forced on or off, or as the route says.
    pub thinking: Option<bool>,
    /// Whether the route wants the model to think.
    pub execute_thinking: bool,
    /// Whether execution goes without a plan.
    pub react: bool,
    /// Whether the person acts with their own hands: the wanted call is all there is to do.
    pub by_hand: bool,
    /// Whether the person acts with their own hands in place of answering: what was asked is asked
    /// anew when the wanted call is made.
    pub asks_again: bool,
    /// Whether pending items are placed by rule first.
    pub needs_rough_build: bool,
    /// Whether that is refined afterwards.
    pub needs_refine: bool,
    /// Whether the order of tasks may change.
    pub allow_reorder: bool,
    /// What is optimised.
    pub mode: Mode,
    /// Whether only tools of the optimisation may be used.
    pub optimize_only: bool,
    /// Whether something was placed that nobody has agreed to yet.
    pub unsaved: bool,
    /// Whether the person is asked to keep what was placed.
    pub closing: bool,
    /// Whether the person did not want to keep it.
    pub refused: bool,
    /// Whether the schedule changed.
    pub has_schedule_changes: bool,
    /// What was seen and done for the current step.
    pub evidence: Vec<Evidence>,
    /// The tasks that the request is about, worked off one after another.
    pub queue: Queue,
    /// What became of the classes that were to be stored.
    pub upserts: Upserts,
    /// Whether a write has failed and was not repaired.
    pub failed_write: bool,
    /// How the run ended, if not well.
    pub outcome: Option<TerminalOutcome>,
    /// What the next node tells the reader.
    pub announce: Option<String>,
    /// The question and the reply with which the run goes on.
    pub resumed: Option<(String, String)>,
    /// What the model decided last.
    pub judged: Option<Judged>,
    /// Where the tasks lay that the run has touched, before it did.
    pub places: BTreeMap<u32, Vec<Slot>>,
    /// How many changes the run has stored.
    pub stored: u64,
    /// Whether rules understand what the person asked for.
    pub understood: bool,
    /// Why rules go on in place of the model, as the person was told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fell_back: Option<String>,
    /// Why another model answered than the one that was named, as the person was told last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stood_in: Option<String>,
}

impl Default for RunScope {
    fn default() -> Self {
        Self {
            rounds: Budget::new(DEFAULT_MAX_ROUNDS),
            corrections: 0,
            always_execute: false,
            thinking: None,
            execute_thinking: true,
            react: false,
            by_hand: false,
            asks_again: false,
            needs_rough_build: false,
            needs_refine: false,
            allow_reorder: false,
            mode: Mode::default(),
            optimize_only: false,
            unsaved: false,
            closing: false,
            refused: false,
            has_schedule_changes: false,
            evidence: vec![],
            queue: Queue::default(),
            upserts: Upserts::default(),
            failed_write: false,
            outcome: None,
            announce: None,
            resumed: None,
            judged: None,
            places: BTreeMap::new(),
            stored: 0,
            understood: true,
            fell_back: None,
            stood_in: None,
        }
    }
}

/// How many rounds of execution a run has, unless the request says otherwise.
pub const DEFAULT_MAX_ROUNDS: u64 = 30;

/// How many steps of the graph a run may take beyond those of its rounds.
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
    /// What schedule work needs.
    pub fn schedule(reason: &str) -> Self {
        Self {
            domain: "schedule".into(),
            packs: vec!["analyze".into(), "mutation".into()],
            reason: reason.into(),
        }
    }
}

/// What became of the classes that a run wanted stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Upserts {
    /// Whether it was tried.
    pub last_tried: bool,
    /// Whether the last one was stored.
    pub last_success: bool,
    /// What was wrong with the last one.
    pub last_issues: Vec<String>,
    /// How many in a row were not stored.
    pub consecutive_failures: u32,
}

/// What the last diagnosis said, for prompts, gates and the end of the optimisation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a diagnosis has these answers"
)]
pub struct Health {
    /// Whether there was a diagnosis in this run.
    pub checked: bool,
    /// Whether everything fits.
    pub is_feasible: bool,
    /// How many sections are missing.
    pub capacity_gap: i64,
    /// The same as a word.
    pub reason_code: String,
    /// Whether there is a change that helps.
    pub should_continue: bool,
    /// How much room there is for changes.
    pub tightness: String,
    /// What is wrong.
    pub primary_problem: Option<String>,
    /// What is recommended: swap, move, close or ask the user.
    pub operation: String,
    /// Whether something is wrong that no change can repair.
    pub forced: bool,
    /// The state of the problems in one line.
    pub signal: String,
    /// How often in a row that line stayed the same.
    pub stagnation: u32,
    /// The best candidate: tool and arguments, ready to use.
    pub candidate: Option<(String, serde_json::Value)>,
}

impl Default for Agent {
    fn default() -> Self {
        Self {
            lang: Lang::default(),
            now: None,
            conversation: Conversation::default(),
            compacted: Compacted::default(),
            phase: Phase::default(),
            plan: Plan::default(),
            tools: Visibility::new(),
            hook: None,
            wanted: None,
            pending: None,
            task_class_ids: vec![],
            schedule: None,
            original: None,
            stored: None,
            agreed: false,
            run: RunScope::default(),
            health: Health::default(),
            notes: vec![],
            calls: 0,
        }
    }
}

impl Agent {
    /// Whether there is a step of a plan to work on.
    pub fn has_step(&self) -> bool {
        self.plan
            .current_step()
            .is_some_and(|step| !step.content.trim().is_empty())
    }

    /// The number of the day on which the person asked, for words such as "tomorrow". A schedule
    /// that nobody tied to a calendar, or that is over, begins today.
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

    /// Whether the last diagnosis forbids further writes: only the person can help.
    pub fn is_gate_closed(&self) -> bool {
        self.health.checked && !self.health.is_feasible
    }

    /// The visibility as it holds now: the optimisation has a whitelist of its own.
    pub fn active_tools(&self) -> Visibility {
        if self.run.optimize_only {
            self.tools.clone().only(crate::tools::OPTIMIZE_ONLY)
        } else {
            self.tools.clone()
        }
    }
}

#[cfg(test)]
mod tests;
