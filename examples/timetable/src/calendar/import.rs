//! From a calendar and a class file to the schedule that the tools work on.
mod fixed;
mod remark;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::Path;

use jiff::ToSpan;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use thiserror::Error;

use crate::schedule::{
    EventType, PlacementStatus, ScheduleState, ScheduleTask, Source, TaskClass, Window,
};

use super::classes::{Class, Classes, ClassesError};
use super::file::{FileError, read_file};
use super::ics::{Calendar, IcsError};
use super::lang::Lang;
use super::sections::Sections;

pub use remark::Remark;

/// A schedule, and the data that turns its sections back into times.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Intake {
    /// The schedule: days, tasks with their places, and classes.
    pub state: ScheduleState,
    /// The times at which the sections of a day begin and end.
    pub sections: Sections,
    /// The zone of the schedule.
    pub zone: TimeZone,
    /// The entries that were left out or cut, for the person.
    pub remarks: Vec<Remark>,
}

/// An error of files that make no schedule. Nothing of them is used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ImportError {
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The calendar is broken.
    #[error(transparent)]
    Calendar(#[from] IcsError),
    /// The class file is broken.
    #[error(transparent)]
    Classes(#[from] ClassesError),
    /// The class file names an entry that the calendar does not have.
    #[error(
        "{place} is `{name}`, which is not in the calendar; its entries are {}",
        quoted(known)
    )]
    UnknownEntry {
        /// The path of the key that names it, such as `embeddable[1]`.
        place: String,
        /// The name.
        name: String,
        /// The names in the calendar.
        known: Vec<String>,
    },
    /// Entries that cannot be moved overlap.
    #[error(
        "the calendar has entries at the same time: {}; move or cancel one of each pair, mark it \
         as free (TRANSP:TRANSPARENT), or name it under `ignore` in the class file",
        listed(.0)
    )]
    Overlap(Vec<Overlap>),
}

/// Two entries of the calendar that overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Overlap {
    /// The one that starts first.
    pub first: String,
    /// The line on which it begins.
    pub first_line: usize,
    /// The other.
    pub second: String,
    /// The line on which it begins.
    pub second_line: usize,
    /// The start of the overlap.
    pub from: DateTime,
    /// The end of the overlap.
    pub to: DateTime,
}

impl fmt::Display for Overlap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            first,
            first_line,
            second,
            second_line,
            from,
            to,
        } = self;
        let (from, to) = (from.strftime("%Y-%m-%d %H:%M"), to.strftime("%H:%M"));
        write!(f, "\"{first}\" (line {first_line}) and ")?;
        write!(f, "\"{second}\" (line {second_line}) on {from}–{to}")
    }
}

/// The most overlaps that an error lists; the rest is counted.
const LISTED: usize = 5;

fn listed(overlaps: &[Overlap]) -> String {
    let mut parts: Vec<String> = overlaps
        .iter()
        .take(LISTED)
        .map(Overlap::to_string)
        .collect();
    if overlaps.len() > LISTED {
        parts.push(format!("and {} more", overlaps.len() - LISTED));
    }
    parts.join("; ")
}

fn quoted(names: &[String]) -> String {
    const SHOWN: usize = 20;
    let mut parts: Vec<String> = names
        .iter()
        .take(SHOWN)
        .map(|name| format!("\"{name}\""))
        .collect();
    if names.is_empty() {
        return "none".to_owned();
    }
    if names.len() > SHOWN {
        parts.push(format!("and {} more", names.len() - SHOWN));
    }
    parts.join(", ")
}

/// Reads both files and makes a schedule of them. Times without a zone are those of the class
/// file's zone, else the calendar's, else `local`.
pub fn open(
    courses: &Path,
    classes: &Path,
    local: &TimeZone,
    lang: Lang,
) -> Result<Intake, ImportError> {
    let calendar = Calendar::parse(&courses.display().to_string(), &read_file(courses)?)?;
    let classes = Classes::parse(&classes.display().to_string(), &read_file(classes)?)?;
    import(&calendar, &classes, local, lang)
}

/// Makes a schedule of a calendar and a class file; see [`open`]. `lang` names entries without a
/// name.
pub fn import(
    calendar: &Calendar,
    classes: &Classes,
    local: &TimeZone,
    lang: Lang,
) -> Result<Intake, ImportError> {
    check_names("embeddable", &classes.embeddable, calendar)?;
    check_names("ignore", &classes.ignore, calendar)?;
    let zone = classes
        .zone
        .as_ref()
        .or_else(|| calendar.zone())
        .unwrap_or(local)
        .clone();
    let days = dates(classes);
    let (fixed, remarks) = fixed::fixed(calendar, classes, &days, &zone, lang)?;
    let mut tasks = fixed;
    let mut task_classes = Vec::new();
    for (class, id) in classes.classes.iter().zip(1_u32..) {
        tasks.extend(pending(class, id));
        task_classes.push(task_class(class, id));
    }
    // Ids follow the order of the list, so that the same files always give the same ids.
    for (task, id) in tasks.iter_mut().zip(1_u32..) {
        task.state_id = id;
    }
    let count = u16::try_from(days.len()).unwrap_or(u16::MAX);
    let window = Window::starting(classes.start, count);
    let state = ScheduleState {
        window,
        tasks,
        task_classes,
    };
    Ok(Intake {
        state,
        sections: classes.sections.clone(),
        zone,
        remarks,
    })
}

/// Returns true if two names mean the same entry.
pub(super) fn same_name(a: &str, b: &str) -> bool {
    a.trim().to_lowercase() == b.trim().to_lowercase()
}

fn check_names(key: &str, names: &[String], calendar: &Calendar) -> Result<(), ImportError> {
    let known = calendar.names();
    for (name, number) in names.iter().zip(1_usize..) {
        if !known.iter().any(|known| same_name(known, name)) {
            return Err(ImportError::UnknownEntry {
                place: format!("{key}[{number}]"),
                name: name.clone(),
                known: known.into_iter().map(str::to_owned).collect(),
            });
        }
    }
    Ok(())
}

/// Returns the dates from the start to the Sunday of the last week, so that week and weekday name a
/// day.
fn dates(classes: &Classes) -> Vec<Date> {
    let before = i64::from(classes.start.weekday().to_monday_zero_offset());
    let count = i64::from(classes.weeks) * 7 - before;
    (0..count)
        .filter_map(|n| classes.start.checked_add(n.days()).ok())
        .collect()
}

fn task_class(class: &Class, id: u32) -> TaskClass {
    let twice = u32::try_from(class.items.len() * 2).unwrap_or(u32::MAX);
    TaskClass {
        id,
        name: class.name.clone(),
        strategy: class.strategy,
        total_slots: class.total_slots.unwrap_or(twice),
        allow_filler_course: class.allow_filler_course,
        excluded_slots: class.excluded_slots.clone(),
        excluded_days_of_week: class.excluded_days_of_week.clone(),
        start_date: class.start_date.map(|date| date.to_string()),
        end_date: class.end_date.map(|date| date.to_string()),
        subject_type: class.subject_type,
        difficulty_level: class.difficulty_level,
        cognitive_intensity: class.cognitive_intensity,
    }
}

fn pending(class: &Class, id: u32) -> impl Iterator<Item = ScheduleTask> {
    let count = u32::try_from(class.items.len()).unwrap_or(u32::MAX).max(1);
    let share = class.total_slots.map_or(2, |slots| (slots / count).max(1));
    let duration = u8::try_from(share).unwrap_or(u8::MAX);
    class.items.iter().map(move |item| ScheduleTask {
        state_id: 0,
        source: Source::TaskItem,
        source_id: format!("{}/{}", class.name, item.order),
        name: item.content.clone(),
        category: class.name.clone(),
        status: PlacementStatus::Pending,
        locked: false,
        slots: Vec::new(),
        duration,
        task_class_id: Some(id),
        task_order: item.order,
        can_embed: false,
        embedded_by: None,
        embed_host: None,
        event_type: EventType::Task,
    })
}
