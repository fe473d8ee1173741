//! The class file: task classes, the window, and the courses that can hold items.
mod check;
mod preferences;
mod raw;
mod when;

#[cfg(test)]
mod tests;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use thiserror::Error;

use crate::schedule::{
    ClosedTime, FixedTime, Level, PlacementPreferences, Sections, Strategy, SubjectType,
};

/// The tasks to do and the days on which they may be placed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Classes {
    /// The first day that can be planned.
    pub start: Date,
    /// The number of weeks, from Monday to Sunday; the first one may begin in its middle.
    pub weeks: u16,
    /// The zone of the schedule, if the file names one.
    pub zone: Option<TimeZone>,
    /// The times at which the sections of a day begin and end.
    pub sections: Sections,
    /// The names of the courses inside which task items may be placed.
    pub embeddable: Vec<String>,
    /// The names of calendar entries that take no time.
    pub ignore: Vec<String>,
    /// The classes, in the order of the file.
    pub classes: Vec<Class>,
    /// The wishes for the times of items; those of most people if the file does not say.
    pub preferences: PlacementPreferences,
}

/// A class of items that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Class {
    /// Its name.
    pub name: String,
    /// The way in which its items are spread.
    pub strategy: Strategy,
    /// The number of sections that all its items take together; two for each if the file does not
    /// say.
    pub total_slots: Option<u32>,
    /// True if its items may be placed inside embeddable courses.
    pub allow_filler_course: bool,
    /// Pairs of sections that are never used, 1 to 6.
    pub excluded_slots: Vec<u8>,
    /// Days that are never used; Monday is 1.
    pub excluded_days_of_week: Vec<u8>,
    /// The first allowed date.
    pub start_date: Option<Date>,
    /// The last allowed date.
    pub end_date: Option<Date>,
    /// The kind of work.
    pub subject_type: Option<SubjectType>,
    /// Its difficulty.
    pub difficulty_level: Option<Level>,
    /// Its mental demand.
    pub cognitive_intensity: Option<Level>,
    /// The length of its items in minutes, unless they have their own.
    pub minutes: Option<u16>,
    /// The importance of its items, unless they have their own.
    pub priority: Option<Level>,
    /// The times that none of its items must touch.
    pub not: Vec<ClosedTime>,
    /// Its items, sorted by order.
    pub items: Vec<Item>,
}

/// One thing to do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Item {
    /// Its text.
    pub content: String,
    /// Its place in the order of its class, from 1.
    pub order: u32,
    /// Its length in minutes.
    pub minutes: Option<u16>,
    /// The length of the parts, in minutes, that it may be done in.
    pub split: Option<u16>,
    /// The first date on which it may lie.
    pub earliest: Option<Date>,
    /// The last date on which it may lie.
    pub deadline: Option<Date>,
    /// Its importance.
    pub priority: Option<Level>,
    /// The only time at which it may begin.
    pub at: Option<FixedTime>,
    /// The texts of the items that it has to follow, of any class of the file.
    pub after: Vec<String>,
    /// The times that it must not touch.
    pub not: Vec<ClosedTime>,
}

/// A class file that cannot be used. Nothing of it is imported.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ClassesError {
    /// It is not text.
    #[error("{file}: this is no UTF-8 text; allowed is a TOML or JSON file in UTF-8")]
    NotText {
        /// The name of the file.
        file: String,
    },
    /// It is not written as TOML or JSON, or has keys or values that do not belong there.
    #[error("{file}, line {line}, column {column}: {message}")]
    Syntax {
        /// The name of the file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// The problem, and the allowed values.
        message: String,
    },
    /// A value cannot be used.
    #[error("{file}: {place} {message}")]
    Value {
        /// The name of the file.
        file: String,
        /// The path of the value, such as `classes[2].excluded_slots[1]`, counted from 1.
        place: String,
        /// The problem, and the allowed values.
        message: String,
    },
}

impl Classes {
    /// Reads a class file: JSON if its first character is a brace, else TOML. `file` is its name in
    /// errors.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Self, ClassesError> {
        check::check(file, raw::read(file, bytes)?)
    }
}
