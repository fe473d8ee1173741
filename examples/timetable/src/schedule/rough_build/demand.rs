//! The demand for places: the pending items of every class, and the points between which each may
//! be placed.
use jiff::civil::Date;

use super::RoughBuildError;
use crate::schedule::order::Bounds;
use crate::schedule::{ScheduleState, ScheduleTask, TaskClass};

/// The pending items of a class.
#[derive(Debug)]
pub(super) struct Job<'a> {
    pub(super) class: &'a TaskClass,
    /// In the order of the class; items without a place in it come last.
    pub(super) items: Vec<Item>,
    /// The days that have items of the class already.
    pub(super) days: Vec<u16>,
}

/// A pending item.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    pub(super) id: u32,
    /// The placed siblings between which it must be. Items with the same bounds are a segment.
    pub(super) bounds: Bounds,
}

/// Returns the jobs of the named classes, each class once, without those that have no pending
/// items.
pub(super) fn jobs<'a>(
    state: &'a ScheduleState,
    classes: &[u32],
) -> Result<Vec<Job<'a>>, RoughBuildError> {
    let mut jobs: Vec<Job<'a>> = Vec::new();
    for id in classes {
        if jobs.iter().any(|job| job.class.id == *id) {
            continue;
        }
        let class = state.class(*id).ok_or(RoughBuildError::UnknownClass(*id))?;
        check_dates(class)?;
        let job = job(state, class);
        if !job.items.is_empty() {
            jobs.push(job);
        }
    }
    Ok(jobs)
}

fn job<'a>(state: &ScheduleState, class: &'a TaskClass) -> Job<'a> {
    let of_class = || {
        state
            .tasks
            .iter()
            .filter(|task| task.task_class_id == Some(class.id))
    };
    let placed: Vec<&ScheduleTask> = of_class().filter(|task| task.is_placed()).collect();
    let mut pending: Vec<&ScheduleTask> =
        of_class().filter(|task| task.is_pending_item()).collect();
    pending.sort_by_key(|task| (task.task_order == 0, task.task_order, task.state_id));
    let item = |task: &&ScheduleTask| Item {
        id: task.state_id,
        bounds: bounds(&placed, task),
    };
    let items = pending.iter().map(item).collect();
    let days = placed
        .iter()
        .flat_map(|task| task.slots.iter().map(|slot| slot.day))
        .collect();
    Job { class, items, days }
}

/// Returns the bounds of the order constraint. A placed sibling with the same place in the order
/// counts as the earlier one, so that every segment is a run of the order.
fn bounds(placed: &[&ScheduleTask], task: &ScheduleTask) -> Bounds {
    let order = task.task_order;
    if order == 0 {
        return Bounds::default();
    }
    let siblings = || placed.iter().filter(|sibling| sibling.task_order > 0);
    let lower = siblings().filter(|sibling| sibling.task_order <= order);
    let higher = siblings().filter(|sibling| sibling.task_order > order);
    Bounds {
        after: lower
            .max_by_key(|sibling| (sibling.task_order, sibling.end()))
            .and_then(|sibling| sibling.end()),
        before: higher
            .min_by_key(|sibling| (sibling.task_order, sibling.start()))
            .and_then(|sibling| sibling.start()),
    }
}

/// Dates are compared as text, which is only right for real dates.
pub(super) fn check_dates(class: &TaskClass) -> Result<(), RoughBuildError> {
    let mut dates = [&class.start_date, &class.end_date].into_iter().flatten();
    match dates.find(|date| date.len() != 10 || date.parse::<Date>().is_err()) {
        None => Ok(()),
        Some(date) => Err(RoughBuildError::BadDate {
            name: class.name.clone(),
            date: date.clone(),
        }),
    }
}
