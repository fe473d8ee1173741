//! The room for changes near the problems.
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::diagnosis::Diagnosis;
use super::positions::{movable, nearest_days, positions};
use super::series::heavy_pairs;
use crate::schedule::{Board, PlacementStatus, ScheduleTask, Slot, WriteOptions};

/// The number of alternatives counted for a task.
const ALTERNATIVES: usize = 4;
/// The number of swaps counted.
const SWAPS: usize = 12;

/// The room for changes near the problems.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tightness {
    /// Tasks that could be moved within the same days.
    pub locally_movable_task_count: u32,
    /// Other places per suggested task, at most four counted for each.
    pub avg_local_alternative_slots: f64,
    /// Pairs of different classes that could swap, at most twelve.
    pub cross_class_swap_options: u32,
    /// Problem days on which nothing could move or swap.
    pub forced_heavy_adjacent_days: u32,
    /// The summary in a word.
    pub tightness_level: Level,
}

/// The room for changes, as a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Plenty.
    Loose,
    /// Some.
    Tight,
    /// None.
    Locked,
}

impl Level {
    fn of(movable: usize, average: f64, swaps: usize) -> Self {
        if movable >= 4 && (average >= 2.0 || swaps >= 2) {
            Self::Loose
        } else if movable == 0 && swaps == 0 {
            Self::Locked
        } else {
            Self::Tight
        }
    }

    /// Returns the word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Loose => "loose",
            Self::Tight => "tight",
            Self::Locked => "locked",
        }
    }
}

impl Tightness {
    pub(super) fn of(
        board: &mut Board<'_>,
        diagnosis: &Diagnosis,
        problems: &[u16],
        options: &WriteOptions,
    ) -> Self {
        let days = focus(board, diagnosis, problems);
        let tasks = suggested(board, &days);
        let alternatives: Vec<usize> = tasks
            .iter()
            .map(|id| {
                let known = board.state().task(*id);
                known.map_or(0, |task| {
                    alternatives(board, task, &days, ALTERNATIVES, options)
                })
            })
            .collect();
        let movable = alternatives.iter().filter(|count| **count > 0).count();
        let average = average(alternatives.iter().sum(), tasks.len());
        let swaps = count_swaps(board, &tasks, &tasks, SWAPS, options);
        let forced = problems
            .iter()
            .filter(|day| is_forced(board, **day, options))
            .count();
        Self {
            locally_movable_task_count: count(movable),
            avg_local_alternative_slots: average,
            cross_class_swap_options: count(swaps),
            forced_heavy_adjacent_days: count(forced),
            tightness_level: Level::of(movable, average, swaps),
        }
    }
}

/// Returns the days near the problems; if there are none, all days with a suggested item.
fn focus(board: &Board<'_>, diagnosis: &Diagnosis, problems: &[u16]) -> Vec<u16> {
    let days = diagnosis.days.iter().map(|stats| stats.day);
    let is_focus = |day: &u16| {
        if problems.is_empty() {
            board
                .on_day(*day)
                .any(|task| task.status == PlacementStatus::Suggested)
        } else {
            problems.iter().any(|problem| problem.abs_diff(*day) <= 1)
        }
    };
    days.filter(is_focus).collect()
}

fn suggested(board: &Board<'_>, days: &[u16]) -> Vec<u32> {
    let there = days.iter().flat_map(|day| board.on_day(*day));
    let suggested = there.filter(|task| task.status == PlacementStatus::Suggested);
    suggested
        .map(|task| task.state_id)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect()
}

fn alternatives(
    board: &Board<'_>,
    task: &ScheduleTask,
    days: &[u16],
    limit: usize,
    options: &WriteOptions,
) -> usize {
    let from: Option<Slot> = movable(board, task, options);
    from.map_or(0, |from| {
        positions(board, task, from, days, limit, options).len()
    })
}

/// Returns the number of pairs of different classes that could swap; every pair counts once.
fn count_swaps(
    board: &mut Board<'_>,
    ours: &[u32],
    theirs: &[u32],
    limit: usize,
    options: &WriteOptions,
) -> usize {
    let mut found = 0;
    for (index, a) in ours.iter().enumerate() {
        let later = theirs
            .iter()
            .filter(|b| !ours.iter().take(index + 1).any(|done| done == *b));
        for b in later {
            if found == limit {
                return found;
            }
            found += usize::from(can_swap(board, *a, *b, options));
        }
    }
    found
}

fn can_swap(board: &mut Board<'_>, a: u32, b: u32, options: &WriteOptions) -> bool {
    let class = |id| board.state().task(id).map(|task| task.task_class_id);
    if class(a) == class(b) {
        return false;
    }
    let applied = board.try_swap(a, b, options);
    applied.map(|applied| board.take_back(&applied)).is_ok()
}

/// Returns true if none of the demanding neighbours of a day can move anywhere in the whole window.
fn is_forced(board: &mut Board<'_>, day: u16, options: &WriteOptions) -> bool {
    let all = nearest_days(board, day);
    let pair: BTreeSet<u32> = heavy_pairs(board, day)
        .into_iter()
        .flat_map(|(a, b)| [a, b])
        .filter(|task| task.status == PlacementStatus::Suggested)
        .map(|task| task.state_id)
        .collect();
    let moves = |id: &u32| {
        let known = board.state().task(*id);
        known.is_some_and(|task| alternatives(board, task, &all, 1, options) > 0)
    };
    if pair.iter().any(moves) {
        return false;
    }
    let (pair, others) = (Vec::from_iter(pair), suggested(board, &all));
    count_swaps(board, &pair, &others, 1, options) == 0
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn average(sum: usize, count: usize) -> f64 {
    if count == 0 {
        return 0.0;
    }
    f64::from(self::count(sum)) / f64::from(self::count(count))
}
