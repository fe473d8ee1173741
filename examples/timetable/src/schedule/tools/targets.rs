//! The tasks that a step is about.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::calendar::{DayFilter, DayKind};
use super::{ReadResult, StatusFilter, TaskLine};
use crate::schedule::text::tasks;
use crate::schedule::{Board, ScheduleState, ScheduleTask, WriteRefusal};

/// Finds tasks by status, category and the days on which they lie.
#[derive(
    smart_default::SmartDefault, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
#[serde(deny_unknown_fields, default)]
pub struct QueryTargetTasksArgs {
    /// Only tasks that stand like this.
    #[schemars(extend("x-zh" = "只要这种状态的任务。"))]
    #[default(StatusFilter::Suggested)]
    pub status: StatusFilter,
    /// Only tasks of this category.
    #[schemars(extend("x-zh" = "只要这个类别的任务。"))]
    pub category: Option<String>,
    /// Only these tasks; all tasks if empty.
    #[schemars(extend("x-zh" = "只要这些任务；空则全部。"))]
    pub task_ids: Vec<u32>,
    /// How many to show at most.
    #[schemars(extend("x-zh" = "最多显示多少个。"))]
    #[default(16)]
    pub limit: usize,
    /// Only tasks on this day.
    #[schemars(extend("x-zh" = "只要这一天的任务。"))]
    pub day: Option<u16>,
    /// Only tasks from this day on.
    #[schemars(extend("x-zh" = "只要这一天起的任务。"))]
    pub day_start: Option<u16>,
    /// Only tasks up to this day.
    #[schemars(extend("x-zh" = "只要到这一天为止的任务。"))]
    pub day_end: Option<u16>,
    /// Only tasks on days of this kind.
    #[schemars(extend("x-zh" = "只要这类日子的任务。"))]
    #[default(DayKind::All)]
    pub day_scope: DayKind,
    /// Only tasks on these days of the week; Monday is 1.
    #[schemars(extend("x-zh" = "只要一周中这些天的任务；周一是 1。"))]
    pub day_of_week: Vec<u8>,
    /// Only tasks in these weeks.
    #[schemars(extend("x-zh" = "只要这些周的任务。"))]
    pub week_filter: Vec<u16>,
    /// Whether the tasks that are shown are put into the queue.
    #[schemars(extend("x-zh" = "显示的任务是否放入队列。"))]
    #[default(true)]
    pub enqueue: bool,
    /// Whether what is in the queue goes first.
    #[schemars(extend("x-zh" = "是否先清空队列。"))]
    pub reset_queue: bool,
}

/// Lists the tasks that pass, one per line. A task without a place passes only if there is no
/// condition on days.
///
/// # Errors
/// Days outside the window, or a task that does not exist.
pub fn query_target_tasks(
    state: &ScheduleState,
    args: &QueryTargetTasksArgs,
) -> Result<ReadResult, WriteRefusal> {
    let targets = target_tasks(state, args)?;
    let summary = tasks(targets.len());
    let targets = targets.iter().filter_map(|id| state.task(*id));
    let lines = targets.map(|task| TaskLine(task).to_string()).collect();
    Ok(ReadResult::first(summary, lines, args.limit))
}

/// Returns the ids of all tasks that pass.
///
/// # Errors
/// Days outside the window, or a task that does not exist.
pub fn target_tasks(
    state: &ScheduleState,
    args: &QueryTargetTasksArgs,
) -> Result<Vec<u32>, WriteRefusal> {
    let board = Board::new(state);
    args.task_ids
        .iter()
        .try_for_each(|id| board.known(*id).map(|_| ()))?;
    let filter = DayFilter {
        day: args.day,
        days: (args.day_start, args.day_end),
        kind: args.day_scope,
        day_of_week: &args.day_of_week,
        weeks: &args.week_filter,
        week_range: (None, None),
    };
    let days = filter.days(&board)?;
    let any_day = days.len() == state.window.days.len();
    let is_there =
        |task: &ScheduleTask| any_day || task.slots.iter().any(|slot| days.contains(&slot.day));
    let wanted = |task: &&ScheduleTask| {
        args.status.passes(task.status)
            && args
                .category
                .as_ref()
                .is_none_or(|category| task.category == *category)
            && (args.task_ids.is_empty() || args.task_ids.contains(&task.state_id))
            && is_there(task)
    };
    let wanted = state.tasks.iter().filter(wanted);
    Ok(wanted.map(|task| task.state_id).collect())
}
