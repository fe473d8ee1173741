//! The text forms of places and days for the model.
use std::fmt::Write;

use super::{Board, DayMapping, PlacementStatus, ScheduleTask, Slot};

/// Returns `day 3, sections 5-6`.
pub(crate) fn range_text(slot: Slot) -> String {
    format!("day {}, {}", slot.day, sections_text(slot))
}

/// Returns `sections 5-6`, or `section 5`.
pub(crate) fn sections_text(slot: Slot) -> String {
    if slot.slot_start == slot.slot_end {
        format!("section {}", slot.slot_start)
    } else {
        format!("sections {}", short(slot))
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

/// Returns `1 task`, or `2 tasks`.
pub(crate) fn counted(number: usize, word: &str) -> String {
    if number == 1 {
        format!("1 {word}")
    } else {
        format!("{number} {word}s")
    }
}

/// Returns `1-2, 5-6`, or `nothing`.
pub(crate) fn list(slots: &[Slot]) -> String {
    if slots.is_empty() {
        return "nothing".to_owned();
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
        [] => "days outside the window".to_owned(),
        [(first, last)] if first == last => format!("day {first}"),
        runs => format!(
            "days {}",
            runs.iter().map(text).collect::<Vec<_>>().join(", ")
        ),
    }
}

/// Returns `day 3 (week 1, Wed 2026-09-16)`.
pub(crate) fn day_name(day: &DayMapping) -> String {
    let names = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    let index = usize::from(day.day_of_week).checked_sub(1);
    let name = index.and_then(|index| names.get(index)).unwrap_or(&"?");
    let date = if day.date.is_empty() {
        String::new()
    } else {
        format!(" {}", day.date)
    };
    format!("day {} (week {}, {name}{date})", day.day_index, day.week)
}

/// Returns `#4 "Algebra 3" [suggested]`, with its host or guest.
pub(crate) fn task_name(task: &ScheduleTask) -> String {
    let mut text = format!(
        "#{} \"{}\" [{}",
        task.state_id,
        task.name,
        status_text(task.status)
    );
    if task.locked {
        text.push_str(", locked");
    }
    // Writing to a string cannot fail.
    let _ = match (task.embed_host, task.embedded_by) {
        (Some(host), _) => write!(text, ", inside #{host}"),
        (_, Some(guest)) => write!(text, ", holds #{guest}"),
        _ if task.can_embed => write!(text, ", can hold a task"),
        _ => Ok(()),
    };
    text.push(']');
    text
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
        .map_or_else(|| format!("day {day}"), day_name);
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
    parts.push(format!("free {}", list(&board.free(day))));
    format!("{name}: {}", parts.join("; "))
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
