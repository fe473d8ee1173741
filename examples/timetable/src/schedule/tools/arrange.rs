//! Several tasks at once, wherever they lie, and marks on tasks.
use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::WritePreview;
use crate::schedule::text::{joined, named};
use crate::schedule::{
    Board, Change, Marks, PlacementStatus, ScheduleState, WriteOptions, WriteRefusal,
    relocate::Target,
};

/// Gives tasks their places, takes others out of the schedule, all of it or nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArrangeArgs {
    /// The tasks with their new places.
    #[schemars(extend("x-zh" = "任务及其新位置。"))]
    pub tasks: Vec<Arrangement>,
}

/// The new place of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arrangement {
    /// The id of a task.
    #[schemars(extend("x-zh" = "任务的编号。"))]
    pub task_id: u32,
    /// The day, from 1; without it, the task is taken out of the schedule.
    #[schemars(extend("x-zh" = "第几天，从 1 起；不写则把任务取出日程。"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day: Option<u16>,
    /// The first section, 1 to 12; needed with a day.
    #[schemars(extend("x-zh" = "首节，1 到 12；写了 day 就必须写。"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot_start: Option<u8>,
    /// The start of a second part, for a task that is done in two: the first part takes the larger
    /// half.
    #[schemars(extend("x-zh" = "分两次完成时，第二部分的起点；第一部分占较大的一半。"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<PartStart>,
}

/// The start of a part of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PartStart {
    /// The day, from 1.
    #[schemars(extend("x-zh" = "第几天，从 1 起。"))]
    pub day: u16,
    /// The first section, 1 to 12.
    #[schemars(extend("x-zh" = "首节，1 到 12。"))]
    pub slot_start: u8,
}

/// Marks a task as done or not done, or sets the last date on which it may lie.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MarkArgs {
    /// The ids of the tasks.
    #[schemars(extend("x-zh" = "任务的编号。"))]
    pub task_ids: Vec<u32>,
    /// True if they are done, false if they are not; without it, that stays as it is.
    #[schemars(extend("x-zh" = "完成为 true，未完成为 false；不写则不变。"))]
    pub done: Option<bool>,
    /// The last date, as YYYY-MM-DD; empty to take it away. Without it, it stays as it is.
    #[schemars(extend("x-zh" = "最晚日期，形如 YYYY-MM-DD；空文本表示取消。不写则不变。"))]
    pub deadline: Option<String>,
}

/// Gives tasks their places, placed or pending, and takes others out; all of it or nothing.
///
/// # Errors
/// The reason why nothing changes.
pub fn arrange(
    state: &ScheduleState,
    args: &ArrangeArgs,
    options: &WriteOptions,
) -> Result<WritePreview, WriteRefusal> {
    if args.tasks.is_empty() {
        return Err(WriteRefusal::argument(
            "tasks",
            say!("name at least one task", "请至少写一个任务"),
        ));
    }
    let mut board = Board::new(state);
    let (mut days, mut targets, mut changes) = (vec![], vec![], vec![]);
    let mut divided = vec![];
    let mut seen = BTreeSet::new();
    for wanted in &args.tasks {
        let task = board.known(wanted.task_id)?;
        if !seen.insert(wanted.task_id) {
            return Err(WriteRefusal::Repeated(wanted.task_id));
        }
        days.extend(task.slots.iter().map(|slot| slot.day));
        if task.is_placed() {
            board.check_leaving(wanted.task_id, options)?;
        } else if task.marks.done {
            return Err(WriteRefusal::Done(wanted.task_id));
        }
        match (wanted.day, wanted.slot_start) {
            (Some(day), Some(start)) => {
                days.push(day);
                let target = |day, start| Target {
                    task: wanted.task_id,
                    day,
                    start,
                };
                if let Some(rest) = wanted.rest {
                    days.push(rest.day);
                    let parts = [target(day, start), target(rest.day, rest.slot_start)];
                    for part in parts {
                        board.check_scope(task, part, options)?;
                    }
                    divided.push((parts, task.is_placed().then_some(task.status)));
                } else {
                    targets.push(target(day, start));
                }
            }
            (None, None) => changes.push(Change::Unplace {
                task: wanted.task_id,
            }),
            _ => {
                return Err(WriteRefusal::argument(
                    "slot_start",
                    say!(
                        "day and slot_start belong together",
                        "day 和 slot_start 必须一起给出"
                    ),
                ));
            }
        }
    }
    if let Some(scope) = &options.scope {
        for change in &changes {
            let slots = board.known(change.task())?.slots.clone();
            slots
                .iter()
                .try_for_each(|slot| scope.check_source(slot.day))?;
        }
    }
    for change in &changes {
        board.apply(change);
    }
    for ([first, _], _) in &divided {
        board.apply(&Change::Unplace { task: first.task });
    }
    changes.extend(board.relocate(&targets, options)?.changes);
    let placed = targets.len() + divided.len();
    for (parts, status) in divided {
        let status = status.unwrap_or(PlacementStatus::Suggested);
        changes.push(board.divide(parts, status, options)?);
    }
    let out = args.tasks.len() - placed;
    let summary = say!(
        "arranged {placed} tasks, took out {out}",
        "安排了 {placed} 个任务，取出 {out} 个"
    );
    Ok(WritePreview::new(&board, summary, changes, days))
}

/// Marks tasks. Their places stay.
///
/// # Errors
/// The reason why nothing changes.
pub fn mark(state: &ScheduleState, args: &MarkArgs) -> Result<WritePreview, WriteRefusal> {
    let board = Board::new(state);
    if args.task_ids.is_empty() || args.done.is_none() && args.deadline.is_none() {
        return Err(WriteRefusal::argument(
            "task_ids",
            say!(
                "name tasks, and done or deadline",
                "请写明任务，以及 done 或 deadline"
            ),
        ));
    }
    if let Some(date) = args.deadline.as_ref().filter(|date| !date.is_empty())
        && (date.len() != 10 || date.parse::<jiff::civil::Date>().is_err())
    {
        return Err(WriteRefusal::argument(
            "deadline",
            say!(
                "{date:?} is no date; allowed is YYYY-MM-DD, or an empty text",
                "{date:?} 不是日期；可以是 YYYY-MM-DD，或空文本"
            ),
        ));
    }
    let (mut changes, mut names, mut days) = (vec![], vec![], vec![]);
    for id in &args.task_ids {
        let task = board.known(*id)?;
        let mut marks = Marks {
            done: args.done.unwrap_or(task.marks.done),
            ..task.marks.clone()
        };
        if let Some(date) = &args.deadline {
            marks.deadline = Some(date.clone()).filter(|date| !date.is_empty());
        }
        if task.locked {
            return Err(WriteRefusal::Locked {
                task: *id,
                name: task.name.clone(),
            });
        }
        names.push(named(*id, &task.name));
        days.extend(task.slots.iter().map(|slot| slot.day));
        changes.push(Change::Mark { task: *id, marks });
    }
    let summary = say!("marked {}", "已标记{}", joined(&names));
    Ok(WritePreview::new(&board, summary, changes, days))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::fixture::{course, item, state, suggested};
    use crate::schedule::{Slot, differences};

    fn to(task_id: u32, place: Option<(u16, u8)>) -> Arrangement {
        Arrangement {
            task_id,
            day: place.map(|at| at.0),
            slot_start: place.map(|at| at.1),
            rest: None,
        }
    }

    #[test]
    fn tasks_are_placed_moved_and_taken_out_together() {
        let now = state(
            7,
            vec![
                course(1, "Physics", 1, 1, 2),
                suggested(2, 1, 1, Slot::new(2, 1, 2)),
                suggested(3, 2, 1, Slot::new(3, 1, 2)),
                item(4, 3, 1),
            ],
        );
        let options = WriteOptions::default();
        let args = ArrangeArgs {
            tasks: vec![to(2, Some((3, 1))), to(3, None), to(4, Some((2, 1)))],
        };
        let made = arrange(&now, &args, &options).unwrap();
        let mut after = now.clone();
        for change in &made.changes {
            after.apply(change);
        }
        let place = |id: u32| after.task(id).unwrap().slots.first().map(Slot::start);
        assert_eq!(
            [place(2), place(3), place(4)],
            [Some((3, 1)), None, Some((2, 1))]
        );
        let taken = ArrangeArgs {
            tasks: vec![to(4, Some((1, 1)))],
        };
        assert!(matches!(
            arrange(&now, &taken, &options),
            Err(WriteRefusal::Conflict { .. })
        ));
    }

    #[test]
    fn a_task_is_done_in_two_parts_and_brought_back() {
        let now = state(
            7,
            vec![
                course(1, "Physics", 1, 1, 2),
                suggested(2, 1, 1, Slot::new(2, 1, 3)),
            ],
        );
        let options = WriteOptions::default();
        let parts = |rest| ArrangeArgs {
            tasks: vec![Arrangement {
                rest: Some(rest),
                ..to(2, Some((3, 1)))
            }],
        };
        let rest = PartStart {
            day: 4,
            slot_start: 5,
        };
        let mut after = now.clone();
        for change in arrange(&now, &parts(rest), &options).unwrap().changes {
            after.apply(&change);
        }
        let slots = |state: &ScheduleState| state.task(2).unwrap().slots.clone();
        assert_eq!(slots(&after), [Slot::new(3, 1, 2), Slot::new(4, 5, 5)]);
        let back = ArrangeArgs {
            tasks: vec![to(2, Some((2, 1)))],
        };
        for change in arrange(&after, &back, &options).unwrap().changes {
            after.apply(&change);
        }
        assert_eq!(after, now);
        let earlier = PartStart {
            day: 2,
            slot_start: 5,
        };
        let taken = PartStart {
            day: 8,
            slot_start: 1,
        };
        for wrong in [earlier, taken] {
            assert!(arrange(&now, &parts(wrong), &options).is_err(), "{wrong:?}");
        }
        let closed = options.closed(vec![Slot::new(4, 5, 6)]);
        let slot = Slot::new(4, 5, 5);
        let refused = WriteRefusal::KeptFree { task: 2, slot };
        assert_eq!(arrange(&now, &parts(rest), &closed), Err(refused));
    }

    #[test]
    fn a_mark_is_a_difference_and_a_done_item_stays() {
        let now = state(
            7,
            vec![suggested(2, 1, 1, Slot::new(2, 1, 2)), item(3, 1, 2)],
        );
        let args = MarkArgs {
            task_ids: vec![2],
            done: Some(true),
            deadline: None,
        };
        let made = mark(&now, &args).unwrap();
        let mut after = now.clone();
        after.apply(&made.changes[0]);
        assert_eq!(differences(&now, &after).len(), 1);
        let options = WriteOptions::default();
        let moves = ArrangeArgs {
            tasks: vec![to(2, Some((3, 1)))],
        };
        assert_eq!(
            arrange(&after, &moves, &options),
            Err(WriteRefusal::Done(2))
        );
        assert_eq!(after.task(2).unwrap().status, PlacementStatus::Suggested);
        let dated = MarkArgs {
            task_ids: vec![3],
            deadline: Some("2026-09-15".into()),
            ..MarkArgs::default()
        };
        after.apply(&mark(&after, &dated).unwrap().changes[0]);
        let late = ArrangeArgs {
            tasks: vec![to(3, Some((4, 1)))],
        };
        assert!(matches!(
            arrange(&after, &late, &options),
            Err(WriteRefusal::ItemDeadline { .. })
        ));
    }
}
