//! The local order constraint: the items of a class keep the order of their class, and an item lies
//! after those that it has to follow.
//!
//! Only neighbours in the order are compared. So classes interleave freely, and a schedule that
//! is out of order can be repaired one task at a time.
use super::lookup::Point;
use super::{Board, ScheduleTask, WriteRefusal};

/// The points between which a task may be placed: strictly after the first and strictly before the
/// second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bounds {
    /// The end of the nearest placed sibling before it.
    pub after: Option<Point>,
    /// The start of the nearest placed sibling after it.
    pub before: Option<Point>,
}

impl Bounds {
    /// Returns true if the range from `start` to `end` is within the bounds.
    pub fn admit(&self, start: Point, end: Point) -> bool {
        self.after.is_none_or(|after| start > after)
            && self.before.is_none_or(|before| end < before)
    }
}

/// Returns the nearest placed siblings of a task, before and after it in the order of its class.
fn neighbours<'b>(
    board: &'b Board<'_>,
    task: &ScheduleTask,
) -> (Option<&'b ScheduleTask>, Option<&'b ScheduleTask>) {
    let Some((class, order)) = task.ordered() else {
        return (None, None);
    };
    let placed = || board.siblings(class).filter(|sibling| sibling.is_placed());
    // Of several siblings with the same place in the order the most restrictive one counts.
    let lower = placed().filter(|sibling| sibling.task_order < order);
    let higher = placed().filter(|sibling| sibling.task_order > order);
    (
        lower.max_by_key(|sibling| (sibling.task_order, sibling.end())),
        higher.min_by_key(|sibling| (sibling.task_order, sibling.start())),
    )
}

/// Returns the points between which a task may be placed, given the places of its siblings.
pub fn bounds(board: &Board<'_>, task: &ScheduleTask) -> Bounds {
    let (lower, higher) = neighbours(board, task);
    let before = board.before(task.state_id).filter_map(ScheduleTask::end);
    let after = board.after(task.state_id).filter_map(ScheduleTask::start);
    Bounds {
        after: before.chain(lower.and_then(ScheduleTask::end)).max(),
        before: after.chain(higher.and_then(ScheduleTask::start)).min(),
    }
}

/// Checks that a placed task keeps the order of its class, and lies after those that it has to
/// follow. Pending tasks always do.
///
/// # Errors
/// [`WriteRefusal::Order`] names the sibling that it would pass, and [`WriteRefusal::Dependency`]
/// the task that has to come first.
pub fn check(board: &Board<'_>, task: &ScheduleTask) -> Result<(), WriteRefusal> {
    let (Some(start), Some(end)) = (task.start(), task.end()) else {
        return Ok(());
    };
    let (lower, higher) = neighbours(board, task);
    if let Some(lower) = lower.filter(|lower| lower.end().is_some_and(|point| start <= point)) {
        return Err(WriteRefusal::order(task, lower));
    }
    if let Some(higher) = higher.filter(|higher| higher.start().is_some_and(|point| end >= point)) {
        return Err(WriteRefusal::order(task, higher));
    }
    let dependency = |later: &ScheduleTask, before: &ScheduleTask| WriteRefusal::Dependency {
        task: later.state_id,
        before: before.state_id,
        end: before.end().unwrap_or_default(),
    };
    let mut before = board.before(task.state_id);
    if let Some(before) = before.find(|before| before.end().is_some_and(|point| start <= point)) {
        return Err(dependency(task, before));
    }
    let mut after = board.after(task.state_id);
    if let Some(later) = after.find(|later| later.start().is_some_and(|point| end >= point)) {
        return Err(dependency(later, task));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{item, state, suggested};
    use super::super::{Change, PlacementStatus, Slot};
    use super::*;

    fn put(board: &mut Board<'_>, task: u32, slot: Slot) {
        let status = PlacementStatus::Suggested;
        board.apply(&Change::Place {
            task,
            slots: vec![slot],
            host: None,
            status,
        });
    }

    #[test]
    fn sch_71_an_item_lies_strictly_between_its_nearest_placed_siblings() {
        let now = state(
            7,
            vec![
                suggested(1, 1, 1, Slot::new(2, 1, 2)),
                item(2, 1, 2),
                item(3, 1, 3),
                suggested(4, 1, 4, Slot::new(4, 5, 6)),
            ],
        );
        let mut board = Board::new(&now);
        let bound = Bounds {
            after: Some((2, 2)),
            before: Some((4, 5)),
        };
        assert_eq!(bounds(&board, now.task(3).unwrap()), bound);
        for (slot, fits) in [
            (Slot::new(2, 3, 4), true),
            (Slot::new(4, 3, 4), true),
            (Slot::new(2, 2, 3), false),
            (Slot::new(1, 1, 2), false),
            (Slot::new(4, 4, 5), false),
            (Slot::new(5, 1, 2), false),
        ] {
            put(&mut board, 3, slot);
            let task = board.state().task(3).unwrap();
            assert_eq!(check(&board, task).is_ok(), fits, "{slot:?}");
            assert_eq!(bound.admit(slot.start(), slot.end()), fits, "{slot:?}");
        }
    }

    #[test]
    fn sch_71_other_classes_and_items_without_order_are_free() {
        let now = state(
            7,
            vec![
                suggested(1, 1, 2, Slot::new(1, 1, 2)),
                suggested(2, 2, 1, Slot::new(5, 1, 2)),
                suggested(3, 1, 0, Slot::new(6, 1, 2)),
                suggested(4, 1, 3, Slot::new(2, 1, 2)),
            ],
        );
        let board = Board::new(&now);
        for task in &now.tasks {
            assert_eq!(check(&board, task), Ok(()));
        }
    }
}
