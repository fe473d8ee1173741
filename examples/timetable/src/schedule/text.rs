//! The text forms of places and days for the model.
use super::{Board, DayMapping, PlacementStatus, ScheduleTask, Slot};
use crate::lang::{Lang, weekday};

/// Returns `day 3, sections 5-6`, in the language that is spoken now, as all texts here.
pub(crate) fn range_text(slot: Slot) -> String {
    say!("day {}, {}", "第 {} 天{}", slot.day, sections_text(slot))
}

/// Returns `sections 5-6`, or `section 5`.
pub(crate) fn sections_text(slot: Slot) -> String {
    if slot.slot_start == slot.slot_end {
        say!("section {}", "第 {} 节", slot.slot_start)
    } else {
        say!("sections {}", "第 {} 节", short(slot))
    }
}

/// Returns `5-6`, or `5`.
pub(crate) fn short(slot: Slot) -> String {
    if slot.slot_start == slot.slot_end {
        slot.slot_start.to_string()
    } else {
        format!("{}-{}", slot.slot_start, slot.slot_end)
    }
}

/// Returns `1 task`, or `2 tasks`; the Chinese word has its measure word.
pub(crate) fn counted(number: usize, word: &str, chinese: &str) -> String {
    let end = if number == 1 { "" } else { "s" };
    match Lang::current() {
        Lang::En => format!("{number} {word}{end}"),
        Lang::Zh => format!("{number} {chinese}"),
    }
}

/// Returns `2 tasks`.
pub(crate) fn tasks(number: usize) -> String {
    counted(number, "task", "个任务")
}

/// Returns `2 sections`.
pub(crate) fn sections(number: usize) -> String {
    counted(number, "section", "节")
}

/// Joins parts, as `a, b`.
pub(crate) fn joined(parts: &[String]) -> String {
    parts.join(Lang::current().pick(", ", "、"))
}

/// Joins parts that are sentences, as `a; b`.
pub(crate) fn enumerated(parts: &[String]) -> String {
    parts.join(Lang::current().pick("; ", "；"))
}

/// Joins parts that are sentences; `none` if there are none.
pub(crate) fn or_none(parts: &[String]) -> String {
    if parts.is_empty() {
        say!("none", "无")
    } else {
        enumerated(parts)
    }
}

/// Returns `task 4 "Algebra 3"`.
pub(crate) fn named(id: u32, name: &str) -> String {
    say!("task {id} \"{name}\"", "任务 {id}「{name}」")
}

/// Returns `1-2, 5-6`, or `nothing`.
pub(crate) fn list(slots: &[Slot]) -> String {
    if slots.is_empty() {
        return say!("nothing", "无");
    }
    slots
        .iter()
        .copied()
        .map(short)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Returns `days 1-3, 5`, from days in ascending order.
pub(crate) fn days_text(days: &[u16]) -> String {
    let mut runs: Vec<(u16, u16)> = Vec::new();
    for day in days {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*day) => *last = *day,
            _ => runs.push((*day, *day)),
        }
    }
    let text = |(first, last): &(u16, u16)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
    };
    match runs.as_slice() {
        [] => say!("days outside the window", "窗口之外的日子"),
        [(first, last)] if first == last => say!("day {first}", "第 {first} 天"),
        runs => {
            let runs: Vec<String> = runs.iter().map(text).collect();
            say!("days {}", "第 {} 天", joined(&runs))
        }
    }
}

/// Returns `day 3 (week 1, Wed 2026-09-16)`.
pub(crate) fn day_name(day: &DayMapping) -> String {
    let name = weekday(Lang::current(), day.day_of_week);
    let date = if day.date.is_empty() {
        String::new()
    } else {
        format!(" {}", day.date)
    };
    say!(
        "day {} (week {}, {name}{date})",
        "第 {} 天（第 {} 周，{name}{date}）",
        day.day_index,
        day.week
    )
}

/// Returns `#4 "Algebra 3" [suggested]`, with its host or guest.
pub(crate) fn task_name(task: &ScheduleTask) -> String {
    let mut marks = vec![status_text(task.status).to_owned()];
    if task.locked {
        marks.push(say!("locked", "已锁定"));
    }
    marks.extend(match (task.embed_host, task.embedded_by) {
        (Some(host), _) => Some(say!("inside #{host}", "嵌在 #{host} 中")),
        (_, Some(guest)) => Some(say!("holds #{guest}", "内含 #{guest}")),
        _ if task.can_embed => Some(say!("can hold a task", "可嵌入任务")),
        _ => None,
    });
    let (id, name, marks) = (task.state_id, &task.name, joined(&marks));
    say!("#{id} \"{name}\" [{marks}]", "#{id}「{name}」[{marks}]")
}

pub(crate) const fn status_text(status: PlacementStatus) -> &'static str {
    match status {
        PlacementStatus::Existing => "existing",
        PlacementStatus::Suggested => "suggested",
        PlacementStatus::Pending => "pending",
    }
}

/// Describes a day on one line: the tasks with their sections, and the free sections.
pub(crate) fn day_line(board: &Board<'_>, day: u16) -> String {
    let name = board
        .state()
        .day(day)
        .map_or_else(|| say!("day {day}", "第 {day} 天"), day_name);
    let mut there: Vec<(Slot, &ScheduleTask)> = board
        .on_day(day)
        .flat_map(|task| task.slots.iter().map(move |slot| (*slot, task)))
        .filter(|(slot, _)| slot.day == day)
        .collect();
    there.sort_by_key(|(slot, task)| (*slot, task.embed_host.is_some(), task.state_id));
    let mut parts: Vec<String> = there
        .iter()
        .map(|(slot, task)| format!("{} {}", short(*slot), task_name(task)))
        .collect();
    parts.push(say!("free {}", "空闲 {}", list(&board.free(day))));
    say!("{name}: {}", "{name}：{}", enumerated(&parts))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{host, state, suggested};
    use super::*;

    #[test]
    fn days_read_as_runs() {
        assert_eq!(days_text(&[3]), "day 3");
        assert_eq!(days_text(&[1, 2, 3, 5]), "days 1-3, 5");
        assert_eq!(days_text(&[]), "days outside the window");
    }

    #[test]
    fn a_day_says_who_lies_where_and_what_is_free() {
        let mut tasks = vec![
            host(1, "Physics", 2, 1, 2),
            suggested(2, 1, 1, Slot::new(2, 1, 2)),
        ];
        tasks[0].embedded_by = Some(2);
        tasks[1].embed_host = Some(1);
        tasks.push(host(3, "Music", 2, 5, 5));
        let now = state(7, tasks);
        assert_eq!(
            day_line(&Board::new(&now), 2),
            "day 2 (week 1, Tue 2026-09-15): 1-2 #1 \"Physics\" [existing, holds #2]; \
             1-2 #2 \"Item 2\" [suggested, inside #1]; \
             5 #3 \"Music\" [existing, can hold a task]; free 3-4, 6-12"
        );
    }
}
