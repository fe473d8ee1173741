//! Reading an iCalendar file into events on the clock of one zone.
mod component;
mod error;
mod event;
mod expand;
mod lines;
mod recur;
mod time;
mod zone;

#[cfg(test)]
pub(super) mod tests;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

pub use error::{IcsError, IcsProblem, Loss};
use event::Event;
pub(crate) use zone::known;

/// A calendar as it was read. What cannot be read costs one entry or one line, and is noted.
#[derive(Debug, Clone)]
pub struct IcsCalendar {
    file: String,
    zone: Option<TimeZone>,
    events: Vec<Event>,
    problems: Vec<IcsError>,
}

/// An event that takes place once, on the clock of the requested zone.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Occurrence {
    /// The `UID` of the event, and the start for which it was planned: the same in each import.
    pub id: String,
    /// The `SUMMARY`; empty if there is none.
    pub name: String,
    /// The first of the `CATEGORIES`.
    pub category: Option<String>,
    /// The start.
    pub start: DateTime,
    /// The end; never before the start.
    pub end: DateTime,
    /// True if it takes whole days.
    pub all_day: bool,
    /// True if it leaves the time free (`TRANSP:TRANSPARENT`).
    pub free: bool,
    /// True if it recurs by a rule that does not name the time at which it starts.
    pub off_rule: bool,
    /// The line of the file on which the event begins.
    pub line: usize,
}

impl IcsCalendar {
    /// Reads a calendar. `file` is its name in errors.
    ///
    /// # Errors
    /// The file holds no calendar and no event, or more than 20,000 events.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Self, IcsError> {
        event::read(file, bytes)
    }

    /// Returns the zone that the calendar itself gives for times without one (`X-WR-TIMEZONE`).
    pub fn zone(&self) -> Option<&TimeZone> {
        self.zone.as_ref()
    }

    /// Returns what could not be read, in the order of the file.
    pub fn problems(&self) -> &[IcsError] {
        &self.problems
    }

    /// Returns the names of its events, sorted, each once.
    pub fn names(&self) -> Vec<&str> {
        let names = self.events.iter().map(|event| event.name.as_str());
        let mut names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}
