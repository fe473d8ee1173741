//! Repairs of a plan that was not kept: what was planned and not done gets other places.
use std::collections::BTreeSet;

use jiff::ToSpan;
use jiff::civil::{Date, DateTime};
use serde::{Deserialize, Serialize};

use super::rough_build::{PartialBuild, build_what_fits};
use super::{
    Board, Change, PlacementStatus, ScheduleState, ScheduleTask, Slot, Source, WriteOptions, order,
};

/// The days by which an end is made later, one after another, until everything fits.
const LATER: [i64; 7] = [1, 2, 3, 5, 7, 14, 28];

/// A way to make up for items that were not done. Nothing of it has happened yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repair {
    /// The way.
    pub kind: RepairKind,
    /// The items that move, with their places before and after.
    pub moves: Vec<RepairMove>,
    /// The ends that become later; empty unless the way is [`RepairKind::LaterEnd`].
    pub ends: Vec<LaterEnd>,
    /// The same as changes. The end of a class is no change of a task; it is only in `ends`.
    pub changes: Vec<Change>,
}

/// The ways to make up for items that were not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RepairKind {
    /// Only the items themselves get other places.
    Again,
    /// The items after them in their classes are planned anew with them.
    Rest,
    /// They get more time: a last date becomes later.
    LaterEnd,
    /// They are done in two parts.
    Split,
}

/// An item of a repair, with its places.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepairMove {
    /// The item.
    pub task: u32,
    /// Its places before.
    pub before: Vec<Slot>,
    /// Its places after.
    pub after: Vec<Slot>,
}

/// A last date that becomes later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaterEnd {
    /// The item whose last date it is; none for the last date of a class.
    pub task: Option<u32>,
    /// The class of the item, or the class itself.
    pub class: u32,
    /// The last date before, `YYYY-MM-DD`.
    pub before: String,
    /// The last date after.
    pub after: String,
}

impl ScheduleState {
    /// Returns the items that were planned, are over at a time, and are not marked as done.
    pub fn missed(&self, now: DateTime) -> Vec<u32> {
        let is_over = |task: &ScheduleTask| {
            let over = |slot: &Slot| {
                let date = self
                    .day(slot.day)
                    .and_then(|day| day.date.parse::<Date>().ok());
                let span = self.window.sections.span(slot, self.minutes(task));
                date.zip(span)
                    .is_some_and(|(date, (_, end))| date.to_datetime(end) <= now)
            };
            task.is_placed() && task.slots.iter().all(over)
        };
        let items = self.tasks.iter();
        let items = items.filter(|task| task.source == Source::TaskItem && !task.marks.done);
        items
            .filter(|task| is_over(task))
            .map(|task| task.state_id)
            .collect()
    }
}

/// Returns up to three ways to give items other places, from [`WriteOptions::earliest`] on, the one
/// that moves least first. Each of them places all the items within all rules and terms, and moves
/// nothing that is done, fixed or over; none is found if there is no way.
///
/// For what was missed, the earliest point is now; for "not today any more" it is the next morning.
pub fn repairs(state: &ScheduleState, items: &[u32], options: &WriteOptions) -> Vec<Repair> {
    let items: BTreeSet<u32> = items
        .iter()
        .copied()
        .filter(|id| is_repairable(state, *id))
        .collect();
    if items.is_empty() {
        return vec![];
    }
    let rest = with_rest(state, &items, options);
    let again = replanned(state, &items, options);
    if let Some(again) = &again
        && again.left.is_empty()
    {
        return vec![repair(state, RepairKind::Again, &again.after, vec![])];
    }
    let mut found = vec![];
    let whole = replanned(state, &rest, options);
    if let Some(whole) = whole.filter(|whole| whole.left.is_empty()) {
        found.push(repair(state, RepairKind::Rest, &whole.after, vec![]));
    }
    found.extend(later(state, &items, options));
    found.extend(again.and_then(|again| split(state, &again, options)));
    found
}

fn is_repairable(state: &ScheduleState, id: u32) -> bool {
    state.task(id).is_some_and(|task| {
        task.source == Source::TaskItem
            && !task.marks.done
            && !task.locked
            && task.task_class_id.is_some()
    })
}

/// Returns the items with everything that follows them and has not begun.
fn with_rest(
    state: &ScheduleState,
    items: &BTreeSet<u32>,
    options: &WriteOptions,
) -> BTreeSet<u32> {
    let mut all = items.clone();
    for task in items.iter().filter_map(|id| state.task(*id)) {
        let follows = |other: &&ScheduleTask| {
            let of_class =
                other.task_class_id == task.task_class_id && other.task_order > task.task_order;
            let ahead = other.start().is_some_and(|start| options.is_ahead(start));
            (of_class || other.terms.after.contains(&task.state_id)) && ahead
        };
        let others = state
            .tasks
            .iter()
            .filter(follows)
            .map(|other| other.state_id);
        all.extend(others.filter(|id| is_repairable(state, *id)));
    }
    all
}

/// A schedule in which some items have other places.
struct ReplannedSchedule {
    after: ScheduleState,
    left: Vec<u32>,
}

fn replanned(
    state: &ScheduleState,
    items: &BTreeSet<u32>,
    options: &WriteOptions,
) -> Option<ReplannedSchedule> {
    let mut bare = state.clone();
    for id in items {
        bare.apply(&Change::Unplace { task: *id });
    }
    let mut classes: Vec<u32> = items
        .iter()
        .filter_map(|id| state.task(*id)?.task_class_id)
        .collect();
    classes.sort_unstable();
    classes.dedup();
    let mut after = bare.clone();
    for task in &mut bare.tasks {
        // Other pending items of the classes are not asked about: done ones want no place.
        task.marks.done |= task.is_pending_item() && !items.contains(&task.state_id);
    }
    let PartialBuild { built, left } = build_what_fits(&bare, &classes, options).ok()?;
    for change in &built.changes {
        after.apply(&with_status(state, change));
    }
    let left = left.into_iter().flat_map(|left| left.items).collect();
    Some(ReplannedSchedule { after, left })
}

/// Returns a change that leaves an agreed item agreed.
fn with_status(state: &ScheduleState, change: &Change) -> Change {
    let mut change = change.clone();
    if let Change::Place { task, status, .. } = &mut change
        && let Some(known) = state.task(*task).filter(|known| known.is_placed())
    {
        *status = known.status;
    }
    change
}

/// Returns the difference of two schedules as a repair.
fn repair(
    state: &ScheduleState,
    kind: RepairKind,
    after: &ScheduleState,
    ends: Vec<LaterEnd>,
) -> Repair {
    let (mut moves, mut changes) = (vec![], vec![]);
    for task in &after.tasks {
        let Some(known) = state.task(task.state_id) else {
            continue;
        };
        if known.marks != task.marks {
            changes.push(Change::Mark {
                task: task.state_id,
                marks: task.marks.clone(),
            });
        }
        if (&known.slots, known.embed_host) != (&task.slots, task.embed_host) {
            changes.push(Change::restoring(task));
            moves.push(RepairMove {
                task: task.state_id,
                before: known.slots.clone(),
                after: task.slots.clone(),
            });
        }
    }
    Repair {
        kind,
        moves,
        ends,
        changes,
    }
}

/// Finds the smallest number of days by which the ends of the items have to be later.
fn later(state: &ScheduleState, items: &BTreeSet<u32>, options: &WriteOptions) -> Option<Repair> {
    LATER.iter().find_map(|days| {
        let mut extended = state.clone();
        let mut ends = vec![];
        for id in items {
            ends.extend(later_item(&mut extended, *id, *days));
            ends.extend(later_class(&mut extended, *id, *days));
        }
        if ends.is_empty() {
            return None;
        }
        let replanned = replanned(&extended, items, options)?;
        let fits = replanned.left.is_empty();
        fits.then(|| repair(state, RepairKind::LaterEnd, &replanned.after, ends))
    })
}

fn later_item(state: &mut ScheduleState, id: u32, days: i64) -> Option<LaterEnd> {
    let task = state.tasks.iter_mut().find(|task| task.state_id == id)?;
    let before = task.marks.deadline.clone()?;
    let after = shifted(&before, days)?;
    task.marks.deadline = Some(after.clone());
    Some(LaterEnd {
        task: Some(id),
        class: task.task_class_id?,
        before,
        after,
    })
}

fn later_class(state: &mut ScheduleState, id: u32, days: i64) -> Option<LaterEnd> {
    let class = state.task(id)?.task_class_id?;
    let last = state.window.days.iter().map(|day| day.date.clone()).max()?;
    let class = state
        .task_classes
        .iter_mut()
        .find(|known| known.id == class)?;
    // An end behind the last day forbids nothing, and one that was moved is not moved again.
    let before = class.end_date.clone().filter(|end| *end < last)?;
    let after = shifted(&before, days)?.min(last);
    class.end_date = Some(after.clone());
    Some(LaterEnd {
        task: None,
        class: class.id,
        before,
        after,
    })
}

fn shifted(date: &str, days: i64) -> Option<String> {
    let date: Date = date.parse().ok()?;
    Some(date.checked_add(days.days()).ok()?.to_string())
}

/// Returns the first two free ranges in which an item can be done in parts.
pub(super) fn in_parts(board: &Board<'_>, id: u32, options: &WriteOptions) -> Option<[Slot; 2]> {
    let task = board.state().task(id)?;
    let whole = board.state().may_split(task) == Some(false);
    if whole || task.terms.at.is_some() {
        return None;
    }
    let [first, second] = board.state().parts(task)?;
    let first = part(board, task, first, None, options)?;
    let second = part(board, task, second, Some(first), options)?;
    Some([first, second])
}

/// Puts each item that found no place into two ranges.
fn split(
    state: &ScheduleState,
    again: &ReplannedSchedule,
    options: &WriteOptions,
) -> Option<Repair> {
    let mut board = Board::new(&again.after);
    for id in &again.left {
        let [first, second] = in_parts(&board, *id, options)?;
        let status = state.task(*id).filter(|known| known.is_placed());
        let change = Change::Place {
            task: *id,
            slots: vec![first, second],
            host: None,
            status: status.map_or(PlacementStatus::Suggested, |known| known.status),
        };
        board.apply(&change);
    }
    Some(repair(
        state,
        RepairKind::Split,
        &board.into_state(),
        vec![],
    ))
}

/// Returns the first free range of this length for an item, after another part of it.
fn part(
    board: &Board<'_>,
    task: &ScheduleTask,
    length: u8,
    after: Option<Slot>,
    options: &WriteOptions,
) -> Option<Slot> {
    let bounds = order::bounds(board, task);
    let window = &board.state().window;
    let starts = window.sections.starts(length);
    let fits = |slot: &Slot| {
        options.is_open(slot)
            && after.is_none_or(|after| slot.start() > after.end())
            && bounds.admit(slot.start(), slot.end())
            && board.check_class(task, *slot, false).is_ok()
            && board.spot(*slot).is_ok_and(|host| host.is_none())
    };
    let days = window.days.iter().map(|day| day.day_index);
    days.flat_map(|day| {
        starts
            .iter()
            .map(move |start| Slot::starting_at(day, *start, length))
    })
    .find(fits)
}

#[cfg(test)]
mod tests;
