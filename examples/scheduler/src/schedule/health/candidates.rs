//! Changes that repair a problem day, found by trying them with the real write tools.
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Operation;
use super::diagnosis::Diagnosis;
use super::positions::{movable, nearest_days, positions};
use super::rhythm::Totals;
use super::series::heavy_pairs;
use crate::schedule::relocate::{Applied, Target};
use crate::schedule::{Board, Refused, Slot, Task, TaskStatus, WriteOptions};

/// Swaps tried for a problem day.
const SWAPS: usize = 48;
/// Other places tried for a task.
const MOVES: usize = 24;
/// Candidates kept for a problem day.
const KEPT: usize = 5;
/// What a swap is worth beyond its gain: it keeps the load of every day.
const SWAP_BONUS: f64 = 10.0;
/// How much a swap is preferred among candidates of the same worth.
const SWAP_BIAS: f64 = 12.0;
/// What a swap costs.
const SWAP_COST: f64 = 4.0;
/// What a candidate must at least be worth.
const LEAST_BENEFIT: f64 = 1.0;

/// A change that is known to help, or the choice to change nothing more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// `swap_a_b`, `move_task_day_section` or `close`.
    pub candidate_id: String,
    /// The tool to call; empty for closing.
    pub tool: String,
    /// Its arguments, ready to copy.
    pub arguments: Value,
    /// What it would do.
    pub summary: String,
    /// What became better or worse when it was tried.
    pub effect: Effect,
    /// The diagnosis afterwards.
    pub after: After,
}

/// What became better or worse when a change was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// There are fewer problem days, and nothing else became worse.
    Improve,
    /// There are fewer problem days, and something else became worse.
    PartialImprove,
    /// There are as many problem days, but others.
    Shift,
    /// The same days are problems.
    NoGain,
    /// There are more problem days.
    Regress,
    /// Nothing changes any more.
    Close,
}

/// The diagnosis after a candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct After {
    /// Whether nothing would be left to repair.
    pub can_close: bool,
    /// What would be the next problem.
    pub primary_problem: Option<String>,
    /// What would be the next thing to do.
    pub recommended_operation: Operation,
    /// Days on which two demanding subjects would lie side by side.
    pub heavy_adjacent_days: u32,
    /// The switches of the busiest day.
    pub max_switch_count: u8,
    /// The share of switches between subjects of the same type.
    pub same_type_transition_ratio: f64,
}

/// A change that could be tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Proposal {
    Swap {
        task_a: u32,
        task_b: u32,
    },
    Move {
        task: u32,
        from: Slot,
        day: u16,
        start: u8,
    },
}

/// A proposal that helps, and how much.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tried {
    pub(super) proposal: Proposal,
    pub(super) effect: Effect,
    score: f64,
}

impl Proposal {
    /// Tries it on the board, as the tool would.
    pub(crate) fn apply(
        self,
        board: &mut Board<'_>,
        options: &WriteOptions,
    ) -> Result<Applied, Refused> {
        match self {
            Self::Swap { task_a, task_b } => board.try_swap(task_a, task_b, options),
            Self::Move {
                task, day, start, ..
            } => board.try_move(Target { task, day, start }, options),
        }
    }

    pub(super) fn id(self) -> String {
        match self {
            Self::Swap { task_a, task_b } => format!("swap_{task_a}_{task_b}"),
            Self::Move {
                task, day, start, ..
            } => format!("move_{task}_{day}_{start}"),
        }
    }

    pub(super) const fn operation(self) -> Operation {
        match self {
            Self::Swap { .. } => Operation::Swap,
            Self::Move { .. } => Operation::Move,
        }
    }

    pub(super) fn arguments(self) -> Value {
        match self {
            Self::Swap { task_a, task_b } => json!({"task_a": task_a, "task_b": task_b}),
            Self::Move {
                task, day, start, ..
            } => {
                json!({"task_id": task, "new_day": day, "new_slot_start": start})
            }
        }
    }

    /// The days that it touches.
    fn days(self, board: &Board<'_>) -> [u16; 2] {
        let day = |id| {
            board
                .state()
                .task(id)
                .and_then(Task::start)
                .map_or(0, |(day, _)| day)
        };
        match self {
            Self::Swap { task_a, task_b } => [day(task_a), day(task_b)],
            Self::Move { from, day, .. } => [from.day, day],
        }
    }

    fn cost(self) -> f64 {
        match self {
            Self::Swap { .. } => SWAP_COST,
            Self::Move {
                from, day, start, ..
            } => {
                f64::from(from.day.abs_diff(day)) * 2.0 + f64::from(from.slot_start.abs_diff(start))
            }
        }
    }

    const fn is_swap(self) -> bool {
        matches!(self, Self::Swap { .. })
    }
}

impl Tried {
    /// What candidates are ranked by; swaps go first among equals.
    pub(super) fn rank(&self) -> f64 {
        self.score
            + if self.proposal.is_swap() {
                SWAP_BIAS
            } else {
                0.0
            }
    }
}

/// How a schedule stands before and after a proposal.
pub(super) struct Standing {
    totals: Totals,
    problems: Vec<u16>,
}

impl Standing {
    pub(super) fn of(diagnosis: &Diagnosis) -> Self {
        Self {
            totals: diagnosis.totals(),
            problems: diagnosis.problem_days(),
        }
    }

    fn effect(&self, after: &Self) -> Effect {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let worse = after.totals.max_switches > self.totals.max_switches
            || after.totals.same_type_ratio() < self.totals.same_type_ratio();
        match after.problems.len().cmp(&self.problems.len()) {
            Less if worse => Effect::PartialImprove,
            Less => Effect::Improve,
            Greater => Effect::Regress,
            Equal if after.problems == self.problems => Effect::NoGain,
            Equal => Effect::Shift,
        }
    }

    fn gain(&self, after: &Self) -> f64 {
        let days = difference(self.problems.len(), after.problems.len());
        let switches = f64::from(self.totals.max_switches) - f64::from(after.totals.max_switches);
        let ratio = after.totals.same_type_ratio() - self.totals.same_type_ratio();
        days * 1000.0 + switches * 20.0 + ratio * 100.0
    }
}

/// The best candidates for a problem day, the best first.
pub(super) fn scan(
    board: &mut Board<'_>,
    diagnosis: &mut Diagnosis,
    before: &Standing,
    day: u16,
    options: &WriteOptions,
) -> Vec<Tried> {
    let mut tried: Vec<Tried> = proposals(board, day, options)
        .into_iter()
        .filter_map(|proposal| attempt(board, diagnosis, before, proposal, options))
        .collect();
    tried.sort_by(|a, b| {
        b.rank()
            .total_cmp(&a.rank())
            .then_with(|| a.proposal.cmp(&b.proposal))
    });
    tried.truncate(KEPT);
    tried
}

/// What to try, each proposal once.
fn proposals(board: &Board<'_>, day: u16, options: &WriteOptions) -> BTreeSet<Proposal> {
    let mut found = BTreeSet::new();
    let days = nearest_days(board, day);
    let pair: BTreeSet<u32> = heavy_pairs(board, day)
        .iter()
        .flat_map(|(a, b)| [a.state_id, b.state_id])
        .collect();
    let ours: Vec<(&Task, Slot)> = pair
        .into_iter()
        .filter_map(|id| board.state().task(id))
        .filter_map(|task| Some((task, movable(board, task, options)?)))
        .collect();
    let partners = || {
        let there = days.iter().flat_map(|day| board.on_day(*day));
        there.filter(|task| task.status == TaskStatus::Suggested)
    };
    let swaps = ours.iter().flat_map(|(task, slot)| {
        let fits = move |other: &&Task| {
            other.task_class_id != task.task_class_id && other.duration == slot.sections()
        };
        partners()
            .filter(fits)
            .map(|other| ordered(task.state_id, other.state_id))
    });
    found.extend(swaps.take(SWAPS));
    for (task, from) in &ours {
        let points = positions(board, task, *from, &days, MOVES, options);
        found.extend(points.into_iter().map(|(day, start)| Proposal::Move {
            task: task.state_id,
            from: *from,
            day,
            start,
        }));
    }
    found
}

fn ordered(a: u32, b: u32) -> Proposal {
    Proposal::Swap {
        task_a: a.min(b),
        task_b: a.max(b),
    }
}

/// Tries a proposal and takes it back; none if it is refused or does not help enough.
fn attempt(
    board: &mut Board<'_>,
    diagnosis: &mut Diagnosis,
    before: &Standing,
    proposal: Proposal,
    options: &WriteOptions,
) -> Option<Tried> {
    let after = trial(board, diagnosis, proposal, options, |_, diagnosis| {
        Standing::of(diagnosis)
    })?;
    let effect = before.effect(&after);
    if !matches!(effect, Effect::Improve | Effect::PartialImprove) {
        return None;
    }
    let bonus = if proposal.is_swap() { SWAP_BONUS } else { 0.0 };
    let score = before.gain(&after) - proposal.cost() + bonus;
    (score >= LEAST_BENEFIT).then_some(Tried {
        proposal,
        effect,
        score,
    })
}

/// Looks at the schedule as a proposal would leave it; none if the tool refuses it.
pub(super) fn trial<T>(
    board: &mut Board<'_>,
    diagnosis: &mut Diagnosis,
    proposal: Proposal,
    options: &WriteOptions,
    look: impl FnOnce(&mut Board<'_>, &Diagnosis) -> T,
) -> Option<T> {
    let days = proposal.days(board);
    let applied = proposal.apply(board, options).ok()?;
    let known = diagnosis.refresh(board, days);
    let seen = look(board, diagnosis);
    diagnosis.restore(known);
    board.take_back(&applied);
    Some(seen)
}

fn difference(a: usize, b: usize) -> f64 {
    let number = |n| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    number(a) - number(b)
}
