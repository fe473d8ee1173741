//! The tools of a model. Each is a plain function over a schedule: reads return a [`ReadResult`], writes
//! return the changes as [`WritePreview`], or the reason for making none.
mod analyze;
mod arrange;
mod available;
mod calendar;
mod compound;
mod free;
mod overview;
mod queue;
mod range;
mod targets;
mod tasks;
mod write;

use serde::Serialize;

pub use analyze::{Analysis, analyze};
pub use arrange::{ArrangeArgs, Arrangement, MarkArgs, PartStart, arrange, mark};
pub use available::{QueryAvailableSlotsArgs, SlotType, query_available_slots};
pub use calendar::DayKind;
pub use compound::{CompoundArgs, min_context_switch, spread_even};
pub use free::{FindFreeArgs, find_free};
pub use overview::{GetOverviewArgs, get_overview};
pub use queue::{
    QueueApplyHeadMoveArgs, QueueSkipHeadArgs, queue_apply_head_move, queue_pop_head,
    queue_skip_head, queue_status,
};
pub use range::{QueryRangeArgs, query_range};
pub use targets::{QueryTargetTasksArgs, query_target_tasks, target_tasks};
pub use tasks::{
    GetTaskInfoArgs, ListTasksArgs, StatusFilter, TaskLine, get_task_info, list_tasks,
};
pub use write::{
    BatchMoveArgs, MoveArgs, PlaceArgs, SwapArgs, UnplaceArgs, batch_move, move_task, place, swap,
    unplace,
};

use super::text::day_line;
use super::{Board, Change, ScheduleState, WriteRefusal};

/// The result of a read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReadResult {
    /// The answer, for the model.
    pub text: String,
    /// The answer in a few words, for a person.
    pub summary: String,
}

impl ReadResult {
    /// Lists the first of some lines.
    fn first(summary: String, mut lines: Vec<String>, limit: usize) -> Self {
        let shown = if lines.len() > limit {
            say!(", the first {limit}", "，前 {limit} 个")
        } else {
            String::new()
        };
        lines.truncate(limit);
        lines.insert(0, say!("{summary}{shown}:", "{summary}{shown}："));
        let text = lines.join("\n");
        Self { text, summary }
    }
}

/// The changes that a write would make. The schedule that it read is not modified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WritePreview {
    /// The write and the affected days after it, for the model.
    pub text: String,
    /// The write in a few words, for a person.
    pub summary: String,
    /// The changes.
    pub changes: Vec<Change>,
}

impl WritePreview {
    /// Describes a write; `board` is the schedule after it.
    fn new(board: &Board<'_>, summary: String, changes: Vec<Change>, mut days: Vec<u16>) -> Self {
        days.sort_unstable();
        days.dedup();
        let lines: Vec<String> = days.iter().map(|day| day_line(board, *day)).collect();
        let text = say!("{summary}.\n{}", "{summary}。\n{}", lines.join("\n"));
        Self {
            text,
            summary,
            changes,
        }
    }
}

/// Checks that a day has so many sections.
fn check_length(
    state: &ScheduleState,
    argument: &'static str,
    length: u8,
) -> Result<(), WriteRefusal> {
    let most = state.window.sections.count();
    if (1..=most).contains(&length) {
        return Ok(());
    }
    Err(WriteRefusal::argument(
        argument,
        say!(
            "a day has {most} sections; ask for 1 to {most}",
            "一天有 {most} 节；请求 1 到 {most} 节"
        ),
    ))
}

/// Checks that a day is in the window.
fn known_day(board: &Board<'_>, day: u16) -> Result<u16, WriteRefusal> {
    let last = board.state().last_day();
    board
        .state()
        .day(day)
        .map(|_| day)
        .ok_or(WriteRefusal::UnknownDay { day, last })
}

#[cfg(test)]
mod tests;
