//! The first placement of pending items, without a model.
//!
//! Classes are placed one after another, each by its own strategy. If one does not fit, the
//! tightest class goes first; if that does not help either, blocks are assigned exactly, so that
//! an error means that no placement exists. Everything or nothing is placed.
mod assign;
mod demand;
pub(super) mod grid;
mod partial;
mod singly;
mod spread;

use serde::{Deserialize, Serialize};

use self::demand::{Job, jobs};
use self::grid::{Block, Grid};
use super::{Board, Change, PlacementStatus, ScheduleState, Slot, WriteOptions};
use crate::lang::Lang;

pub use partial::{ItemsLeft, NoRoom, PartialBuild, build_what_fits};

/// The place of an item, in the terms of the calendar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// The id of the item at its source.
    pub task_item_id: String,
    /// The week, from 1.
    pub week: u16,
    /// Monday is 1.
    pub day_of_week: u8,
    /// The first section.
    pub section_from: u8,
    /// The last section.
    pub section_to: u8,
}

/// A placement of all pending items of some classes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoughBuild {
    /// The place of every item, in the order of time.
    pub placements: Vec<Placement>,
    /// The same as changes to the schedule; every item becomes suggested.
    pub changes: Vec<Change>,
    /// The deviations from the classes, for the person.
    pub issues: Vec<PlacementMismatch>,
    /// The method by which it was found.
    pub found: PlacementMethod,
}

/// The methods by which a placement is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlacementMethod {
    /// The classes were placed in the given order.
    InOrder,
    /// The class with the least room was placed first.
    TightestFirst,
    /// Blocks were assigned to all items at once, because one class after another did not fit.
    Exactly,
    /// Items were placed one by one within their own terms.
    OneByOne,
}

/// A difference between a placement and the settings of a class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "issue", rename_all = "snake_case")]
#[non_exhaustive]
pub enum PlacementMismatch {
    /// Items are placed in two sections each, and the class asks for another length.
    #[error("{}", say!(
        "class \"{name}\" wants {total_slots} sections for {items} items; every item was given 2, because only `minutes` gives items another length",
        "类别「{name}」的 {items} 项想要 {total_slots} 节；每项给了 2 节，只有 `minutes` 能给出别的长度"
    ))]
    LengthDiffers {
        /// The class.
        class: u32,
        /// Its name.
        name: String,
        /// The number of sections that it requests for all items.
        total_slots: u32,
        /// The number of its items.
        items: u32,
    },
}

/// The reasons for which nothing was placed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RoughBuildError {
    /// The schedule has no days.
    #[error("{}", say!("there is no time window to place anything in", "没有可以安排的时间窗口"))]
    WindowMissing,
    /// There is no such class.
    #[error("{}", say!("there is no task class {}", "没有任务类别 {}", .0))]
    UnknownClass(u32),
    /// A date of a class is not a date.
    #[error("{}", say!("class \"{name}\" has the date \"{date}\", which is not of the form YYYY-MM-DD", "类别「{name}」的日期“{date}”不是 YYYY-MM-DD 的形式"))]
    BadDate {
        /// The name of the class.
        name: String,
        /// The text that is not a date.
        date: String,
    },
    /// No placement exists.
    #[error("{}", say!(
        "time not enough for class \"{name}\": {} blocks of two sections are needed{}, and only {open} are open",
        "类别「{name}」时间不够：需要 {} 个两节的时段{}，只有 {open} 个可用",
        .needed, rivals_text(.rivals)
    ))]
    TimeNotEnough {
        /// The class that does not fit.
        class: u32,
        /// Its name.
        name: String,
        /// The number of blocks that it needs, together with its rivals.
        needed: usize,
        /// The number of blocks that are open to them.
        open: usize,
        /// The names of other classes that need the same blocks.
        rivals: Vec<String>,
    },
    /// An item with terms of its own found no place.
    #[error("{}", say!("\"{item}\" of class \"{name}\" has no place: {why}", "类别「{name}」的「{item}」没有位置：{why}"))]
    NoPlace {
        /// The class of the item.
        class: u32,
        /// Its name.
        name: String,
        /// The name of the item.
        item: String,
        /// The reason.
        why: NoRoom,
    },
    /// A placement names an item or a day that the schedule does not have.
    #[error("{}", say!("item {} cannot be placed: the item or its day is not in the schedule", "无法安排 {}：日程中没有这一项或这一天", .0))]
    Misplaced(String),
}

/// Places all pending items of the named classes. Classes without pending items are skipped.
///
/// # Errors
/// See [`RoughBuildError`]. [`RoughBuildError::TimeNotEnough`] names the class that does not fit,
/// and means that no placement exists.
pub fn rough_build(state: &ScheduleState, classes: &[u32]) -> Result<RoughBuild, RoughBuildError> {
    rough_build_within(state, classes, &WriteOptions::default())
}

/// Places all pending items of the named classes, and nothing before [`WriteOptions::earliest`].
///
/// # Errors
/// Those of [`rough_build`].
pub fn rough_build_within(
    state: &ScheduleState,
    classes: &[u32],
    options: &WriteOptions,
) -> Result<RoughBuild, RoughBuildError> {
    if state.window.days.is_empty() {
        return Err(RoughBuildError::WindowMissing);
    }
    let jobs = jobs(state, classes)?;
    if !singly::applies(state, &jobs) {
        return built(state, &jobs, &Grid::ahead(state, options));
    }
    let PartialBuild { built, left } = singly::build(state, &jobs, options)?;
    match left.into_iter().next() {
        None => Ok(built),
        Some(left) => {
            let item = left.items.first().and_then(|item| state.task(*item));
            Err(RoughBuildError::NoPlace {
                class: left.class,
                name: left.name,
                item: item.map(|item| item.name.clone()).unwrap_or_default(),
                why: left.why,
            })
        }
    }
}

fn built(
    state: &ScheduleState,
    jobs: &[Job<'_>],
    base: &Grid,
) -> Result<RoughBuild, RoughBuildError> {
    let (placed, found) = place(jobs, base)?;
    let placed = placed.iter().map(|(item, block)| (*item, block.slot()));
    from_slots(state, jobs, placed.collect(), found)
}

fn from_slots(
    state: &ScheduleState,
    jobs: &[Job<'_>],
    mut placed: Vec<(u32, Slot)>,
    found: PlacementMethod,
) -> Result<RoughBuild, RoughBuildError> {
    placed.sort_by_key(|(item, slot)| (slot.start(), *item));
    let placements: Vec<Placement> = placed
        .iter()
        .filter_map(|(item, slot)| placement(state, *item, *slot))
        .collect();
    let changes = changes_for(state, &placements)?;
    Ok(RoughBuild {
        placements,
        changes,
        issues: issues(state, jobs),
        found,
    })
}

/// Converts placements into changes of a schedule: weeks and days of the week become day numbers,
/// and items inside a course become its guests.
///
/// # Errors
/// [`RoughBuildError::Misplaced`] names the first item that the schedule cannot take there.
pub fn changes_for(
    state: &ScheduleState,
    placements: &[Placement],
) -> Result<Vec<Change>, RoughBuildError> {
    let mut board = Board::new(state);
    let mut changes = Vec::with_capacity(placements.len());
    for placement in placements {
        let misplaced = || RoughBuildError::Misplaced(placement.task_item_id.clone());
        let mut items = state.tasks.iter().filter(|task| task.is_pending_item());
        let item = items.find(|task| task.source_id == placement.task_item_id);
        let day = state
            .window
            .days
            .iter()
            .find(|day| (day.week, day.day_of_week) == (placement.week, placement.day_of_week));
        let (Some(item), Some(day)) = (item, day) else {
            return Err(misplaced());
        };
        let (from, to) = (placement.section_from, placement.section_to);
        let slot = Slot::new(day.day_index, from, to);
        if from == 0 || to < from || to > state.window.sections.count() {
            return Err(misplaced());
        }
        let host = board.spot(slot).map_err(|_| misplaced())?;
        let status = PlacementStatus::Suggested;
        let change = Change::Place {
            task: item.state_id,
            slots: vec![slot],
            host,
            status,
        };
        board.apply(&change);
        changes.push(change);
    }
    Ok(changes)
}

/// The items with their blocks.
type PlacedItems = Vec<(u32, Block)>;

fn place(jobs: &[Job<'_>], base: &Grid) -> Result<(PlacedItems, PlacementMethod), RoughBuildError> {
    if let Some(placed) = spread::one_after_another(jobs.iter(), base) {
        return Ok((placed, PlacementMethod::InOrder));
    }
    let slack = |job: &&Job<'_>| {
        base.open_to(job.class)
            .blocks()
            .len()
            .saturating_sub(job.items.len())
    };
    let mut tightest: Vec<&Job<'_>> = jobs.iter().collect();
    tightest.sort_by_cached_key(slack);
    if let Some(placed) = spread::one_after_another(tightest.into_iter(), base) {
        return Ok((placed, PlacementMethod::TightestFirst));
    }
    Ok((assign::exactly(jobs, base)?, PlacementMethod::Exactly))
}

fn placement(state: &ScheduleState, item: u32, slot: Slot) -> Option<Placement> {
    let day = state.day(slot.day)?;
    Some(Placement {
        task_item_id: state.task(item)?.source_id.clone(),
        week: day.week,
        day_of_week: day.day_of_week,
        section_from: slot.slot_start,
        section_to: slot.slot_end,
    })
}

fn issues(state: &ScheduleState, jobs: &[Job<'_>]) -> Vec<PlacementMismatch> {
    let issue = |job: &Job<'_>| {
        let mut items = state
            .tasks
            .iter()
            .filter(|task| task.task_class_id == Some(job.class.id));
        if items.clone().any(|task| state.minutes(task).is_some()) {
            return None;
        }
        let items = u32::try_from(items.by_ref().count()).unwrap_or(u32::MAX);
        (job.class.total_slots != items.saturating_mul(2)).then(|| {
            PlacementMismatch::LengthDiffers {
                class: job.class.id,
                name: job.class.name.clone(),
                total_slots: job.class.total_slots,
                items,
            }
        })
    };
    jobs.iter().filter_map(issue).collect()
}

fn rivals_text(rivals: &[String]) -> String {
    if rivals.is_empty() {
        return String::new();
    }
    say!(
        " together with {}",
        "（连同{}）",
        rivals.join(Lang::current().pick(", ", "、"))
    )
}

#[cfg(test)]
mod tests;
