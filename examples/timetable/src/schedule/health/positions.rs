//! The other places that a task could take.
use crate::schedule::lookup::Point;
use crate::schedule::{
    Board, PlacementStatus, ScheduleTask, Slot, WriteOptions, WriteRefusal, board::mask, order,
};

/// Returns the place of a task that the diagnosis may propose to move; none for any other.
pub(super) fn movable(
    board: &Board<'_>,
    task: &ScheduleTask,
    options: &WriteOptions,
) -> Option<Slot> {
    if task.status != PlacementStatus::Suggested {
        return None;
    }
    let from = board.check_movable(task.state_id, options).ok()?;
    options.is_ahead(from.start()).then_some(from)
}

/// Returns up to `limit` other places for a task on some days, in the order of the days given and
/// near its own section first. The move tool accepts all of them.
pub(super) fn positions(
    board: &Board<'_>,
    task: &ScheduleTask,
    from: Slot,
    days: &[u16],
    limit: usize,
    options: &WriteOptions,
) -> Vec<Point> {
    let bounds = order::bounds(board, task);
    let length = from.sections();
    let sections = board.state().window.sections.count();
    let mut starts: Vec<u8> = (1..=(sections + 1).saturating_sub(length)).collect();
    starts.sort_by_key(|start| (start.abs_diff(from.slot_start), *start));
    let mut found = Vec::with_capacity(limit);
    for day in days {
        if !admits_day(board, task, from.day, *day, options) {
            continue;
        }
        let own = if *day == from.day { mask(from) } else { 0 };
        let (taken, hosts) = (board.taken(*day), board.open_hosts(*day).next().is_some());
        for start in &starts {
            let slot = Slot::starting_at(*day, *start, length);
            let (range, point) = (mask(slot), slot.start());
            let is_open = options.is_open(&slot) && bounds.admit(point, slot.end());
            if point == from.start() || !is_open {
                continue;
            }
            let guest = task.embed_host.is_some() && own & range != 0;
            let embedded = if guest || taken & !own & range != 0 {
                // The tasks at the place decide whether one is an open host, or opens when its
                // guest, this task, leaves.
                if !hosts && !guest || !enters(board, task, slot) {
                    continue;
                }
                true
            } else {
                false
            };
            if !options.class_rules || board.check_class(task, slot, embedded).is_ok() {
                found.push(point);
                if found.len() == limit {
                    return found;
                }
            }
        }
    }
    found
}

/// Returns true if the range is inside a host that is open to the task.
fn enters(board: &Board<'_>, task: &ScheduleTask, slot: Slot) -> bool {
    let mut others = board
        .overlapping(slot)
        .filter(|other| other.state_id != task.state_id);
    let (Some(host), None) = (others.next(), others.next()) else {
        return false;
    };
    let opens = host.is_open_host() || task.embed_host == Some(host.state_id);
    opens && host.slots.iter().any(|range| range.contains(&slot))
}

fn admits_day(
    board: &Board<'_>,
    task: &ScheduleTask,
    from: u16,
    to: u16,
    options: &WriteOptions,
) -> bool {
    let scope = options.scope.as_ref();
    let inside = |check: Result<(), WriteRefusal>| check.is_ok();
    if !scope.is_none_or(|scope| inside(scope.check_target(to)) && inside(scope.check_source(from)))
    {
        return false;
    }
    let Some(day) = board.state().day(to) else {
        return false;
    };
    let class = board.state().class_of(task).filter(|_| options.class_rules);
    class.is_none_or(|class| class.admits_day(day).is_ok())
}

/// Returns all days of the window, near ones first.
pub(super) fn nearest_days(board: &Board<'_>, from: u16) -> Vec<u16> {
    let mut days: Vec<u16> = board
        .state()
        .window
        .days
        .iter()
        .map(|day| day.day_index)
        .collect();
    days.sort_by_key(|day| (day.abs_diff(from), *day));
    days
}
