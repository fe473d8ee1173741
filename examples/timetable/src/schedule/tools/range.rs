//! One day, or a part of it.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ReadResult, known_day};
use crate::schedule::text::{day_name, enumerated, list, range_text, short, task_name};
use crate::schedule::{Board, ScheduleState, Slot, WriteRefusal};

/// Shows a day in pairs of sections, or some of its sections one by one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueryRangeArgs {
    /// The day, from 1.
    #[schemars(extend("x-zh" = "第几天，从 1 起。"))]
    pub day: u16,
    /// The first section to show, 1 to 12; the whole day if left out.
    #[schemars(extend("x-zh" = "显示的首节，1 到 12；不写则显示整天。"))]
    #[serde(default)]
    pub slot_start: Option<u8>,
    /// The last section to show; the same as the first if left out.
    #[schemars(extend("x-zh" = "显示的末节；不写则与首节相同。"))]
    #[serde(default)]
    pub slot_end: Option<u8>,
}

/// Describes a whole day in six pairs of sections, or the named sections one by one.
///
/// # Errors
/// A day outside the window, or sections that a day does not have.
pub fn query_range(
    state: &ScheduleState,
    args: &QueryRangeArgs,
) -> Result<ReadResult, WriteRefusal> {
    let board = Board::new(state);
    let day = known_day(&board, args.day)?;
    let name = state.day(day).map(day_name).unwrap_or_default();
    let Some(start) = args.slot_start.or(args.slot_end) else {
        return Ok(whole_day(&board, day, &name));
    };
    let end = args.slot_end.unwrap_or(start);
    let last = state.window.sections.count();
    if start == 0 || end < start || end > last {
        return Err(WriteRefusal::argument(
            "slot_start, slot_end",
            say!(
                "sections go from 1 to {last}, the first before the last",
                "节次从 1 到 {last}，首节在末节之前"
            ),
        ));
    }
    let lines = (start..=end).map(|section| line(&board, Slot::new(day, section, section)));
    let text = format!("{name}\n{}", lines.collect::<Vec<_>>().join("\n"));
    Ok(ReadResult {
        text,
        summary: range_text(Slot::new(day, start, end)),
    })
}

fn whole_day(board: &Board<'_>, day: u16, name: &str) -> ReadResult {
    let mut lines = vec![name.to_owned()];
    let last = board.state().window.sections.count();
    let pairs = (1..=last).step_by(2);
    lines.extend(pairs.map(|start| line(board, Slot::new(day, start, last.min(start + 1)))));
    let free = list(&board.free(day));
    lines.push(say!("free: {free}", "空闲：{free}"));
    let hosts = board.open_hosts(day);
    let hosts: Vec<String> = hosts
        .map(|(task, slot)| format!("{} {}", short(slot), task_name(task)))
        .collect();
    if !hosts.is_empty() {
        lines.push(say!(
            "can hold a task: {}",
            "可嵌入任务：{}",
            enumerated(&hosts)
        ));
    }
    ReadResult {
        text: lines.join("\n"),
        summary: say!("day {day}: free {free}", "第 {day} 天：空闲 {free}"),
    }
}

/// Describes the tasks in these sections.
fn line(board: &Board<'_>, slot: Slot) -> String {
    let there: Vec<String> = board
        .overlapping(slot)
        .flat_map(|task| task.slots.iter().map(move |range| (task, range)))
        .filter(|(_, range)| range.overlaps(&slot))
        .map(|(task, range)| {
            // In a pair, a task may take only one of the two sections.
            let part = Slot::new(
                slot.day,
                range.slot_start.max(slot.slot_start),
                range.slot_end.min(slot.slot_end),
            );
            let only = if part == slot {
                String::new()
            } else {
                say!("{} only ", "仅 {} ", short(part))
            };
            format!("{only}{}", task_name(task))
        })
        .collect();
    let who = if there.is_empty() {
        say!("free", "空闲")
    } else {
        enumerated(&there)
    };
    say!("{}: {who}", "{}：{who}", short(slot))
}
