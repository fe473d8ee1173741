//! Events as texts of iCalendar, one of each in a resource.
use jiff::{civil::Date, tz::TimeZone};

use crate::{
    calendar::{IcsCalendar, Sections},
    schedule::{ScheduleState, Slot},
};

/// The end of the ids of our events.
const OURS: &str = "@fugato-scheduler";

/// An event of ours, as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// Its id.
    pub(super) uid: String,
    /// Its times, as they are written.
    pub(super) shown: String,
    /// The whole text of its resource.
    pub(super) text: String,
}

/// Splits a calendar file of ours into its events.
pub(super) fn events(calendar: &str) -> Vec<Event> {
    let mut rest = calendar;
    let mut found = vec![];
    while let Some((_, after)) = rest.split_once("BEGIN:VEVENT\r\n") {
        let Some((event, after)) = after.split_once("END:VEVENT\r\n") else {
            break;
        };
        let text = format!(
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//fugato//scheduler//EN\r\nBEGIN:VEVENT\r\n{event}END:VEVENT\r\nEND:VCALENDAR\r\n"
        );
        if let Some(uid) = uid(&text) {
            let shown = shown(&text);
            found.push(Event { uid, shown, text });
        }
        rest = after;
    }
    found
}

/// Returns the id of the first event of a text.
pub(super) fn uid(text: &str) -> Option<String> {
    field(text, "UID").map(|(_, value)| value.replace('\\', ""))
}

/// Returns true if an id is one of this schedule's.
pub(super) fn is_ours(uid: &str, schedule: &str) -> bool {
    let name = uid.strip_suffix(OURS);
    name.and_then(|name| name.strip_prefix(schedule))
        .is_some_and(|rest| rest.starts_with('/'))
}

/// Returns the id of the event of a task.
pub(super) fn id_of(schedule: &str, source_id: &str) -> String {
    format!("{schedule}/{source_id}{OURS}")
}

/// Returns the times of the first event of a text, as they are written.
pub(super) fn shown(text: &str) -> String {
    let field = |name| {
        let (parameters, value) = field(text, name).unwrap_or_default();
        format!("{parameters}:{value}")
    };
    ["DTSTART", "DTEND", "DURATION"].map(field).join(" ")
}

/// Returns the place of the first event of a text, by its beginning and its end.
pub(super) fn place(
    text: &str,
    schedule: &ScheduleState,
    sections: &Sections,
    zone: &TimeZone,
) -> Option<Slot> {
    let calendar = IcsCalendar::parse("the calendar server", text.as_bytes()).ok()?;
    let date = |day: &crate::schedule::DayMapping| day.date.parse::<Date>().ok();
    let days = &schedule.window.days;
    let (first, last) = (days.first().and_then(date)?, days.last().and_then(date)?);
    let (found, _) = calendar.occurrences(first, last, zone);
    let event = found.first()?;
    let day = days
        .iter()
        .find(|day| date(day) == Some(event.start.date()))?;
    let taken = sections.covered(event.start.date(), event.start, event.end);
    Some(Slot::new(day.day_index, *taken.first()?, *taken.last()?))
}

/// Returns the parameters and the value of a line of the first event.
fn field(text: &str, name: &str) -> Option<(String, String)> {
    let event = text.split_once("BEGIN:VEVENT")?.1;
    let event = event.split("END:VEVENT").next().unwrap_or_default();
    let event = event
        .replace("\r\n", "\n")
        .replace("\n ", "")
        .replace("\n\t", "");
    let mut lines = event.lines().filter_map(|line| {
        let rest = line.strip_prefix(name)?;
        let (parameters, value) = rest.split_once(':')?;
        let ends = parameters.is_empty() || parameters.starts_with(';');
        ends.then(|| (parameters.to_owned(), value.trim().to_owned()))
    });
    lines.next()
}
