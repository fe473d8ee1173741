//! Changes that repair a problem day, found by trying them with the real write tools.
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::diagnosis::Diagnosis;
use super::effect::ChangeEffect;
use super::positions::{movable, nearest_days, positions};
use super::rhythm::Totals;
use super::series::heavy_pairs;
use super::{Operation, TightnessLevel};
use crate::schedule::relocate::{AppliedProposal, Target};
use crate::schedule::{Board, PlacementStatus, ScheduleTask, Slot, WriteOptions, WriteRefusal};

/// The number of swaps tried for a problem day.
const SWAPS: usize = 48;
/// The number of other places tried for a task.
const MOVES: usize = 24;
/// The number of changes offered for a problem day.
const OFFERED: usize = 5;
/// The least score of a change that is offered.
const LEAST: f64 = 1.0;
/// The bonus of a swap on top of its gain, because it keeps the load of every day.
const SWAP_BONUS: f64 = 10.0;
/// The preference of a swap among candidates of the same worth.
const SWAP_BIAS: f64 = 12.0;
/// The cost of a swap.
const SWAP_COST: f64 = 4.0;

/// A change that is known to help, or the choice to change nothing more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HealthCandidate {
    /// `swap_a_b`, `move_task_day_section` or `close`.
    pub candidate_id: String,
    /// The tool to call; empty for closing.
    pub tool: String,
    /// Its arguments, ready to copy.
    pub arguments: Value,
    /// The effect in words.
    pub summary: String,
    /// The improvements and losses measured when it was tried.
    pub effect: ChangeEffect,
    /// The diagnosis afterwards.
    pub after: After,
}

/// The diagnosis after a candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct After {
    /// True if nothing would be left to repair.
    pub can_close: bool,
    /// The next problem.
    pub primary_problem: Option<String>,
    /// The next recommended operation.
    pub recommended_operation: Operation,
    /// The number of days on which two demanding subjects would be adjacent.
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

impl Proposal {
    /// Tries it on the board, as the tool would do.
    pub(crate) fn apply(
        self,
        board: &mut Board<'_>,
        options: &WriteOptions,
    ) -> Result<AppliedProposal, WriteRefusal> {
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

    /// Returns the days that it touches.
    fn days(self, board: &Board<'_>) -> [u16; 2] {
        let day = |id| {
            board
                .state()
                .task(id)
                .and_then(ScheduleTask::start)
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

    /// Returns what the change gains less what it costs.
    pub(super) fn score(self, before: &ScheduleRank, after: &ScheduleRank) -> f64 {
        let days = difference(before.problems.len(), after.problems.len());
        let (before, after) = (&before.totals, &after.totals);
        let switches = f64::from(before.max_switches) - f64::from(after.max_switches);
        let ratio = after.same_type_ratio() - before.same_type_ratio();
        let bonus = if self.is_swap() { SWAP_BONUS } else { 0.0 };
        days * 1000.0 + switches * 20.0 + ratio * 100.0 - self.cost() + bonus
    }

    /// Returns the rank of a change with this score among others.
    pub(super) fn rank(self, score: f64) -> f64 {
        score + if self.is_swap() { SWAP_BIAS } else { 0.0 }
    }

    const fn is_swap(self) -> bool {
        matches!(self, Self::Swap { .. })
    }
}

/// The metrics of a schedule that a change can improve.
#[derive(Debug, Clone)]
pub(super) struct ScheduleRank {
    pub(super) totals: Totals,
    pub(super) problems: Vec<u16>,
}

impl ScheduleRank {
    pub(super) fn of(diagnosis: &Diagnosis) -> Self {
        Self {
            totals: diagnosis.totals(),
            problems: diagnosis.problem_days(),
        }
    }
}

/// A schedule whose problem days are to be repaired. Proposals are tried on its board and undone,
/// which is far cheaper than a clone.
pub(super) struct Repair<'r, 's> {
    pub(super) board: &'r mut Board<'s>,
    pub(super) diagnosis: &'r mut Diagnosis,
    pub(super) options: &'r WriteOptions,
    pub(super) tightness: TightnessLevel,
}

impl Repair<'_, '_> {
    /// Evaluates the schedule with a proposal applied; none if the tool refuses it.
    pub(super) fn trial<T>(
        &mut self,
        proposal: Proposal,
        look: impl FnOnce(&mut Board<'_>, &Diagnosis) -> T,
    ) -> Option<T> {
        let Self {
            board, diagnosis, ..
        } = self;
        let days = proposal.days(board);
        let applied = proposal.apply(board, self.options).ok()?;
        let known = diagnosis.refresh(board, days);
        let seen = look(board, diagnosis);
        diagnosis.restore(known);
        board.take_back(&applied);
        Some(seen)
    }

    fn swaps(&self, ours: &[(&ScheduleTask, Slot)], days: &[u16]) -> Vec<Proposal> {
        let partners = || {
            let there = days.iter().flat_map(|day| self.board.on_day(*day));
            there.filter(|task| task.status == PlacementStatus::Suggested)
        };
        let swaps = ours.iter().flat_map(|(task, slot)| {
            let fits = move |other: &&ScheduleTask| {
                other.task_class_id != task.task_class_id && other.duration == slot.sections()
            };
            partners()
                .filter(fits)
                .map(|other| ordered(task.state_id, other.state_id))
        });
        swaps.take(SWAPS).collect()
    }
}

/// A change that helps, and its rank among the others.
struct RankedProposal {
    rank: f64,
    proposal: Proposal,
    effect: ChangeEffect,
}

/// The result of a search.
#[derive(Default)]
pub(super) struct Findings {
    /// The day that the changes are for; none if there is no problem.
    pub(super) day: Option<u16>,
    /// The changes that help, the best first.
    pub(super) changes: Vec<(Proposal, ChangeEffect)>,
    /// True if there is a problem that no change can repair, and no room for a person's idea.
    pub(super) is_forced: bool,
}

impl Repair<'_, '_> {
    /// Tries all proposals against all problem days, and returns the changes for the day whose best
    /// one ranks highest; on a tie, for the worse day, and then for the earlier one.
    pub(super) fn search(&mut self) -> Findings {
        let before = ScheduleRank::of(self.diagnosis);
        let mut best: Option<((f64, f64), u16, Vec<RankedProposal>)> = None;
        let is_searched = self.tightness != TightnessLevel::Locked;
        for day in before.problems.iter().filter(|_| is_searched) {
            let found = self.against(&before, *day);
            let Some(first) = found.first() else { continue };
            let key = (first.rank, priority(self.board, self.diagnosis, *day));
            let is_better = best.as_ref().is_none_or(|(known, ..)| {
                let order = key.0.total_cmp(&known.0);
                order.then(key.1.total_cmp(&known.1)).is_gt()
            });
            if is_better {
                best = Some((key, *day, found));
            }
        }
        let Some((_, day, found)) = best else {
            let day = before.problems.first().copied();
            return Findings {
                day,
                is_forced: day.is_some() && self.tightness != TightnessLevel::Loose,
                ..Findings::default()
            };
        };
        let changes = found.into_iter().map(|one| (one.proposal, one.effect));
        Findings {
            day: Some(day),
            changes: changes.collect(),
            is_forced: false,
        }
    }

    /// Returns the changes that help against one problem day, the best first.
    fn against(&mut self, before: &ScheduleRank, day: u16) -> Vec<RankedProposal> {
        let proposals: BTreeSet<Proposal> = self.enumerate(day).into_iter().collect();
        let mut found: Vec<RankedProposal> = proposals
            .into_iter()
            .filter_map(|proposal| self.attempt(before, proposal))
            .collect();
        // The sort is stable, and the proposals came in their order.
        found.sort_by(|a, b| b.rank.total_cmp(&a.rank));
        found.truncate(OFFERED);
        found
    }

    fn attempt(&mut self, before: &ScheduleRank, proposal: Proposal) -> Option<RankedProposal> {
        let after = self.trial(proposal, |_, diagnosis| ScheduleRank::of(diagnosis))?;
        let effect = ChangeEffect::of(before, &after);
        let score = proposal.score(before, &after);
        (effect.helps() && score >= LEAST).then_some(RankedProposal {
            rank: proposal.rank(score),
            proposal,
            effect,
        })
    }

    pub(super) fn enumerate(&self, day: u16) -> Vec<Proposal> {
        let (board, options) = (&*self.board, self.options);
        let days = nearest_days(board, day);
        let pair: BTreeSet<u32> = heavy_pairs(board, day)
            .iter()
            .flat_map(|(a, b)| [a.state_id, b.state_id])
            .collect();
        let ours: Vec<(&ScheduleTask, Slot)> = pair
            .into_iter()
            .filter_map(|id| board.state().task(id))
            .filter_map(|task| Some((task, movable(board, task, options)?)))
            .collect();
        let mut found = self.swaps(&ours, &days);
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
}

/// Returns the weight of a problem day; the highest is repaired first.
pub(super) fn priority(board: &Board<'_>, diagnosis: &Diagnosis, day: u16) -> f64 {
    let stats = diagnosis.day(day);
    let pairs = heavy_pairs(board, day);
    let differ = pairs
        .iter()
        .any(|(a, b)| a.task_class_id != b.task_class_id);
    300.0
        + f64::from(stats.switches) * 8.0
        + stats.fragmentation() * 20.0
        + if differ { 15.0 } else { 0.0 }
}

fn ordered(a: u32, b: u32) -> Proposal {
    Proposal::Swap {
        task_a: a.min(b),
        task_b: a.max(b),
    }
}

fn difference(a: usize, b: usize) -> f64 {
    let number = |n| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    number(a) - number(b)
}
