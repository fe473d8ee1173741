//! Tools over the queue of tasks that a request is about.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MoveArgs, PlaceArgs, ReadResult, TaskLine, WritePreview, move_task, place};
use crate::schedule::{
    Queue, ScheduleState, ScheduleTask, WriteOptions, WriteRefusal,
    text::{named, tasks},
};

/// The number of waiting tasks that are shown.
const SHOWN: usize = 5;

/// Gives the current task of the queue its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueApplyHeadMoveArgs {
    /// The day, from 1.
    #[schemars(extend("x-zh" = "第几天，从 1 起。"))]
    pub new_day: u16,
    /// The first section, 1 to 12.
    #[schemars(extend("x-zh" = "首节，1 到 12。"))]
    pub new_slot_start: u8,
}

/// Leaves the current task of the queue where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueSkipHeadArgs {
    /// Why it stays.
    #[schemars(extend("x-zh" = "为什么不动。"))]
    pub reason: String,
}

/// Describes the task that becomes the current one.
///
/// # Errors
/// The queue is empty.
pub fn queue_pop_head(state: &ScheduleState, queue: &Queue) -> Result<ReadResult, WriteRefusal> {
    let task = head(state, queue)?;
    let waiting = queue.pending.len() - usize::from(queue.current.is_none());
    let tried = match queue.current {
        Some(_) if queue.attempts > 0 => say!(
            ", tried {} in vain",
            "，已试过{}未成",
            times(queue.attempts)
        ),
        _ => String::new(),
    };
    let text = say!(
        "{}{tried}; {} behind it",
        "{}{tried}；后面还有 {}",
        TaskLine(task),
        tasks(waiting)
    );
    let summary = named(task.state_id, &task.name);
    Ok(ReadResult { text, summary })
}

/// Describes the progress of the queue.
pub fn queue_status(state: &ScheduleState, queue: &Queue) -> ReadResult {
    let summary = say!("{} waiting", "{}等待中", tasks(queue.pending.len()));
    let mut lines = vec![say!(
        "{summary}, {} moved, {} skipped",
        "{summary}，已移动 {} 个，跳过 {} 个",
        queue.completed.len(),
        queue.skipped.len()
    )];
    let line = |id: u32| match state.task(id) {
        Some(task) => TaskLine(task).to_string(),
        None => say!("task {id}, which is no longer there", "任务 {id}，已不存在"),
    };
    if let Some(current) = queue.current {
        lines.push(say!("current: {}", "当前：{}", line(current)));
    }
    let next = queue.pending.iter().take(SHOWN);
    lines.extend(next.map(|id| say!("next: {}", "接着：{}", line(*id))));
    if let Some(error) = &queue.last_error {
        lines.push(say!(
            "last error ({}): {error}",
            "上次错误（{}）：{error}",
            times(queue.attempts)
        ));
    }
    ReadResult {
        text: lines.join("\n"),
        summary,
    }
}

/// Gives the current task its place: its first, or another one.
///
/// # Errors
/// No task is current, or why nothing changes.
pub fn queue_apply_head_move(
    state: &ScheduleState,
    queue: &Queue,
    args: &QueueApplyHeadMoveArgs,
    options: &WriteOptions,
) -> Result<WritePreview, WriteRefusal> {
    let Some(current) = queue.current else {
        return Err(empty(say!(
            "no task is current; queue_pop_head takes the next one",
            "没有当前任务；queue_pop_head 取出下一个"
        )));
    };
    let (new_day, new_slot_start) = (args.new_day, args.new_slot_start);
    if state.task(current).is_some_and(|task| !task.is_placed()) {
        let args = PlaceArgs {
            task_id: current,
            day: new_day,
            slot_start: new_slot_start,
        };
        return place(state, &args, options);
    }
    let args = MoveArgs {
        task_id: current,
        new_day,
        new_slot_start,
    };
    move_task(state, &args, options)
}

/// Leaves the current task, or the next one, where it is.
///
/// # Errors
/// The queue is empty, or no reason is given.
pub fn queue_skip_head(
    state: &ScheduleState,
    queue: &Queue,
    args: &QueueSkipHeadArgs,
) -> Result<ReadResult, WriteRefusal> {
    let task = head(state, queue)?;
    let reason = args.reason.trim();
    if reason.is_empty() {
        return Err(WriteRefusal::argument(
            "reason",
            say!(
                "say in a few words why the task stays",
                "请用几个字说明任务为什么不动"
            ),
        ));
    }
    let summary = say!("skipped {}", "已跳过{}", named(task.state_id, &task.name));
    let text = say!("{summary}: {reason}", "{summary}：{reason}");
    Ok(ReadResult { text, summary })
}

fn head<'a>(state: &'a ScheduleState, queue: &Queue) -> Result<&'a ScheduleTask, WriteRefusal> {
    let Some(head) = queue.head() else {
        return Err(empty(say!(
            "it is empty; query_target_tasks fills it",
            "队列是空的；query_target_tasks 会填充它"
        )));
    };
    state.task(head).ok_or(WriteRefusal::UnknownTask(head))
}

fn empty(allowed: String) -> WriteRefusal {
    WriteRefusal::argument("queue", allowed)
}

fn times(n: u32) -> String {
    if n == 1 {
        say!("once", "一次")
    } else {
        say!("{n} times", " {n} 次")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::fixture::{item, state, suggested};
    use crate::schedule::{Change, PlacementStatus, QueueUpdate, Slot};

    #[test]
    fn sch_84_the_head_is_placed_or_moved_and_the_next_five_are_shown() {
        let mut tasks = vec![suggested(1, 1, 0, Slot::new(1, 1, 2))];
        tasks.extend((2..=8).map(|id| item(id, 1, 0)));
        let now = state(7, tasks);
        let mut queue = Queue::default();
        let options = WriteOptions::default();
        let there = QueueApplyHeadMoveArgs {
            new_day: 3,
            new_slot_start: 5,
        };
        let error = queue_pop_head(&now, &queue).unwrap_err().to_string();
        assert_eq!(error, "queue: it is empty; query_target_tasks fills it");
        queue.apply(&QueueUpdate::Filled {
            tasks: (1..=8).collect(),
            reset: false,
        });
        let error = queue_apply_head_move(&now, &queue, &there, &options);
        assert!(error.unwrap_err().to_string().contains("queue_pop_head"));
        let head = queue_pop_head(&now, &queue).unwrap();
        assert!(head.text.ends_with("7 tasks behind it"), "{}", head.text);
        queue.apply(&QueueUpdate::Popped);
        let status = queue_status(&now, &queue).text;
        assert_eq!(status.matches("next: ").count(), 5, "{status}");
        for (id, status) in [
            (1, PlacementStatus::Suggested),
            (2, PlacementStatus::Suggested),
        ] {
            let written = queue_apply_head_move(&now, &queue, &there, &options).unwrap();
            let placed = Change::Place {
                task: id,
                slots: vec![Slot::new(3, 5, 6)],
                host: None,
                status,
            };
            assert_eq!(written.changes, [placed]);
            queue.apply(&QueueUpdate::Completed);
            queue.apply(&QueueUpdate::Popped);
        }
        let silent = QueueSkipHeadArgs { reason: " ".into() };
        assert!(queue_skip_head(&now, &queue, &silent).is_err());
    }
}
