//! Tasks, all of some kind or one in detail.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ReadResult;
use crate::lang::Lang;
use crate::schedule::text::{named, range_text, sections, status_text, task_name, tasks};
use crate::schedule::{
    Board, PlacementStatus, ScheduleState, ScheduleTask, Slot, WriteRefusal, order,
};

/// Lists tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListTasksArgs {
    /// Only tasks of this category.
    #[schemars(extend("x-zh" = "只要这个类别的任务。"))]
    #[serde(default)]
    pub category: Option<String>,
    /// Only tasks that stand like this.
    #[schemars(extend("x-zh" = "只要这种状态的任务。"))]
    #[serde(default)]
    pub status: StatusFilter,
}

/// Which tasks to list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StatusFilter {
    /// Every task.
    #[schemars(extend("x-zh" = "所有任务。"))]
    #[default]
    All,
    /// Those that were in the calendar before.
    #[schemars(extend("x-zh" = "原本就在日程里的。"))]
    Existing,
    /// Those with a place that nobody has confirmed.
    #[schemars(extend("x-zh" = "已有位置但还没有人确认的。"))]
    Suggested,
    /// Those that want a place.
    #[schemars(extend("x-zh" = "待安排的。"))]
    Pending,
}

impl StatusFilter {
    /// Returns true if a task with this status passes.
    pub fn passes(self, status: PlacementStatus) -> bool {
        match self {
            Self::All => true,
            Self::Existing => status == PlacementStatus::Existing,
            Self::Suggested => status == PlacementStatus::Suggested,
            Self::Pending => status == PlacementStatus::Pending,
        }
    }
}

/// Shows one task in detail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetTaskInfoArgs {
    /// The id of the task.
    #[schemars(extend("x-zh" = "任务的编号。"))]
    pub task_id: u32,
}

/// A task on one line.
#[derive(Debug, Clone, Copy)]
pub struct TaskLine<'a>(pub &'a ScheduleTask);

impl std::fmt::Display for TaskLine<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let task = self.0;
        let mut parts = vec![
            format!("{} {}", task_name(task), task.category),
            sections(task.duration.into()),
        ];
        if let Some((class, order)) = task.ordered() {
            parts.push(say!(
                "order {order} in class {class}",
                "类别 {class} 中第 {order}"
            ));
        }
        if task.is_placed() {
            parts.push(say!("at {}", "在{}", places(task)));
        }
        f.write_str(&parts.join(Lang::current().pick(", ", "，")))
    }
}

/// Lists the tasks of a category and status, one per line.
pub fn list_tasks(state: &ScheduleState, args: &ListTasksArgs) -> ReadResult {
    let wanted = |task: &&ScheduleTask| {
        args.status.passes(task.status)
            && args
                .category
                .as_ref()
                .is_none_or(|category| task.category == *category)
    };
    let lines: Vec<String> = state
        .tasks
        .iter()
        .filter(wanted)
        .map(|task| TaskLine(task).to_string())
        .collect();
    let summary = tasks(lines.len());
    if lines.is_empty() {
        let mut known: Vec<&str> = state
            .tasks
            .iter()
            .map(|task| task.category.as_str())
            .collect();
        known.sort_unstable();
        known.dedup();
        let text = say!(
            "no such task; categories: {}",
            "没有这样的任务；类别有：{}",
            known.join(Lang::current().pick(", ", "、"))
        );
        return ReadResult { text, summary };
    }
    ReadResult {
        text: lines.join("\n"),
        summary,
    }
}

/// Describes one task: its place, its host or guest, and the siblings of its class between which it
/// must be.
///
/// # Errors
/// There is no such task.
pub fn get_task_info(
    state: &ScheduleState,
    args: &GetTaskInfoArgs,
) -> Result<ReadResult, WriteRefusal> {
    let board = Board::new(state);
    let task = board.known(args.task_id)?;
    let mut lines = vec![
        TaskLine(task).to_string(),
        say!("status: {}", "状态：{}", status_text(task.status)),
        if task.locked {
            say!("fixed: yes, it must stay", "固定：是，必须留在原位")
        } else {
            say!("fixed: no", "固定：否")
        },
    ];
    let name = |id: u32| {
        state.task(id).map_or_else(
            || format!("#{id}"),
            |other| say!("#{id} \"{}\"", "#{id}「{}」", other.name),
        )
    };
    lines.extend(
        task.embed_host
            .map(|host| say!("lies inside {}", "嵌在 {} 中", name(host))),
    );
    lines.extend(
        task.embedded_by
            .map(|guest| say!("holds {}", "内含 {}", name(guest))),
    );
    if task.is_open_host() {
        lines.push(say!(
            "can hold a task that lies wholly inside it",
            "可以完整地嵌入一个任务"
        ));
    }
    let bounds = order::bounds(&board, task);
    if let Some((day, section)) = bounds.after {
        lines.push(say!(
            "must begin after day {day}, section {section}",
            "必须在第 {day} 天第 {section} 节之后开始"
        ));
    }
    if let Some((day, section)) = bounds.before {
        lines.push(say!(
            "must end before day {day}, section {section}",
            "必须在第 {day} 天第 {section} 节之前结束"
        ));
    }
    let summary = named(task.state_id, &task.name);
    Ok(ReadResult {
        text: lines.join("\n"),
        summary,
    })
}

fn places(task: &ScheduleTask) -> String {
    let slots = Slot::compress(task.slots.clone());
    slots
        .into_iter()
        .map(range_text)
        .collect::<Vec<_>>()
        .join(Lang::current().pick(" and ", "和"))
}
