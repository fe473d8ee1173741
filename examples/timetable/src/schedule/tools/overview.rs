//! The whole schedule at a glance.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ReadResult;
use crate::schedule::text::{
    day_line, day_name, enumerated, joined, list, or_none, range_text, task_name,
};
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
    let summary = say!(
        "{days} days, {suggested} tasks suggested, {pending} pending",
        "{days} 天，{suggested} 个任务为 suggested，{pending} 个为 pending"
    );
    let mut lines = vec![say!(
        "{days} days of {sections} sections; tasks: {existing} existing, {suggested} suggested, {pending} pending.",
        "{days} 天，每天 {sections} 节；任务：existing {existing} 个，suggested {suggested} 个，pending {pending} 个。"
    )];
    lines.extend(day_lines(&board));
    lines.push(hosts_line(&board));
    let waiting: Vec<String> = state
        .tasks
        .iter()
        .filter(|task| task.status == PlacementStatus::Pending)
        .map(|task| {
            say!(
                "{}, {} sections",
                "{}，{} 节",
                task_name(task),
                task.duration
            )
        })
        .collect();
    lines.push(say!("pending: {}", "待安排：{}", or_none(&waiting)));
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
            say!(
                "{} [{taken}/{of} taken]",
                "{} [已占 {taken}/{of}]",
                day_line(board, day.day_index)
            )
        } else {
            let free = list(&board.free(day.day_index));
            say!(
                "{}: {taken}/{of} taken; free {free}",
                "{}：已占 {taken}/{of}；空闲 {free}",
                day_name(day)
            )
        }
    };
    days.iter().map(line).collect()
}

fn hosts_line(board: &Board<'_>) -> String {
    let days = board.state().window.days.iter();
    let hosts: Vec<String> = days
        .flat_map(|day| board.open_hosts(day.day_index))
        .map(|(task, slot)| {
            let place = range_text(slot);
            say!(
                "#{} \"{}\" at {place}",
                "#{}「{}」在{place}",
                task.state_id,
                task.name
            )
        })
        .collect();
    say!("can hold a task: {}", "可嵌入任务：{}", or_none(&hosts))
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
            Strategy::Steady => say!("spread evenly", "均匀分布"),
            Strategy::Rapid => say!("as early as possible", "尽早安排"),
        },
        say!("{} sections in all", "共 {} 节", class.total_slots),
        say!(
            "{placed} of {} items placed",
            "已安排 {placed}/{} 项",
            items().count()
        ),
    ];
    rules.push(if class.allow_filler_course {
        say!("may lie inside courses", "可以嵌在课程里")
    } else {
        say!("not inside courses", "不能嵌在课程里")
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
        rules.push(say!(
            "never in sections {}",
            "避开第 {} 节",
            joined(&blocks)
        ));
    }
    if !class.excluded_days_of_week.is_empty() {
        let days: Vec<String> = class
            .excluded_days_of_week
            .iter()
            .map(ToString::to_string)
            .collect();
        rules.push(say!(
            "never on days of the week {} (1 is Monday)",
            "避开星期 {}（1 是周一）",
            joined(&days)
        ));
    }
    rules.extend(
        class
            .start_date
            .iter()
            .map(|date| say!("from {date} on", "从 {date} 起")),
    );
    rules.extend(
        class
            .end_date
            .iter()
            .map(|date| say!("until {date}", "到 {date} 为止")),
    );
    if items().any(|task: &ScheduleTask| task.task_order > 0) {
        rules.push(say!("items keep their order", "各项保持顺序"));
    }
    let (id, name, rules) = (class.id, &class.name, enumerated(&rules));
    say!(
        "class {id} \"{name}\": {rules}",
        "类别 {id}「{name}」：{rules}"
    )
}
