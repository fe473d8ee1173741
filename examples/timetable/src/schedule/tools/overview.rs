//! The whole schedule at a glance.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ReadResult;
use crate::schedule::text::{day_line, day_name, list, task_name};
use crate::schedule::{Board, PlacementStatus, ScheduleState, ScheduleTask, Strategy, TaskClass};

/// The number of days up to which a window is shown day by day with all its tasks.
const FULL_UP_TO: usize = 30;

/// Shows the whole schedule: days, load, tasks and the rules of the classes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetOverviewArgs {}

/// Describes the whole schedule: totals, the load of every day, courses that can hold a task,
/// placed and pending tasks, and the rules of every class.
pub fn get_overview(state: &ScheduleState) -> ReadResult {
    let board = Board::new(state);
    let count = |status| {
        state
            .tasks
            .iter()
            .filter(|task| task.status == status)
            .count()
    };
    let (existing, suggested, pending) = (
        count(PlacementStatus::Existing),
        count(PlacementStatus::Suggested),
        count(PlacementStatus::Pending),
    );
    let (days, sections) = (state.window.days.len(), state.window.sections.count());
    let summary = format!("{days} days, {suggested} tasks suggested, {pending} pending");
    let mut lines = vec![format!(
        "{days} days of {sections} sections; tasks: {existing} existing, {suggested} suggested, \
         {pending} pending."
    )];
    lines.extend(day_lines(&board));
    lines.push(hosts_line(&board));
    let waiting: Vec<String> = state
        .tasks
        .iter()
        .filter(|task| task.status == PlacementStatus::Pending)
        .map(|task| format!("{}, {} sections", task_name(task), task.duration))
        .collect();
    lines.push(format!("pending: {}", or_none(&waiting)));
    for class in &state.task_classes {
        lines.push(class_line(state, class));
    }
    ReadResult {
        text: lines.join("\n"),
        summary,
    }
}

fn day_lines(board: &Board<'_>) -> Vec<String> {
    let days = &board.state().window.days;
    let (full, of) = (
        days.len() <= FULL_UP_TO,
        board.state().window.sections.count(),
    );
    let line = |day: &crate::schedule::DayMapping| {
        let taken = board.taken(day.day_index).count_ones();
        if full {
            format!("{} [{taken}/{of} taken]", day_line(board, day.day_index))
        } else {
            let free = list(&board.free(day.day_index));
            format!("{}: {taken}/{of} taken; free {free}", day_name(day))
        }
    };
    days.iter().map(line).collect()
}

fn hosts_line(board: &Board<'_>) -> String {
    let days = board.state().window.days.iter();
    let hosts: Vec<String> = days
        .flat_map(|day| board.open_hosts(day.day_index))
        .map(|(task, slot)| {
            let place = crate::schedule::text::range_text(slot);
            format!("#{} \"{}\" at {place}", task.state_id, task.name)
        })
        .collect();
    format!("can hold a task: {}", or_none(&hosts))
}

/// Describes the rules of a class, so that the model does not learn them from refusals.
fn class_line(state: &ScheduleState, class: &TaskClass) -> String {
    let items = || {
        state
            .tasks
            .iter()
            .filter(|task| task.task_class_id == Some(class.id))
    };
    let placed = items().filter(|task| task.is_placed()).count();
    let mut rules = vec![
        match class.strategy {
            Strategy::Steady => "spread evenly".to_owned(),
            Strategy::Rapid => "as early as possible".to_owned(),
        },
        format!("{} sections in all", class.total_slots),
        format!("{placed} of {} items placed", items().count()),
    ];
    rules.push(if class.allow_filler_course {
        "may lie inside courses".to_owned()
    } else {
        "not inside courses".to_owned()
    });
    if !class.excluded_slots.is_empty() {
        let blocks = class.excluded_slots.iter();
        let blocks: Vec<String> = blocks
            .map(|block| {
                format!(
                    "{}-{}",
                    (u16::from(*block) * 2).saturating_sub(1),
                    u16::from(*block) * 2
                )
            })
            .collect();
        rules.push(format!("never in sections {}", blocks.join(", ")));
    }
    if !class.excluded_days_of_week.is_empty() {
        let days: Vec<String> = class
            .excluded_days_of_week
            .iter()
            .map(ToString::to_string)
            .collect();
        rules.push(format!(
            "never on days of the week {} (1 is Monday)",
            days.join(", ")
        ));
    }
    rules.extend(
        class
            .start_date
            .iter()
            .map(|date| format!("from {date} on")),
    );
    rules.extend(class.end_date.iter().map(|date| format!("until {date}")));
    if items().any(|task: &ScheduleTask| task.task_order > 0) {
        rules.push("items keep their order".to_owned());
    }
    format!(
        "class {} \"{}\": {}",
        class.id,
        class.name,
        rules.join("; ")
    )
}

fn or_none(items: &[String]) -> String {
    if items.is_empty() {
        "none".to_owned()
    } else {
        items.join("; ")
    }
}
