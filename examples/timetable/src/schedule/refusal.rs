//! The reasons for which a tool refuses a call. The texts are for the model: they state the
//! problem, and the allowed alternatives.
use super::lookup::Point;
use super::text::{days_text, range_text};
use super::{ClosedTime, FixedTime, ScheduleTask, Slot};

/// The reasons for which nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteRefusal {
    /// There is no task with this id.
    #[error("there is no task {0}; list_tasks shows the ids")]
    UnknownTask(u32),
    /// The window does not have this day.
    #[error("there is no day {day}; days go from 1 to {last}")]
    UnknownDay {
        /// The day asked for.
        day: u16,
        /// The last day of the window.
        last: u16,
    },
    /// The range does not fit into sections 1 to 12.
    #[error(
        "{duration} sections from section {start} on do not fit into a day; the first section \
         can be 1 to {latest}"
    )]
    OutsideDay {
        /// The first section asked for.
        start: u8,
        /// The number of sections that the task takes.
        duration: u8,
        /// The latest section at which it could begin; 0 if it is longer than a day.
        latest: u8,
    },
    /// An argument makes no sense.
    #[error("{argument}: {allowed}")]
    Argument {
        /// The name of the argument.
        argument: &'static str,
        /// The allowed values.
        allowed: String,
    },
    /// Only pending tasks can be placed.
    #[error("task {0} already has a place; use move to give it another one")]
    NotPending(u32),
    /// The task has no place.
    #[error("task {0} has no place yet; use place")]
    NotPlaced(u32),
    /// The task must stay where it is.
    #[error("task {task} \"{name}\" is a fixed course and must stay where it is")]
    Locked {
        /// The task.
        task: u32,
        /// Its name.
        name: String,
    },
    /// Only suggested tasks may be touched.
    #[error(
        "task {task} \"{name}\" was in the calendar before; only tasks with status suggested may \
         be changed"
    )]
    Existing {
        /// The task.
        task: u32,
        /// Its name.
        name: String,
    },
    /// A done task stays where it was done.
    #[error("task {0} is marked as done and stays where it is; take the mark away first")]
    Done(u32),
    /// The place has begun already.
    #[error("{} is over; task {task} can only go to a later place", range_text(*.slot))]
    Past {
        /// The task.
        task: u32,
        /// The sections asked for.
        slot: Slot,
    },
    /// The task itself may not lie that late.
    #[error("task {task} must lie on {last} or earlier")]
    ItemDeadline {
        /// The task.
        task: u32,
        /// The last date on which it may lie, `YYYY-MM-DD`.
        last: String,
    },
    /// The terms of the task itself do not allow the place.
    #[error("task {task} must not lie there: {rule}")]
    Terms {
        /// The task.
        task: u32,
        /// The term that is broken.
        rule: BrokenRule,
    },
    /// The task has to lie after another one.
    #[error("task {task} has to lie after task {before}, which ends at day {}, section {}", .end.0, .end.1)]
    Dependency {
        /// The task that comes later.
        task: u32,
        /// The task that comes before it.
        before: u32,
        /// The end of the earlier one.
        end: Point,
    },
    /// Another task is inside it.
    #[error("task {guest} lies inside task {task}; move or unplace task {guest} first")]
    HasGuest {
        /// The host.
        task: u32,
        /// The guest.
        guest: u32,
    },
    /// The task takes several ranges.
    #[error("task {0} lies in several separate ranges and cannot be moved as one")]
    SeveralRanges(u32),
    /// The task is there already.
    #[error("task {0} already lies there")]
    AlreadyThere(u32),
    /// The sections are taken.
    #[error("{}: {}", range_text(*.slot), conflict_text(*.with, .name, *.hosts))]
    Conflict {
        /// The sections asked for.
        slot: Slot,
        /// The task that takes them.
        with: u32,
        /// Its name.
        name: String,
        /// True if that task could take a guest that is entirely inside it.
        hosts: bool,
    },
    /// The items of a class would be in another order than theirs.
    #[error(
        "task {task} (order {order}) would not keep the order of its class: it must lie {} task \
         {sibling} (order {sibling_order}), which lies at day {}, section {}",
        if .order > .sibling_order { "after" } else { "before" }, .at.0, .at.1
    )]
    Order {
        /// The task.
        task: u32,
        /// Its place in the order.
        order: u32,
        /// The sibling that it would pass.
        sibling: u32,
        /// The place of the sibling in the order.
        sibling_order: u32,
        /// The end of the sibling, or its start if it is the later one.
        at: Point,
    },
    /// The class of the task does not allow the place.
    #[error("class \"{class}\" does not allow this place for task {task}: {rule}")]
    ClassRule {
        /// The task.
        task: u32,
        /// The name of its class.
        class: String,
        /// The rule that is broken.
        rule: BrokenRule,
    },
    /// The current step is about other days.
    #[error("the current step is only about {}; day {day} must not be touched", days_text(.allowed))]
    OutsideScope {
        /// The day asked for.
        day: u16,
        /// The days that may be touched.
        allowed: Vec<u16>,
    },
    /// More moves in one call than allowed.
    #[error("{given} moves in one call; at most {limit} are allowed")]
    TooManyMoves {
        /// The number of moves in the call.
        given: usize,
        /// The number of allowed moves.
        limit: usize,
    },
    /// A task is named twice in one call.
    #[error("task {0} is named twice; name every task once")]
    Repeated(u32),
    /// The order of the person's tasks would change, which is not allowed.
    #[error("this changes the order of tasks, which the user has not allowed; ask the user first")]
    ReorderForbidden,
    /// The two tasks of a swap differ in length.
    #[error("tasks {task_a} and {task_b} take {a} and {b} sections; only equal lengths can swap")]
    DifferentDurations {
        /// The first task.
        task_a: u32,
        /// The second task.
        task_b: u32,
        /// The duration of the first.
        a: u8,
        /// The duration of the second.
        b: u8,
    },
}

/// A rule of a class that a place breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BrokenRule {
    /// The block of two sections is excluded.
    #[error("sections {} to {} are excluded", .0 * 2 - 1, .0 * 2)]
    Block(u8),
    /// The day of the week is excluded.
    #[error("day {0} of the week is excluded (1 is Monday)")]
    DayOfWeek(u8),
    /// The day is before the first allowed date.
    #[error("it starts on {0}")]
    TooEarly(String),
    /// The day is after the last allowed date.
    #[error("it ends on {0}")]
    TooLate(String),
    /// It may only begin at this time.
    #[error("it begins at {0}")]
    Fixed(FixedTime),
    /// The time is closed.
    #[error("{0} is closed to it")]
    Closed(ClosedTime),
    /// Its items must not be inside courses.
    #[error("its items must not lie inside courses")]
    Filler,
}

impl WriteRefusal {
    /// Returns true if a rule forbids the call, rather than a wrong place or wrong arguments: a
    /// rule refuses it again with any arguments.
    pub const fn is_rule(&self) -> bool {
        matches!(
            self,
            Self::Locked { .. }
                | Self::Existing { .. }
                | Self::OutsideScope { .. }
                | Self::TooManyMoves { .. }
                | Self::ClassRule { .. }
                | Self::Terms { .. }
                | Self::ReorderForbidden
        )
    }

    pub(crate) fn order(task: &ScheduleTask, sibling: &ScheduleTask) -> Self {
        let after = task.task_order > sibling.task_order;
        let at = if after {
            sibling.end()
        } else {
            sibling.start()
        };
        Self::Order {
            task: task.state_id,
            order: task.task_order,
            sibling: sibling.state_id,
            sibling_order: sibling.task_order,
            at: at.unwrap_or_default(),
        }
    }
}

fn conflict_text(with: u32, name: &str, hosts: bool) -> String {
    let taken = format!("taken by task {with} \"{name}\"");
    if hosts {
        format!("{taken}; a task can only lie wholly inside it")
    } else {
        taken
    }
}
