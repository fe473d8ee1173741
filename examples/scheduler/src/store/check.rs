//! The check that a calendar is still in the state that a writer expects.
use std::fmt;

use fugato::{
    graph::digest,
    state::{Lang, say},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Calendar, ClassWrite, StoreWrite};

use crate::schedule::{
    Change, Difference, Location, PlaceChange, PlacementStatus, ScheduleState, ScheduleTask, Slot,
    Source, differences, locate,
};

/// The reason why nothing was written: the changes since the writer read the calendar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub struct Conflict {
    /// Each difference from the expected state.
    pub changed: Vec<StaleFact>,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, changed) in self.changed.iter().enumerate() {
            let between = Lang::current().pick("; ", "；");
            write!(f, "{}{changed}", if n == 0 { "" } else { between })?;
        }
        Ok(())
    }
}

/// A difference from the state that the writer expects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "changed", rename_all = "snake_case")]
#[non_exhaustive]
pub enum StaleFact {
    /// The task is no longer there.
    #[error("{}", say!(
        "{name:?} is no longer in the calendar",
        "日历里已经没有 {name:?}"
    ))]
    Gone {
        /// The task.
        task: u32,
        /// Its name.
        name: String,
    },
    /// The task is in another place than the writer expects.
    #[error("{}", say!(
        "{name:?} lies {} now, not {}",
        "{name:?} 现在在 {}，不在 {}",
        At(found.as_ref()),
        At(expected.as_ref())
    ))]
    Elsewhere {
        /// The task.
        task: u32,
        /// Its name.
        name: String,
        /// The place that the writer expects; none for no place.
        expected: Option<Location>,
        /// The actual place.
        found: Option<Location>,
    },
    /// Its marks are others than the writer expects.
    #[error("{}", say!(
        "{name:?} was marked meanwhile",
        "{name:?} 的标记在此期间有变动"
    ))]
    Marked {
        /// The task.
        task: u32,
        /// Its name.
        name: String,
    },
    /// The place that the task should get is not free.
    #[error("{}", say!(
        "the place for {name:?} is taken by {by:?}",
        "{name:?} 的位置被 {by:?} 占了"
    ))]
    Taken {
        /// The task.
        task: u32,
        /// Its name.
        name: String,
        /// The name of the task that takes it.
        by: String,
    },
    /// The course that should contain the task is not there, or no longer has room.
    #[error("{}", say!(
        "{name:?} has no room inside {host:?} any more",
        "{host:?} 里已经没有 {name:?} 的位置"
    ))]
    NoHost {
        /// The task.
        task: u32,
        /// Its name.
        name: String,
        /// The id of the course's entry in the calendar.
        host: String,
    },
    /// The day is not one of this calendar, or has another date.
    #[error("{}", say!(
        "{name:?} cannot lie on day {day}: the calendar has no such day",
        "{name:?} 不能在第 {day} 天：日历里没有这一天"
    ))]
    NoDay {
        /// The task.
        task: u32,
        /// Its name.
        name: String,
        /// The number of the day.
        day: u16,
    },
    /// The part that the write replaces or removes is another than the writer has seen.
    #[error("{0}")]
    Part(CalendarPart),
}

/// The part of a calendar that a write replaces or removes as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "snake_case")]
#[non_exhaustive]
pub enum CalendarPart {
    /// All that is to be placed, with its places.
    Schedule,
    /// A class with its items and their terms.
    Class {
        /// Its name.
        name: String,
    },
    /// The person's preferences.
    Preferences,
    /// Notes and reminders.
    Notes,
}

impl fmt::Display for CalendarPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&match self {
            Self::Schedule => say!("the calendar is not what it was", "日历已有变动"),
            Self::Class { name } => say!(
                "“{name}” or its items are not what they were",
                "“{name}”或其中的内容已有变动"
            ),
            Self::Preferences => say!("the preferences are not what they were", "偏好已有变动"),
            Self::Notes => say!(
                "the notes and reminders are not what they were",
                "备忘和提醒已有变动"
            ),
        })
    }
}

impl StoreWrite {
    /// Returns this write over what it replaces or removes in a calendar as its writer has seen it,
    /// so that nothing that others wrote since is lost with it. A class is seen with its items, and
    /// an item that it loses with its place and its marks.
    #[must_use]
    pub fn over(self, seen: &Calendar) -> Self {
        match self.acts_on(seen) {
            Some((_, version)) => Self::Seen {
                version,
                wanted: Box::new(self),
            },
            None => self,
        }
    }

    /// Returns what the write replaces or removes in a calendar, and the version of that there; none
    /// if nothing gets lost with it, or if it says itself what it expects.
    pub(crate) fn acts_on(&self, calendar: &Calendar) -> Option<(CalendarPart, String)> {
        let (part, seen) = match self {
            Self::Replace { .. } => (CalendarPart::Schedule, json!(calendar.schedule)),
            Self::Class(write) if write.class.id != 0 => class_seen(write, &calendar.schedule),
            Self::Preferences { .. } => {
                let seen = json!(calendar.schedule.preferences);
                (CalendarPart::Preferences, seen)
            }
            Self::Correct { reminder, .. } => (
                CalendarPart::Notes,
                json!(calendar.reminders.get(*reminder)),
            ),
            Self::Forget { notes, reminders } => {
                let notes = notes.iter().map(|at| calendar.notes.get(*at));
                let reminders = reminders.iter().map(|at| calendar.reminders.get(*at));
                let seen = json!([notes.collect::<Vec<_>>(), reminders.collect::<Vec<_>>()]);
                (CalendarPart::Notes, seen)
            }
            _ => return None,
        };
        Some((part, digest(seen.to_string().as_bytes())))
    }
}

impl Calendar {
    /// Returns the version of the schedule, over which a [replacement](StoreWrite::Replace) of it is written.
    pub(crate) fn version(&self) -> String {
        digest(json!(self.schedule).to_string().as_bytes())
    }
}

fn class_seen(write: &ClassWrite, schedule: &ScheduleState) -> (CalendarPart, Value) {
    let class = schedule.class(write.class.id);
    let items = schedule.tasks.iter().filter(|task| {
        task.source == Source::TaskItem && task.task_class_id == Some(write.class.id)
    });
    let items: Vec<Value> = items
        .map(|item| {
            let stays = write.items.iter().any(|it| it.task == Some(item.state_id));
            let lost = (!stays).then(|| (locate(schedule, item), &item.marks));
            json!([item.state_id, item.name, item.task_order, item.terms, lost])
        })
        .collect();
    let name = class.map_or(&write.class.name, |class| &class.name);
    let part = CalendarPart::Class { name: name.clone() };
    (part, json!([class, items]))
}

impl StaleFact {
    /// Returns the task that it is about, if it is about one.
    pub const fn task(&self) -> Option<u32> {
        match self {
            Self::Gone { task, .. }
            | Self::Elsewhere { task, .. }
            | Self::Marked { task, .. }
            | Self::Taken { task, .. }
            | Self::NoHost { task, .. }
            | Self::NoDay { task, .. } => Some(*task),
            Self::Part(_) => None,
        }
    }
}

struct At<'a>(Option<&'a Location>);

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((first, last)) = self
            .0
            .and_then(|at| at.sections.first().zip(at.sections.last()))
        else {
            return f.write_str(&say!("nowhere", "没有位置"));
        };
        let (day, section) = (first.day, first.section);
        f.write_str(&say!(
            "on day {day}, section {section}",
            "第 {day} 天第 {section} 节"
        ))?;
        if (day, section) == (last.day, last.section) {
            return Ok(());
        }
        let section = last.section;
        if day == last.day {
            return f.write_str(&say!(" to {section}", "到第 {section} 节"));
        }
        let day = last.day;
        f.write_str(&say!(
            " to day {day}, section {section}",
            "到第 {day} 天第 {section} 节"
        ))
    }
}

/// Returns the calendar after all changes, or the conflict that prevents them. Old places are given
/// up before any new one is taken, because tasks may exchange places.
pub(crate) fn carried_out(
    stored: &ScheduleState,
    changes: &[Difference],
) -> Result<ScheduleState, Conflict> {
    let mut after = stored.clone();
    let mut against: Vec<StaleFact> = changes
        .iter()
        .filter_map(|change| stale(stored, change))
        .collect();
    for change in changes {
        after.apply(&Change::Unplace { task: change.task });
    }
    let placed = changes
        .iter()
        .filter_map(|change| Some((change, change.step.to()?)));
    let mut placed: Vec<_> = placed.collect();
    // A moved course has to be placed before the items inside it.
    placed.sort_by_key(|(_, to)| to.host_event.is_some());
    for (change, to) in placed {
        match fits(&after, change, to) {
            Ok(place) => after.apply(&place),
            Err(reason) => against.push(reason),
        }
    }
    for change in changes {
        if let PlaceChange::Mark { after: marks, .. } = &change.step {
            let marks = marks.clone();
            after.apply(&Change::Mark {
                task: change.task,
                marks,
            });
        }
    }
    if against.is_empty() {
        Ok(after)
    } else {
        Err(Conflict { changed: against })
    }
}

/// Returns the new calendar, with the agreed places of the stored one where they are free.
pub(crate) fn carried_over(
    stored: &ScheduleState,
    new: &ScheduleState,
    only_items: bool,
) -> ScheduleState {
    let tasks = new.tasks.iter();
    let tasks = tasks.filter(|task| match task.source {
        Source::TaskItem => true,
        Source::Event => only_items && !task.locked,
    });
    let mut kept: Vec<_> = tasks
        .filter_map(|task| kept_place(stored, new, task))
        .collect();
    loop {
        match carried_out(new, &kept) {
            Ok(after) => return marked(stored, after),
            // Each pass removes at least one change.
            Err(Conflict { changed }) => {
                kept.retain(|change| !changed.iter().any(|it| it.task() == Some(change.task)));
            }
        }
    }
}

/// Puts the marks of the stored calendar on the same tasks of another one.
fn marked(stored: &ScheduleState, mut after: ScheduleState) -> ScheduleState {
    for task in &mut after.tasks {
        let mut known = stored.tasks.iter();
        let known = known.find(|known| {
            (known.source, &known.source_id, &known.name)
                == (task.source, &task.source_id, &task.name)
        });
        if let Some(known) = known {
            // The files name the last date, and a person may have set one without them.
            let deadline = task.marks.deadline.take();
            task.marks = known.marks.clone();
            if deadline.is_some() {
                task.marks.deadline = deadline;
            }
        }
    }
    after
}

/// Returns the change that brings a task back to its stored place, on the same dates.
fn kept_place(
    stored: &ScheduleState,
    new: &ScheduleState,
    task: &ScheduleTask,
) -> Option<Difference> {
    let known = stored.tasks.iter().find(|known| {
        (known.source, &known.source_id, &known.name) == (task.source, &task.source_id, &task.name)
    })?;
    let mut to = locate(stored, known)?;
    for at in &mut to.sections {
        let mut days = new.window.days.iter();
        if let Some(day) = days.find(|day| !day.date.is_empty() && day.date == at.date) {
            (at.day, at.week) = (day.day_index, day.week);
        }
    }
    let step = match locate(new, task) {
        None => PlaceChange::Place { to },
        Some(from) if from != to => PlaceChange::Move { from, to },
        Some(_) => return None,
    };
    Some(Difference {
        task: task.state_id,
        source: task.source,
        source_id: task.source_id.clone(),
        name: task.name.clone(),
        event_type: task.event_type,
        status: known.status,
        step,
    })
}

/// Returns the conflict if a task is not where the writer expects it.
fn stale(stored: &ScheduleState, change: &Difference) -> Option<StaleFact> {
    let (task, name) = (change.task, change.name.clone());
    let known = stored.task(task);
    // An item is numbered by its place in its class: after an import another one may have the id.
    let is_same = |known: &&ScheduleTask| known.source_id == change.source_id && known.name == name;
    let Some(known) = known.filter(is_same) else {
        return Some(StaleFact::Gone { task, name });
    };
    if let PlaceChange::Mark { before, .. } = &change.step
        && *before != known.marks
    {
        return Some(StaleFact::Marked { task, name });
    }
    let found = locate(stored, known);
    let expected = change.step.from();
    (found.as_ref() != expected).then(|| StaleFact::Elsewhere {
        task,
        name,
        expected: expected.cloned(),
        found,
    })
}

/// Returns the change that gives a task its place, if the place exists and is free.
fn fits(state: &ScheduleState, change: &Difference, to: &Location) -> Result<Change, StaleFact> {
    let (task, name) = (change.task, change.name.clone());
    for at in &to.sections {
        if state.day(at.day).is_none_or(|day| day.date != at.date) {
            let day = at.day;
            return Err(StaleFact::NoDay { task, name, day });
        }
    }
    let sections = to.sections.iter();
    let slots = Slot::compress(
        sections
            .map(|at| Slot::new(at.day, at.section, at.section))
            .collect(),
    );
    let host = match &to.host_event {
        None => None,
        Some(host) => Some(
            open_host(state, host, &slots).ok_or_else(|| StaleFact::NoHost {
                task,
                name: name.clone(),
                host: host.clone(),
            })?,
        ),
    };
    let others = state.tasks.iter().filter(|other| other.state_id != task);
    let mut others = others.filter(|other| Some(other.state_id) != host);
    let overlaps = |other: &&ScheduleTask| {
        let mut taken = other.slots.iter();
        taken.any(|taken| slots.iter().any(|slot| slot.overlaps(taken)))
    };
    if let Some(other) = others.find(overlaps) {
        let by = other.name.clone();
        return Err(StaleFact::Taken { task, name, by });
    }
    Ok(Change::Place {
        task,
        slots,
        host,
        status: change.status,
    })
}

/// Returns the entry of this id, if a task may be inside it there.
fn open_host(state: &ScheduleState, id: &str, slots: &[Slot]) -> Option<u32> {
    let found = state.tasks.iter().find(|task| {
        task.source_id == id
            && task.is_open_host()
            && slots
                .iter()
                .all(|slot| task.slots.iter().any(|range| range.contains(slot)))
    });
    found.map(|host| host.state_id)
}

/// Returns the differences that have to be stored: all except suggestions, which are not agreed
/// yet.
pub(crate) fn decided(stored: &ScheduleState, now: &ScheduleState) -> Vec<Difference> {
    let mut changes = differences(stored, now);
    changes.retain(|change| change.status != PlacementStatus::Suggested);
    changes
}
