//! The terms of a person for the place of an item: its length, times and predecessors.
use std::fmt;

use jiff::civil::Time;
use serde::{Deserialize, Serialize};

use super::refusal::BrokenRule;
use super::{DayMapping, Level, ScheduleState, ScheduleTask, Sections, Slot};
use crate::lang::{Lang, weekday};

/// The terms of an item, or of all items of a class. Nothing is placed against them; the last date
/// of an item is one of its [`Marks`](super::Marks).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Terms {
    /// The length in minutes; none for the sections of its duration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u16>,
    /// The first date on which it may lie, `YYYY-MM-DD`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earliest: Option<String>,
    /// The importance when not everything fits; none is medium.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Level>,
    /// The only time at which it may begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<FixedTime>,
    /// The tasks after which it has to lie.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<u32>,
    /// The times that it must not touch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not: Vec<ClosedTime>,
    /// True if it may be done in two parts where it fits nowhere as a whole, false if it has to be
    /// done in one piece; none leaves parts to a repair that the person agrees to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<bool>,
}

/// A time of the day, on a date, on a day of the week, or on any day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixedTime {
    /// The date, `YYYY-MM-DD`; none for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The day of the week, Monday is 1; none for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day_of_week: Option<u8>,
    /// The time on the clock.
    pub time: Time,
}

/// A time on some days of the week.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosedTime {
    /// The days of the week, Monday is 1; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub days_of_week: Vec<u8>,
    /// Its beginning.
    pub from: Time,
    /// Its end.
    pub to: Time,
}

impl Terms {
    /// Returns true if nothing is asked for.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Checks a place of this length against the terms. Dates do not matter on a day without one.
    ///
    /// # Errors
    /// The first term that the place breaks.
    pub fn admits(
        &self,
        day: &DayMapping,
        slot: &Slot,
        minutes: Option<u16>,
        sections: &Sections,
    ) -> Result<(), BrokenRule> {
        let dated = !day.date.is_empty();
        if let Some(earliest) = &self.earliest
            && dated
            && day.date < *earliest
        {
            return Err(BrokenRule::TooEarly(earliest.clone()));
        }
        if self.at.is_none() && self.not.is_empty() {
            return Ok(());
        }
        let Some((begin, end)) = sections.span(slot, minutes) else {
            return Ok(());
        };
        if let Some(at) = &self.at {
            let other_date = at
                .date
                .as_ref()
                .is_some_and(|date| dated && *date != day.date);
            let other_day = at.day_of_week.is_some_and(|fixed| fixed != day.day_of_week);
            if other_date || other_day || at.time != begin {
                return Err(BrokenRule::Fixed(at.clone()));
            }
        }
        let touches = |closed: &&ClosedTime| {
            let on = &closed.days_of_week;
            let here = on.is_empty() || on.contains(&day.day_of_week);
            here && closed.from < end && begin < closed.to
        };
        match self.not.iter().find(touches) {
            Some(closed) => Err(BrokenRule::Closed(closed.clone())),
            None => Ok(()),
        }
    }
}

impl ScheduleState {
    /// Returns the length of a task in minutes, if it or its class has one.
    pub fn minutes(&self, task: &ScheduleTask) -> Option<u16> {
        let class = || self.class_of(task)?.terms.minutes;
        task.terms.minutes.or_else(class)
    }

    /// Returns the importance of a task.
    pub fn priority(&self, task: &ScheduleTask) -> Level {
        let class = || self.class_of(task)?.terms.priority;
        task.terms.priority.or_else(class).unwrap_or(Level::Medium)
    }

    /// Returns true if a task may be done in two parts, false if it must not; none if nothing is
    /// said about it.
    pub fn may_split(&self, task: &ScheduleTask) -> Option<bool> {
        let class = || self.class_of(task)?.terms.split;
        task.terms.split.or_else(class)
    }

    /// Returns the lengths in sections of the two parts of a task, if it can be done in parts.
    pub fn parts(&self, task: &ScheduleTask) -> Option<[u8; 2]> {
        let sections = &self.window.sections;
        sections.parts(task.duration, self.minutes(task))
    }

    /// Returns true if a task is bound by more than its class: by terms, a last date, or as the
    /// predecessor of another one.
    pub fn has_terms(&self, task: &ScheduleTask) -> bool {
        let own = !task.terms.is_none() || task.marks.deadline.is_some();
        own || self
            .class_of(task)
            .is_some_and(|class| !class.terms.is_none())
            || self
                .tasks
                .iter()
                .any(|other| other.terms.after.contains(&task.state_id))
    }
}

impl fmt::Display for FixedTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(date) = &self.date {
            write!(f, "{date} ")?;
        } else if let Some(day) = self.day_of_week {
            write!(f, "{} ", weekday(Lang::current(), day))?;
        }
        write!(f, "{}", self.time.strftime("%H:%M"))
    }
}

impl fmt::Display for ClosedTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days: Vec<&str> = self
            .days_of_week
            .iter()
            .map(|day| weekday(Lang::current(), *day))
            .collect();
        if !days.is_empty() {
            write!(f, "{} ", days.join(", "))?;
        }
        let (from, to) = (self.from.strftime("%H:%M"), self.to.strftime("%H:%M"));
        write!(f, "{from}–{to}")
    }
}

#[cfg(test)]
mod tests;
