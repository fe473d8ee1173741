//! Writing the placed items as an iCalendar file for other programs to import.
//!
//! The file is written here and not by a crate because the folding of lines must hold the limit of
//! 75 octets exactly, also for a line full of characters of three octets.
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use thiserror::Error;

use crate::schedule::{PlacementStatus, ScheduleState, ScheduleTask, Sections, Slot, Source};

use crate::lang::Lang;

/// The options of a calendar file besides the schedule.
#[derive(Debug, Clone)]
pub struct Export<'a> {
    /// The times at which the sections of a day begin and end.
    pub sections: &'a Sections,
    /// The zone of the schedule.
    pub zone: &'a TimeZone,
    /// The time at which the schedule was made. The same schedule and stamp give the same bytes.
    pub stamp: Timestamp,
    /// The id of the schedule, such as the name of its thread. It is part of the ids of the events,
    /// so that importing a later version moves them instead of adding them again.
    pub schedule: &'a str,
    /// The language of descriptions.
    pub lang: Lang,
}

/// A schedule that no calendar can show.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExportError {
    /// A day has no date.
    #[error("day {day} of the schedule has no date; allowed are dates such as 2026-03-02")]
    NoDate {
        /// The day.
        day: u16,
    },
    /// A place is outside of the section table.
    #[error(
        "\"{name}\" lies in sections {} to {}; allowed are those of the section table, in order",
        slot.slot_start, slot.slot_end
    )]
    NoSection {
        /// The name of the task.
        name: String,
        /// Its place.
        slot: Slot,
    },
}

/// Writes all task items that have a place as an iCalendar file. Times are in UTC, which every
/// program reads the same way.
pub fn export(state: &ScheduleState, options: &Export<'_>) -> Result<String, ExportError> {
    let mut file = ContentLines::default();
    file.line("BEGIN", "VCALENDAR");
    file.line("VERSION", "2.0");
    file.line("PRODID", "-//fugato//scheduler//EN");
    file.line("CALSCALE", "GREGORIAN");
    file.line("METHOD", "PUBLISH");
    if let Some(name) = options.zone.iana_name() {
        file.line("X-WR-TIMEZONE", name);
    }
    for task in placed(state) {
        for (slot, number) in task.slots.iter().zip(1_usize..) {
            event(&mut file, state, task, *slot, number, options)?;
        }
    }
    file.line("END", "VCALENDAR");
    Ok(file.text)
}

fn placed(state: &ScheduleState) -> impl Iterator<Item = &ScheduleTask> {
    let placed = |task: &&ScheduleTask| {
        task.source == Source::TaskItem
            && matches!(
                task.status,
                PlacementStatus::Suggested | PlacementStatus::Existing
            )
    };
    state.tasks.iter().filter(placed)
}

fn event(
    file: &mut ContentLines,
    state: &ScheduleState,
    task: &ScheduleTask,
    slot: Slot,
    number: usize,
    options: &Export<'_>,
) -> Result<(), ExportError> {
    let part = if number > 1 {
        format!("/{number}")
    } else {
        String::new()
    };
    let uid = format!(
        "{}/{}{part}@fugato-scheduler",
        options.schedule, task.source_id
    );
    let missing = || ExportError::NoSection {
        name: task.name.clone(),
        slot,
    };
    let ordered = Some(slot).filter(|slot| slot.slot_start <= slot.slot_end);
    // A task in several ranges has no length of its own in each of them.
    let minutes = state.minutes(task).filter(|_| task.slots.len() == 1);
    let times = ordered.and_then(|slot| options.sections.span(&slot, minutes));
    let (begin, end) = times.ok_or_else(missing)?;
    let date = date(state, slot.day)?;
    let at = |time| instant(date, time, options.zone).ok_or(ExportError::NoDate { day: slot.day });
    let status = if task.status == PlacementStatus::Suggested {
        "TENTATIVE"
    } else {
        "CONFIRMED"
    };
    file.line("BEGIN", "VEVENT");
    file.line("UID", &escaped(&uid));
    file.line("DTSTAMP", &utc(options.stamp));
    file.line("DTSTART", &utc(at(begin)?));
    file.line("DTEND", &utc(at(end)?));
    file.line("SUMMARY", &escaped(&task.name));
    file.line("CATEGORIES", &escaped(&task.category));
    file.line(
        "DESCRIPTION",
        &escaped(&description(state, task, slot, options.lang)),
    );
    file.line("STATUS", status);
    file.line("TRANSP", "OPAQUE");
    file.line("END", "VEVENT");
    Ok(())
}

fn date(state: &ScheduleState, day: u16) -> Result<Date, ExportError> {
    let mapping = state
        .window
        .days
        .iter()
        .find(|mapping| mapping.day_index == day);
    let date = mapping.and_then(|mapping| mapping.date.parse().ok());
    date.ok_or(ExportError::NoDate { day })
}

fn instant(date: Date, time: jiff::civil::Time, zone: &TimeZone) -> Option<Timestamp> {
    let zoned = zone.to_ambiguous_zoned(date.to_datetime(time)).compatible();
    zoned.as_ref().map(Zoned::timestamp).ok()
}

fn utc(instant: Timestamp) -> String {
    instant.strftime("%Y%m%dT%H%M%SZ").to_string()
}

fn description(state: &ScheduleState, task: &ScheduleTask, slot: Slot, lang: Lang) -> String {
    let Slot {
        slot_start,
        slot_end,
        ..
    } = slot;
    let class = &task.category;
    let mut text = lang.pick(
        format!("{class}, sections {slot_start} to {slot_end}"),
        format!("{class}，第 {slot_start}–{slot_end} 节"),
    );
    let host = task
        .embed_host
        .and_then(|id| state.tasks.iter().find(|t| t.state_id == id));
    if let Some(host) = host {
        let name = &host.name;
        text.push_str(&lang.pick(format!(", during {name}"), format!("，嵌入《{name}》")));
    }
    text
}

/// Escapes a text. Control characters are removed, because a calendar must not contain them.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | ';' | ',' => escaped.extend(['\\', c]),
            '\n' => escaped.push_str("\\n"),
            c if c.is_control() => {}
            c => escaped.push(c),
        }
    }
    escaped
}

/// The content lines, folded and ended as RFC 5545 requires.
#[derive(Debug, Default)]
struct ContentLines {
    text: String,
}

impl ContentLines {
    fn line(&mut self, name: &str, value: &str) {
        const LIMIT: usize = 75;
        let mut octets = 0;
        for c in name.chars().chain([':']).chain(value.chars()) {
            if octets + c.len_utf8() > LIMIT {
                self.text.push_str("\r\n ");
                octets = 1;
            }
            self.text.push(c);
            octets += c.len_utf8();
        }
        self.text.push_str("\r\n");
    }
}

#[cfg(test)]
mod tests;
