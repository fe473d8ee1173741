//! The file of what one wants to do: task classes, the window, and what may be embedded.
mod check;
mod raw;

#[cfg(test)]
mod tests;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use thiserror::Error;

use crate::schedule::{Level, Strategy, SubjectType};

use super::sections::Sections;

/// What one wants to do, and where it may lie.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Classes {
    /// The first day that can be planned.
    pub start: Date,
    /// How many weeks, from Monday to Sunday; the first one may begin in its middle.
    pub weeks: u16,
    /// The zone of the schedule, if the file names one.
    pub zone: Option<TimeZone>,
    /// When the sections of a day begin and end.
    pub sections: Sections,
    /// The names of the courses inside which task items may lie.
    pub embeddable: Vec<String>,
    /// The names of calendar entries that take no time.
    pub ignore: Vec<String>,
    /// The classes, in the order of the file.
    pub classes: Vec<Class>,
}

/// Items that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Class {
    /// Its name.
    pub name: String,
    /// How its items are spread.
    pub strategy: Strategy,
    /// How many sections all its items take together; two for each if the file does not say.
    pub total_slots: Option<u32>,
    /// Whether its items may lie inside embeddable courses.
    pub allow_filler_course: bool,
    /// Pairs of sections that are never used, 1 to 6.
    pub excluded_slots: Vec<u8>,
    /// Days that are never used; Monday is 1.
    pub excluded_days_of_week: Vec<u8>,
    /// The first allowed date.
    pub start_date: Option<Date>,
    /// The last allowed date.
    pub end_date: Option<Date>,
    /// What kind of work it is.
    pub subject_type: Option<SubjectType>,
    /// How hard it is.
    pub difficulty_level: Option<Level>,
    /// How demanding it is.
    pub cognitive_intensity: Option<Level>,
    /// Its items, sorted by order.
    pub items: Vec<Item>,
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Item {
    /// What it is.
    pub content: String,
    /// Its place in the order of its class, from 1.
    pub order: u32,
}

/// A class file that cannot be used. Nothing of it is.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ClassesError {
    /// It is no text.
    #[error("{file}: this is no UTF-8 text; allowed is a TOML or JSON file in UTF-8")]
    NotText {
        /// Which file.
        file: String,
    },
    /// It is not written as TOML or JSON, or has keys or values that do not belong there.
    #[error("{file}, line {line}, column {column}: {message}")]
    Syntax {
        /// Which file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// What is wrong there, and what is allowed.
        message: String,
    },
    /// A value cannot be used.
    #[error("{file}: {place} {message}")]
    Value {
        /// Which file.
        file: String,
        /// Which value, such as `classes[2].excluded_slots[1]`, counted from 1.
        place: String,
        /// What is wrong with it, and what is allowed.
        message: String,
    },
}

impl Classes {
    /// Reads a class file: JSON if its first character is a brace, else TOML. `file` is what
    /// errors call it.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Self, ClassesError> {
        check::check(file, raw::read(file, bytes)?)
    }
}
