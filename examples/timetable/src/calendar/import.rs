//! From a calendar and a class file to the schedule that the tools work on.
mod fixed;
mod remark;

#[cfg(test)]
mod tests;

use std::path::Path;

use jiff::ToSpan;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use thiserror::Error;

use crate::schedule::{
    Marks, ScheduleState, ScheduleTask, Sections, Source, TaskClass, Terms, Window,
};

use super::classes::{Class, Classes, ClassesError, Item};
use super::file::{FileError, read_file};
use super::ics::{IcsCalendar, IcsError};
use crate::lang::Lang;

pub use remark::{EntryRemark, Remark};

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
}

/// Reads both files and makes a schedule of them. Times without a zone are those of the class
/// file's zone, else the calendar's, else `local`.
pub fn open(
    courses: &Path,
    classes: &Path,
    local: &TimeZone,
    lang: Lang,
) -> Result<Intake, ImportError> {
    let calendar = IcsCalendar::parse(&courses.display().to_string(), &read_file(courses)?)?;
    let classes = Classes::parse(&classes.display().to_string(), &read_file(classes)?)?;
    Ok(import(&calendar, &classes, local, lang))
}

/// Makes a schedule of a calendar and a class file; see [`open`]. `lang` names entries without a
/// name.
pub fn import(calendar: &IcsCalendar, classes: &Classes, local: &TimeZone, lang: Lang) -> Intake {
    let zone = classes
        .zone
        .as_ref()
        .or_else(|| calendar.zone())
        .unwrap_or(local)
        .clone();
    let days = dates(classes);
    let (fixed, mut remarks) = fixed::fixed(calendar, classes, &days, &zone, lang);
    remarks.extend(unknown_names("embeddable", &classes.embeddable, calendar));
    remarks.extend(unknown_names("ignore", &classes.ignore, calendar));
    let mut tasks = fixed;
    let mut task_classes = Vec::new();
    for (class, id) in classes.classes.iter().zip(1_u32..) {
        tasks.extend(pending(class, id, &classes.sections));
        task_classes.push(task_class(class, id));
    }
    // Ids follow the order of the list, so that the same files always give the same ids.
    for (task, id) in tasks.iter_mut().zip(1_u32..) {
        task.state_id = id;
    }
    follow(&mut tasks, classes);
    let count = u16::try_from(days.len()).unwrap_or(u16::MAX);
    let mut window = Window::starting(classes.start, count);
    window.sections = classes.sections.clone();
    let state = ScheduleState {
        window,
        tasks,
        task_classes,
        preferences: Some(classes.preferences.clone()),
    };
    Intake {
        state,
        sections: classes.sections.clone(),
        zone,
        remarks,
    }
}

/// Returns true if two names mean the same entry.
pub(super) fn same_name(a: &str, b: &str) -> bool {
    a.trim().to_lowercase() == b.trim().to_lowercase()
}

/// Returns a remark for each name that no entry of the calendar has.
fn unknown_names(key: &'static str, names: &[String], calendar: &IcsCalendar) -> Vec<Remark> {
    let known = calendar.names();
    let missing = names
        .iter()
        .filter(|name| !known.iter().any(|known| same_name(known, name)));
    let remark = |name: &String| Remark::UnknownName {
        key,
        name: name.clone(),
    };
    missing.map(remark).collect()
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
        terms: Terms {
            minutes: class.minutes,
            priority: class.priority,
            not: class.not.clone(),
            ..Terms::default()
        },
    }
}

/// Returns the items of a class; one that may be done in parts is several.
fn pending(class: &Class, id: u32, sections: &Sections) -> Vec<ScheduleTask> {
    let count = u32::try_from(class.items.len()).unwrap_or(u32::MAX).max(1);
    let share = class.total_slots.map_or(2, |slots| (slots / count).max(1));
    let share = u8::try_from(share).unwrap_or(u8::MAX);
    let in_parts = class.items.iter().any(|item| item.split.is_some());
    let mut tasks: Vec<ScheduleTask> = Vec::new();
    for item in &class.items {
        let parts = parts(item);
        let of = parts.len();
        for (minutes, part) in parts.into_iter().zip(1_usize..) {
            let mut task = bare(class, id, item);
            if of > 1 {
                task.name = format!("{} ({part}/{of})", item.content);
                task.source_id = format!("{}/{part}", task.source_id);
            }
            if in_parts {
                // Parts need numbers between those of the file.
                task.task_order = u32::try_from(tasks.len() + 1).unwrap_or(u32::MAX);
            }
            let length = minutes.or(class.minutes);
            task.duration =
                length.map_or(share, |length| sections.holding(length).unwrap_or(share));
            task.terms.minutes = minutes;
            tasks.push(task);
        }
    }
    tasks
}

/// Returns the lengths in minutes of the parts of an item.
fn parts(item: &Item) -> Vec<Option<u16>> {
    let (Some(minutes), Some(part)) = (item.minutes, item.split.filter(|part| *part > 0)) else {
        return vec![item.minutes];
    };
    let mut parts = vec![Some(part); usize::from(minutes / part)];
    parts.extend(Some(minutes % part).filter(|rest| *rest > 0).map(Some));
    parts
}

fn bare(class: &Class, id: u32, item: &Item) -> ScheduleTask {
    ScheduleTask {
        source_id: format!("{}/{}", class.name, item.order),
        name: item.content.clone(),
        category: class.name.clone(),
        task_class_id: Some(id),
        task_order: item.order,
        marks: Marks {
            deadline: item.deadline.map(|date| date.to_string()),
            ..Marks::default()
        },
        terms: Terms {
            minutes: item.minutes,
            earliest: item.earliest.map(|date| date.to_string()),
            priority: item.priority,
            at: item.at.clone(),
            not: item.not.clone(),
            ..Terms::default()
        },
        ..ScheduleTask::default()
    }
}

/// Puts the ids of the items that others have to follow into their terms: all of their parts, before
/// the first part.
fn follow(tasks: &mut [ScheduleTask], classes: &Classes) {
    let items = || {
        classes
            .classes
            .iter()
            .flat_map(|class| class.items.iter().map(move |item| (class, item)))
    };
    let source = |class: &Class, item: &Item| format!("{}/{}", class.name, item.order);
    let is_of = |id: &str, source: &str| {
        let rest = id.strip_prefix(source);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    for (class, item) in items().filter(|(_, item)| !item.after.is_empty()) {
        let mut before: Vec<u32> = Vec::new();
        for (other, named) in items().filter(|(_, named)| item.after.contains(&named.content)) {
            let source = source(other, named);
            let of = tasks
                .iter()
                .filter(|task| task.source == Source::TaskItem && is_of(&task.source_id, &source));
            before.extend(of.map(|task| task.state_id));
        }
        let own = source(class, item);
        let mut own = tasks
            .iter_mut()
            .filter(|task| task.source == Source::TaskItem && is_of(&task.source_id, &own));
        if let Some(first) = own.next() {
            first.terms.after = before;
        }
    }
}
