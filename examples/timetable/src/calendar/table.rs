//! A week as a table for the terminal.
use comfy_table::modifiers::UTF8_SOLID_INNER_BORDERS;
use comfy_table::presets::UTF8_FULL;
use comfy_table::{CellAlignment, ContentArrangement, Table};

use crate::schedule::{DayMapping, PlacementStatus, ScheduleState, ScheduleTask, Sections, Source};

use crate::lang::{Lang, weekday};

/// The options for showing a week.
#[derive(Debug, Clone)]
pub struct WeekTable<'a> {
    /// The times at which the sections of a day begin and end.
    pub sections: &'a Sections,
    /// The language of headings.
    pub lang: Lang,
    /// The columns of the terminal.
    pub width: u16,
}

/// The names of pending tasks that are listed before the rest is counted.
const LISTED: usize = 8;

impl WeekTable<'_> {
    /// Returns the weeks of the window, from 1.
    pub fn weeks(state: &ScheduleState) -> Vec<u16> {
        let mut weeks: Vec<u16> = state.window.days.iter().map(|day| day.week).collect();
        weeks.dedup();
        weeks
    }

    /// Draws a week: a row for each pair of sections, a column for each day. `*` marks items that
    /// are placed and not confirmed, `+` items inside a course. Pending items are listed below.
    pub fn draw(&self, state: &ScheduleState, week: u16) -> String {
        let days: Vec<&DayMapping> = state
            .window
            .days
            .iter()
            .filter(|day| day.week == week)
            .collect();
        let mut table = Table::new();
        table
            .load_preset(UTF8_FULL)
            .apply_modifier(UTF8_SOLID_INNER_BORDERS)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(self.width);
        table.set_header(self.header(week, &days));
        let sections = state.window.sections.count();
        for first in (1..=sections).step_by(2) {
            let mut row = vec![self.times(first, sections)];
            row.extend(days.iter().map(|day| cell(state, day.day_index, first)));
            table.add_row(row);
        }
        if let Some(column) = table.column_mut(0) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        format!("{}\n{}\n", table.trim_fmt(), self.footer(state))
    }

    fn header(&self, week: u16, days: &[&DayMapping]) -> Vec<String> {
        let mut header = vec![
            self.lang
                .pick(format!("Week {week}"), format!("第 {week} 周")),
        ];
        header.extend(days.iter().map(|day| {
            let name = weekday(self.lang, day.day_of_week);
            // Month and day are enough next to the weekday.
            let date = day.date.split_once('-').map_or("", |(_, date)| date);
            format!("{name}\n{date}").trim_end().to_owned()
        }));
        header
    }

    fn times(&self, first: u8, sections: u8) -> String {
        let last = sections.min(first + 1);
        let slot = crate::schedule::Slot {
            day: 1,
            slot_start: first,
            slot_end: last,
        };
        let times = self
            .sections
            .times(&slot)
            .map_or_else(String::new, |(begin, end)| {
                format!("\n{}-{}", begin.strftime("%H:%M"), end.strftime("%H:%M"))
            });
        format!("{first}-{last}{times}")
    }

    fn footer(&self, state: &ScheduleState) -> String {
        let legend = self
            .lang
            .pick("* proposed   + inside a course", "* 建议   + 嵌入课程");
        let pending: Vec<&str> = state
            .tasks
            .iter()
            .filter(|task| task.status == PlacementStatus::Pending)
            .map(|task| task.name.as_str())
            .collect();
        if pending.is_empty() {
            let nothing = self
                .lang
                .pick("nothing is left to place", "没有待安排的任务");
            return format!("{legend}   {nothing}");
        }
        let count = pending.len();
        let shown = pending.iter().take(LISTED).copied().collect::<Vec<_>>();
        let more = if count > LISTED {
            self.lang.pick(", …", "、…")
        } else {
            ""
        };
        self.lang.pick(
            format!("{legend}\nto place ({count}): {}{more}", shown.join(", ")),
            format!("{legend}\n待安排（{count}）：{}{more}", shown.join("、")),
        )
    }
}

/// Returns the labels in a pair of sections, with the section number in front of an item that takes
/// only one of the two.
fn cell(state: &ScheduleState, day: u16, first: u8) -> String {
    let mut lines: Vec<(u8, String)> = Vec::new();
    for task in &state.tasks {
        let covers = |section: u8| {
            task.slots
                .iter()
                .any(|slot| slot.day == day && (slot.slot_start..=slot.slot_end).contains(&section))
        };
        let label = label(task);
        match (covers(first), covers(first + 1)) {
            (true, true) => lines.push((first, label)),
            (true, false) => lines.push((first, format!("{first}: {label}"))),
            (false, true) => lines.push((first + 1, format!("{}: {label}", first + 1))),
            (false, false) => {}
        }
    }
    // By section; a course comes before the items inside it.
    lines.sort_by_key(|(section, _)| *section);
    let texts: Vec<String> = lines.into_iter().map(|(_, text)| text).collect();
    texts.join("\n")
}

fn label(task: &ScheduleTask) -> String {
    let inside = if task.embed_host.is_some() { "+" } else { "" };
    let proposed = task.status == PlacementStatus::Suggested && task.source == Source::TaskItem;
    let mark = if proposed { "*" } else { "" };
    format!("{mark}{inside}{}", task.name)
}

#[cfg(test)]
mod tests;
