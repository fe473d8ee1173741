//! The errors of a calendar file, with their place and the allowed values.
use std::fmt;

use thiserror::Error;

/// A calendar file that cannot be used. Nothing of it is imported.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct IcsError {
    /// The name of the file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The event, by its `SUMMARY` or else its `UID`; none outside of events.
    pub event: Option<String>,
    /// The problem.
    pub problem: IcsProblem,
}

impl std::error::Error for IcsError {}

impl fmt::Display for IcsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, line {}", self.file, self.line)?;
        if let Some(event) = &self.event {
            write!(f, ", event \"{event}\"")?;
        }
        write!(f, ": {}", self.problem)
    }
}

/// A problem of a calendar file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum IcsProblem {
    /// There is no calendar in it.
    #[error("this is no calendar; an iCalendar file starts with BEGIN:VCALENDAR")]
    NotACalendar,
    /// Its bytes are no text.
    #[error("this is no UTF-8 text; save the calendar as an iCalendar file in UTF-8")]
    NotText,
    /// A line is no property.
    #[error("`{text}` is no property; allowed is NAME:VALUE or NAME;PARAMETER=VALUE:VALUE")]
    BadLine {
        /// The beginning of the line.
        text: String,
    },
    /// A component is not closed where the file ends.
    #[error("BEGIN:{component} is never closed by END:{component}; is the file cut off?")]
    Unclosed {
        /// The component.
        component: String,
    },
    /// A component is closed that is not open.
    #[error("END:{found} closes nothing; {}", .open.as_ref().map_or_else(
        || "nothing is open".to_owned(),
        |open| format!("allowed here is END:{open}"),
    ))]
    Mismatched {
        /// The component that is closed.
        found: String,
        /// The component that is open.
        open: Option<String>,
    },
    /// An event does not say when it starts.
    #[error("the event has no DTSTART; it needs a date or a time at which it starts")]
    NoStart,
    /// A value is no time.
    #[error(
        "`{value}` is no time for {property}; \
         allowed are 20260302, 20260302T080000 and 20260302T080000Z"
    )]
    BadTime {
        /// The property.
        property: String,
        /// The value.
        value: String,
    },
    /// A value is no duration.
    #[error("`{value}` is no duration; allowed are durations such as PT1H30M, P1D and P2W")]
    BadDuration {
        /// The value.
        value: String,
    },
    /// An event ends before it starts.
    #[error("the event ends before it starts")]
    EndsBeforeStart,
    /// A time zone is not known.
    #[error(
        "the time zone `{zone}` is not known; allowed are IANA names such as Europe/Berlin, \
         Windows names such as China Standard Time, and a VTIMEZONE in the file with \
         X-LIC-LOCATION or with one constant offset"
    )]
    UnknownZone {
        /// Its name in the file.
        zone: String,
    },
    /// A recurrence has a part that cannot be followed.
    #[error("the recurrence part `{part}` cannot be followed; allowed is {allowed}")]
    BadRule {
        /// The part.
        part: String,
        /// The values allowed in its place.
        allowed: &'static str,
    },
    /// A property changes the recurrence in a way that cannot be followed.
    #[error("{property} cannot be followed; allowed is {allowed}")]
    Unsupported {
        /// The property.
        property: String,
        /// The values allowed in its place.
        allowed: &'static str,
    },
    /// The recurrences of the file add up to too many days.
    #[error(
        "the recurrences of this file take more than {limit} steps to follow; \
         give the old ones an UNTIL, or a DTSTART near the window"
    )]
    TooManyRepeats {
        /// The most that is followed.
        limit: u32,
    },
    /// There are too many events.
    #[error("the file has more than {limit} events, the most that is read")]
    TooManyEvents {
        /// The most that is read.
        limit: usize,
    },
}

/// A problem and its line, while the file and the event are not known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) line: usize,
    pub(super) problem: IcsProblem,
}

impl Fault {
    pub(super) fn new(line: usize, problem: IcsProblem) -> Self {
        Self { line, problem }
    }

    pub(super) fn within(self, file: &str, event: Option<&str>) -> IcsError {
        IcsError {
            file: file.to_owned(),
            line: self.line,
            event: event.map(str::to_owned),
            problem: self.problem,
        }
    }
}
