//! The placement of what fits, and an account of what does not.
use std::fmt;

use serde::{Deserialize, Serialize};

use super::assign::without_place;
use super::demand::{Job, check_dates, jobs};
use super::grid::Grid;
use super::{RoughBuild, RoughBuildError, built, placement, singly};
use crate::schedule::order::Bounds;
use crate::schedule::repair::in_parts;
use crate::schedule::text::joined;
use crate::schedule::{
    Board, Change, ClosedTime, FixedTime, PlacementStatus, ScheduleState, TaskClass, WriteOptions,
};

/// A placement of as many items as possible, and the items that it leaves pending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartialBuild {
    /// The placement of what fits.
    pub built: RoughBuild,
    /// The items without a place, by class; empty if everything fits.
    pub left: Vec<ItemsLeft>,
}

/// The items of a class that have no place, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemsLeft {
    /// The class.
    pub class: u32,
    /// Its name.
    pub name: String,
    /// The items, in the order of the class.
    pub items: Vec<u32>,
    /// The number of items of the class that wanted a place.
    pub of: usize,
    /// The reason.
    pub why: NoRoom,
}

/// The reasons for which items of a class have no place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
#[non_exhaustive]
pub enum NoRoom {
    /// A date of the class is not a date.
    BadDate {
        /// The text that is not a date.
        date: String,
    },
    /// All days on which the class could lie have begun already.
    Past,
    /// The class excludes every day.
    Days,
    /// The class excludes every block of a day.
    Blocks,
    /// No day of the schedule lies between the dates of the class.
    Dates,
    /// Nothing is free at the only time at which the item may begin.
    Fixed {
        /// The time.
        at: FixedTime,
    },
    /// Nothing is free until the last date of the item.
    Deadline {
        /// The date.
        date: String,
    },
    /// Nothing is free from the first date of the item on.
    Earliest {
        /// The date.
        date: String,
    },
    /// Nothing is free after the items that it has to follow.
    After {
        /// The names of those items.
        names: Vec<String>,
    },
    /// Nothing is free outside of the times that the item must not touch.
    Closed {
        /// The times.
        times: Vec<ClosedTime>,
    },
    /// No day has so many free sections in a row.
    Long {
        /// The number of sections.
        sections: u8,
    },
    /// The blocks that the class allows are taken.
    Taken {
        /// The number of blocks that were open to the class.
        open: usize,
        /// The number of items that wanted one of them, those of other classes included.
        wanted: usize,
        /// The names of other classes that want the same blocks.
        rivals: Vec<String>,
    },
}

/// Places as many pending items of the named classes as possible, and says why the others have no
/// place. An item that fits nowhere takes nothing from the others; one that may be split is done in
/// two parts then.
///
/// # Errors
/// [`RoughBuildError::WindowMissing`] and [`RoughBuildError::UnknownClass`].
pub fn build_what_fits(
    state: &ScheduleState,
    classes: &[u32],
    options: &WriteOptions,
) -> Result<PartialBuild, RoughBuildError> {
    let mut fits = build_whole(state, classes, options)?;
    divide(state, &mut fits, options);
    Ok(fits)
}

/// Places items that have no place, and may be split, in two parts.
fn divide(state: &ScheduleState, fits: &mut PartialBuild, options: &WriteOptions) {
    let splits = |id: &u32| state.task(*id).and_then(|task| state.may_split(task)) == Some(true);
    let mut left = fits.left.iter().flat_map(|left| &left.items);
    if !left.any(splits) {
        return;
    }
    let mut board = Board::new(state);
    for change in &fits.built.changes {
        board.apply(change);
    }
    for left in &mut fits.left {
        left.items.retain(|id| {
            let parts = splits(id).then(|| in_parts(&board, *id, options)).flatten();
            let Some(parts) = parts else { return true };
            let change = Change::Place {
                task: *id,
                slots: parts.to_vec(),
                host: None,
                status: PlacementStatus::Suggested,
            };
            board.apply(&change);
            fits.built.changes.push(change);
            let parts = parts.into_iter();
            let parts = parts.filter_map(|part| placement(state, *id, part));
            fits.built.placements.extend(parts);
            false
        });
    }
    fits.left.retain(|left| !left.items.is_empty());
}

/// Places what fits as a whole.
fn build_whole(
    state: &ScheduleState,
    classes: &[u32],
    options: &WriteOptions,
) -> Result<PartialBuild, RoughBuildError> {
    if state.window.days.is_empty() {
        return Err(RoughBuildError::WindowMissing);
    }
    let mut left = vec![];
    let mut usable = vec![];
    for id in classes {
        let class = state.class(*id).ok_or(RoughBuildError::UnknownClass(*id))?;
        match check_dates(class) {
            Err(RoughBuildError::BadDate { date, .. }) => {
                left.extend(undated(state, class, date));
            }
            _ => usable.push(*id),
        }
    }
    let mut jobs = jobs(state, &usable)?;
    if singly::applies(state, &jobs) {
        let mut fits = singly::build(state, &jobs, options)?;
        fits.left.splice(..0, left);
        return Ok(fits);
    }
    let base = Grid::ahead(state, options);
    if let Ok(built) = built(state, &jobs, &base) {
        return Ok(PartialBuild { built, left });
    }
    let without = without_place(&jobs, &base);
    let reasons: Vec<NoRoom> = jobs
        .iter()
        .map(|job| no_room(state, job, &jobs, &base))
        .collect();
    for ((job, without), why) in jobs.iter_mut().zip(without).zip(reasons) {
        let of = job.items.len();
        let items = give_up(job, without);
        if !items.is_empty() {
            left.push(ItemsLeft {
                class: job.class.id,
                name: job.class.name.clone(),
                items,
                of,
                why,
            });
        }
    }
    jobs.retain(|job| !job.items.is_empty());
    let built = built(state, &jobs, &base)?;
    Ok(PartialBuild { built, left })
}

/// Returns the pending items of a class whose dates cannot be read.
fn undated(state: &ScheduleState, class: &TaskClass, date: String) -> Option<ItemsLeft> {
    let tasks = state.tasks.iter();
    let mine = tasks.filter(|task| task.task_class_id == Some(class.id) && task.is_pending_item());
    let items: Vec<u32> = mine.map(|task| task.state_id).collect();
    (!items.is_empty()).then(|| ItemsLeft {
        class: class.id,
        name: class.name.clone(),
        of: items.len(),
        items,
        why: NoRoom::BadDate { date },
    })
}

/// Takes the last items of every segment out of a job, and returns them in the order of the class.
fn give_up(job: &mut Job<'_>, mut without: Vec<(Bounds, usize)>) -> Vec<u32> {
    let mut given = vec![];
    let mut kept = vec![];
    for item in job.items.drain(..).rev() {
        let count = without
            .iter_mut()
            .find(|(bounds, count)| *bounds == item.bounds && *count > 0);
        match count {
            Some((_, count)) => {
                *count -= 1;
                given.push(item.id);
            }
            None => kept.push(item),
        }
    }
    kept.reverse();
    given.reverse();
    job.items = kept;
    given
}

fn no_room(state: &ScheduleState, job: &Job<'_>, jobs: &[Job<'_>], base: &Grid) -> NoRoom {
    let class = job.class;
    let open = base.open_to(class).blocks();
    if !open.is_empty() {
        let shares = |other: &&Job<'_>| {
            let theirs = base.open_to(other.class).blocks();
            other.class.id != class.id && theirs.iter().any(|block| open.contains(block))
        };
        let rivals: Vec<&Job<'_>> = jobs.iter().filter(shares).collect();
        let others: usize = rivals.iter().map(|job| job.items.len()).sum();
        return NoRoom::Taken {
            open: open.len(),
            wanted: job.items.len() + others,
            rivals: rivals.iter().map(|job| job.class.name.clone()).collect(),
        };
    }
    let days = || state.window.days.iter();
    if days().all(|day| class.excluded_days_of_week.contains(&day.day_of_week)) {
        return NoRoom::Days;
    }
    if (1..=6).all(|block| class.excluded_slots.contains(&block)) {
        return NoRoom::Blocks;
    }
    if days().all(|day| class.admits_day(day).is_err()) {
        return NoRoom::Dates;
    }
    if !Grid::of(state).open_to(class).blocks().is_empty() {
        return NoRoom::Past;
    }
    NoRoom::Taken {
        open: 0,
        wanted: job.items.len(),
        rivals: vec![],
    }
}

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&match self {
            Self::BadDate { date } => say!("\"{date}\" is not a date", "“{date}”不是日期"),
            Self::Past => say!("all its days are over", "可用的日子都已过去"),
            Self::Days => say!("every day is excluded", "每一天都被排除"),
            Self::Blocks => say!("every time of the day is excluded", "每个时段都被排除"),
            Self::Dates => say!(
                "no day lies between its dates",
                "起止日期之间没有可用的日子"
            ),
            Self::Fixed { at } => say!("nothing is free at {at}", "{at} 没有空闲"),
            Self::Deadline { date } => say!("nothing is free until {date}", "{date} 之前没有空闲"),
            Self::Earliest { date } => say!("nothing is free from {date} on", "{date} 起没有空闲"),
            Self::After { names } => {
                say!("nothing is free after {}", "{}之后没有空闲", joined(names))
            }
            Self::Closed { times } => {
                let times: Vec<String> = times.iter().map(ToString::to_string).collect();
                say!(
                    "nothing is free outside of {}",
                    "{} 之外没有空闲",
                    joined(&times)
                )
            }
            Self::Long { sections } => say!(
                "no day has {sections} free sections in a row",
                "没有一天有连续 {sections} 节空闲"
            ),
            Self::Taken { open, wanted, .. } => {
                say!(
                    "{wanted} items want {open} places",
                    "{wanted} 项争 {open} 个位置"
                )
            }
        })
    }
}

impl PartialBuild {
    /// Returns the number of items without a place.
    pub fn items_left(&self) -> usize {
        self.left.iter().map(|left| left.items.len()).sum()
    }
}
