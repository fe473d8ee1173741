use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::schedule::{DayMapping, ScheduleState, Slot};

/// A time that the person wants kept free until they take it back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FreeTime {
    /// The dates, such as `2026-09-14`.
    pub dates: BTreeSet<String>,
    /// The sections of these days; empty if the whole days are meant.
    pub sections: BTreeSet<u8>,
}

impl FreeTime {
    /// Returns the days of a schedule that have these dates.
    pub(crate) fn days<'s>(
        &self,
        schedule: &'s ScheduleState,
    ) -> impl Iterator<Item = &'s DayMapping> {
        let days = schedule.window.days.iter();
        days.filter(|day| !day.date.is_empty() && self.dates.contains(&day.date))
    }

    /// Returns the sections of a schedule that these times take.
    pub(crate) fn slots(times: &[Self], schedule: &ScheduleState) -> Vec<Slot> {
        let last = schedule.window.sections.count();
        let slots = times.iter().flat_map(|time| {
            time.days(schedule).flat_map(move |day| {
                let whole = (1..=last).filter(|_| time.sections.is_empty());
                let sections = whole.chain(time.sections.iter().copied());
                sections.map(|section| Slot::new(day.day_index, section, section))
            })
        });
        Slot::compress(slots.collect())
    }
}
