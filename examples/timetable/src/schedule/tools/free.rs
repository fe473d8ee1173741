//! The places for a task of some length.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ReadResult, check_length, known_day};
use crate::schedule::text::{day_name, range_text};
use crate::schedule::{Board, ScheduleState, Slot, WriteRefusal};

/// The number of days listed when nothing is long enough.
const LARGEST_SHOWN: usize = 10;

/// Finds free ranges of at least some length.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FindFreeArgs {
    /// How many consecutive sections are needed, 1 to 12.
    #[schemars(extend("x-zh" = "需要连续多少节，1 到 12。"))]
    pub duration: u8,
    /// Only this day.
    #[schemars(extend("x-zh" = "只看这一天。"))]
    #[serde(default)]
    pub day: Option<u16>,
    /// From this day on.
    #[schemars(extend("x-zh" = "从这一天起。"))]
    #[serde(default)]
    pub day_start: Option<u16>,
    /// Up to this day.
    #[schemars(extend("x-zh" = "到这一天为止。"))]
    #[serde(default)]
    pub day_end: Option<u16>,
}

/// Lists free ranges that are long enough, then courses that could hold the task; if there are
/// neither, the largest free range of each day.
///
/// # Errors
/// Days outside the window, or a duration that no day has.
pub fn find_free(state: &ScheduleState, args: &FindFreeArgs) -> Result<ReadResult, WriteRefusal> {
    let duration = args.duration;
    check_length(state, "duration", duration)?;
    let board = Board::new(state);
    let days = days(&board, args)?;
    let long_enough = |slot: &Slot| slot.sections() >= duration;
    let free: Vec<Slot> = days
        .iter()
        .flat_map(|day| board.free(*day))
        .filter(long_enough)
        .collect();
    let hosts: Vec<String> = days
        .iter()
        .flat_map(|day| board.open_hosts(*day))
        .filter(|(_, slot)| slot.sections() >= duration)
        .map(|(task, slot)| {
            say!(
                "{} inside #{} \"{}\"",
                "{}，在 #{}「{}」中",
                range_text(slot),
                task.state_id,
                task.name
            )
        })
        .collect();
    if free.is_empty() && hosts.is_empty() {
        return Ok(largest(&board, &days, duration));
    }
    let mut lines = vec![say!(
        "free ranges of at least {duration} sections:",
        "至少 {duration} 节的空闲："
    )];
    if free.is_empty() {
        lines.push(say!("none", "无"));
    }
    lines.extend(free.iter().copied().map(range_text));
    if !hosts.is_empty() {
        lines.push(say!(
            "courses that can hold the task:",
            "可以嵌入任务的课程："
        ));
        lines.extend(hosts.iter().cloned());
    }
    let summary = say!(
        "{} free ranges, {} inside courses",
        "{} 段空闲，课程内 {} 段",
        free.len(),
        hosts.len()
    );
    Ok(ReadResult {
        text: lines.join("\n"),
        summary,
    })
}

fn largest(board: &Board<'_>, days: &[u16], duration: u8) -> ReadResult {
    let mut lines = vec![say!(
        "no free range of {duration} sections; the largest free ranges:",
        "没有 {duration} 节的空闲；最大的空闲："
    )];
    // The earliest of equally large ranges is shown.
    let largest = |day: &u16| {
        board
            .free(*day)
            .into_iter()
            .rev()
            .max_by_key(Slot::sections)
    };
    lines.extend(
        days.iter()
            .filter_map(largest)
            .take(LARGEST_SHOWN)
            .map(|slot| {
                let name = board
                    .state()
                    .day(slot.day)
                    .map(day_name)
                    .unwrap_or_default();
                say!("{name}: {}", "{name}：{}", range_text(slot))
            }),
    );
    if lines.len() == 1 {
        lines.push(say!("none, all sections are taken", "无，全部占满"));
    }
    let summary = say!(
        "no free range of {duration} sections",
        "没有 {duration} 节的空闲"
    );
    ReadResult {
        text: lines.join("\n"),
        summary,
    }
}

fn days(board: &Board<'_>, args: &FindFreeArgs) -> Result<Vec<u16>, WriteRefusal> {
    if let Some(day) = args.day {
        if args.day_start.is_some() || args.day_end.is_some() {
            return Err(WriteRefusal::argument(
                "day",
                say!(
                    "give either day, or day_start and day_end",
                    "请给 day，或者 day_start 和 day_end"
                ),
            ));
        }
        return Ok(vec![known_day(board, day)?]);
    }
    let known = board.state().window.days.iter().map(|day| day.day_index);
    let (first, last) = (args.day_start.unwrap_or(1), args.day_end);
    let last = last.unwrap_or_else(|| board.state().last_day());
    for end in [args.day_start, args.day_end].into_iter().flatten() {
        known_day(board, end)?;
    }
    if first > last {
        return Err(WriteRefusal::argument(
            "day_start",
            say!(
                "day_start must not be after day_end",
                "day_start 不能晚于 day_end"
            ),
        ));
    }
    Ok(known.filter(|day| (first..=last).contains(day)).collect())
}
