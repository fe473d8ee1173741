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
    #[error("{}", say!("there is no task {}; list_tasks shows the ids", "没有任务 {}；list_tasks 会列出编号", .0))]
    UnknownTask(u32),
    /// The window does not have this day.
    #[error("{}", say!("there is no day {day}; days go from 1 to {last}", "没有第 {day} 天；可用的是第 1 天到第 {last} 天"))]
    UnknownDay {
        /// The day asked for.
        day: u16,
        /// The last day of the window.
        last: u16,
    },
    /// The range does not fit into sections 1 to 12.
    #[error("{}", say!(
        "{duration} sections from section {start} on do not fit into a day; the first section can be 1 to {latest}",
        "从第 {start} 节起的 {duration} 节放不进一天；首节可以是 1 到 {latest}"
    ))]
    OutsideDay {
        /// The first section asked for.
        start: u8,
        /// The number of sections that the task takes.
        duration: u8,
        /// The latest section at which it could begin; 0 if it is longer than a day.
        latest: u8,
    },
    /// An argument makes no sense.
    #[error("{}", say!("{argument}: {allowed}", "{argument}：{allowed}"))]
    Argument {
        /// The name of the argument.
        argument: &'static str,
        /// The allowed values.
        allowed: String,
    },
    /// Only pending tasks can be placed.
    #[error("{}", say!("task {} already has a place; use move to give it another one", "任务 {} 已有位置；要换位置请用 move", .0))]
    NotPending(u32),
    /// The task has no place.
    #[error("{}", say!("task {} has no place yet; use place", "任务 {} 还没有位置；请用 place", .0))]
    NotPlaced(u32),
    /// The task must stay where it is.
    #[error("{}", say!("task {task} \"{name}\" is a fixed course and must stay where it is", "任务 {task}「{name}」是固定课程，必须留在原位"))]
    Locked {
        /// The task.
        task: u32,
        /// Its name.
        name: String,
    },
    /// Only suggested tasks may be touched.
    #[error("{}", say!(
        "task {task} \"{name}\" was in the calendar before; only tasks with status suggested may be changed",
        "任务 {task}「{name}」原本就在日程里；只能改动状态为 suggested 的任务"
    ))]
    Existing {
        /// The task.
        task: u32,
        /// Its name.
        name: String,
    },
    /// A done task stays where it was done.
    #[error("{}", say!("task {} is marked as done and stays where it is; take the mark away first", "任务 {} 已标记为完成，留在原位；请先取消标记", .0))]
    Done(u32),
    /// The place has begun already.
    #[error("{}", say!("{} is over; task {task} can only go to a later place", "{}已经过去；任务 {task} 只能放到更晚的位置", range_text(*.slot)))]
    Past {
        /// The task.
        task: u32,
        /// The sections asked for.
        slot: Slot,
    },
    /// The person wants the time kept free.
    #[error("{}", say!(
        "{} is to be kept free; task {task} needs another place, or the person has to give the time back",
        "{}要空着；任务 {task} 需要别的位置，或由用户收回这个要求",
        range_text(*.slot)
    ))]
    KeptFree {
        /// The task.
        task: u32,
        /// The sections asked for.
        slot: Slot,
    },
    /// The task itself may not lie that late.
    #[error("{}", say!("task {task} must lie on {last} or earlier", "任务 {task} 最晚只能放在 {last}"))]
    ItemDeadline {
        /// The task.
        task: u32,
        /// The last date on which it may lie, `YYYY-MM-DD`.
        last: String,
    },
    /// The terms of the task itself do not allow the place.
    #[error("{}", say!("task {task} must not lie there: {rule}", "任务 {task} 不能放在那里：{rule}"))]
    Terms {
        /// The task.
        task: u32,
        /// The term that is broken.
        rule: BrokenRule,
    },
    /// The task has to lie after another one.
    #[error("{}", say!(
        "task {task} has to lie after task {before}, which ends at day {}, section {}",
        "任务 {task} 必须在任务 {before} 之后，后者在第 {} 天第 {} 节结束",
        .end.0, .end.1
    ))]
    Dependency {
        /// The task that comes later.
        task: u32,
        /// The task that comes before it.
        before: u32,
        /// The end of the earlier one.
        end: Point,
    },
    /// Another task is inside it.
    #[error("{}", say!("task {guest} lies inside task {task}; move or unplace task {guest} first", "任务 {guest} 嵌在任务 {task} 中；请先移动或取出任务 {guest}"))]
    HasGuest {
        /// The host.
        task: u32,
        /// The guest.
        guest: u32,
    },
    /// The task takes several ranges.
    #[error("{}", say!("task {} lies in several separate ranges and cannot be moved as one", "任务 {} 分成几段，不能整体移动", .0))]
    SeveralRanges(u32),
    /// The task is there already.
    #[error("{}", say!("task {} already lies there", "任务 {} 已经在那里", .0))]
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
    #[error("{}", say!(
        "task {task} (order {order}) would not keep the order of its class: it must lie {} task {sibling} (order {sibling_order}), which lies at day {}, section {}",
        "任务 {task}（顺序 {order}）会打乱所属类别的顺序：必须{}任务 {sibling}（顺序 {sibling_order}），后者在第 {} 天第 {} 节",
        if .order > .sibling_order { say!("after", "晚于") } else { say!("before", "早于") }, .at.0, .at.1
    ))]
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
    #[error("{}", say!("class \"{class}\" does not allow this place for task {task}: {rule}", "类别「{class}」不允许任务 {task} 放在这里：{rule}"))]
    ClassRule {
        /// The task.
        task: u32,
        /// The name of its class.
        class: String,
        /// The rule that is broken.
        rule: BrokenRule,
    },
    /// The current step is about other days.
    #[error("{}", say!("the current step is only about {}; day {day} must not be touched", "当前步骤只涉及{}；不得改动第 {day} 天", days_text(.allowed)))]
    OutsideScope {
        /// The day asked for.
        day: u16,
        /// The days that may be touched.
        allowed: Vec<u16>,
    },
    /// More moves in one call than allowed.
    #[error("{}", say!("{given} moves in one call; at most {limit} are allowed", "一次调用中有 {given} 个移动；最多允许 {limit} 个"))]
    TooManyMoves {
        /// The number of moves in the call.
        given: usize,
        /// The number of allowed moves.
        limit: usize,
    },
    /// A task is named twice in one call.
    #[error("{}", say!("task {} is named twice; name every task once", "任务 {} 出现了两次；每个任务只能写一次", .0))]
    Repeated(u32),
    /// The order of the person's tasks would change, which is not allowed.
    #[error("{}", say!("this changes the order of tasks, which the user has not allowed; ask the user first", "这会改变任务的顺序，用户没有允许；请先询问用户"))]
    ReorderForbidden,
    /// The two tasks of a swap differ in length.
    #[error("{}", say!("tasks {task_a} and {task_b} take {a} and {b} sections; only equal lengths can swap", "任务 {task_a} 和 {task_b} 分别占 {a} 节和 {b} 节；只有长度相同才能互换"))]
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
    #[error("{}", say!("sections {} to {} are excluded", "第 {}-{} 节已排除", .0 * 2 - 1, .0 * 2))]
    Block(u8),
    /// The day of the week is excluded.
    #[error("{}", say!("day {} of the week is excluded (1 is Monday)", "星期 {} 已排除（1 是周一）", .0))]
    DayOfWeek(u8),
    /// The day is before the first allowed date.
    #[error("{}", say!("it starts on {}", "它从 {} 开始", .0))]
    TooEarly(String),
    /// The day is after the last allowed date.
    #[error("{}", say!("it ends on {}", "它到 {} 为止", .0))]
    TooLate(String),
    /// It may only begin at this time.
    #[error("{}", say!("it begins at {}", "它在 {} 开始", .0))]
    Fixed(FixedTime),
    /// The time is closed.
    #[error("{}", say!("{} is closed to it", "{} 对它不开放", .0))]
    Closed(ClosedTime),
    /// It has to be done in one piece.
    #[error("{}", say!("it has to be done in one piece", "它必须一次做完"))]
    OnePiece,
    /// Its items must not be inside courses.
    #[error("{}", say!("its items must not lie inside courses", "它的任务不能嵌在课程里"))]
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
                | Self::KeptFree { .. }
                | Self::ReorderForbidden
        )
    }

    pub(crate) fn argument(argument: &'static str, allowed: String) -> Self {
        Self::Argument { argument, allowed }
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
    let taken = say!(
        "taken by task {with} \"{name}\"",
        "已被任务 {with}「{name}」占用"
    );
    if hosts {
        say!(
            "{taken}; a task can only lie wholly inside it",
            "{taken}；任务只能完整地嵌在其中"
        )
    } else {
        taken
    }
}
