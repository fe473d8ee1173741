//! From references to days and times to days and sections of a schedule.
use std::collections::{BTreeMap, BTreeSet};

use fugato::words::DayReference;
use jiff::civil::Time;

use super::{
    Facts,
    lex::{ClockWords, Part},
};
use crate::{schedule::Slot, scope::NamedDays};

/// Days and times of a day. What is not named is not limited.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct When {
    /// The days; none if no day is named.
    pub(super) days: Option<BTreeSet<u16>>,
    /// The days of the same names in all weeks; none if the days were named otherwise.
    pub(super) every: Option<BTreeSet<u16>>,
    /// The first sections that are meant; none if no time is named.
    pub(super) starts: Option<BTreeSet<u8>>,
    /// True if exactly this first section is meant.
    pub(super) exact: bool,
    /// True if what lies there also ends there: "between two and four".
    pub(super) ends: bool,
    /// The clock time that no section begins at.
    pub(super) odd: Option<Time>,
    /// True if the days were named as a whole week.
    pub(super) is_week: bool,
}

impl When {
    /// Returns a whole day.
    pub(super) fn on(day: u16) -> Self {
        Self {
            days: Some(BTreeSet::from([day])),
            ..Self::default()
        }
    }

    /// Returns these times on the days of the same names in all weeks.
    pub(super) fn weekly(&self) -> Self {
        Self {
            days: self.every.clone().or_else(|| self.days.clone()),
            ..self.clone()
        }
    }

    /// Returns what is left of these days and times without others.
    pub(super) fn without(&self, others: &[Self], facts: &Facts<'_>) -> Vec<Self> {
        let window = facts.schedule.window.days.iter().map(|day| day.day_index);
        let days = self.days.clone().unwrap_or_else(|| window.collect());
        let all = || (1..=facts.sections.count()).collect();
        let mut left: BTreeMap<BTreeSet<u8>, BTreeSet<u16>> = BTreeMap::new();
        for day in days {
            let mut starts: BTreeSet<u8> = self.starts.clone().unwrap_or_else(all);
            starts.retain(|start| {
                let slot = Slot::new(day, *start, *start);
                !others.iter().any(|other| other.meets(&slot))
            });
            left.entry(starts).or_default().insert(day);
        }
        left.remove(&BTreeSet::new());
        let times = left.into_iter().map(|(starts, days)| Self {
            days: Some(days),
            every: None,
            starts: (self.starts.is_some() || starts != all()).then_some(starts),
            ..self.clone()
        });
        times.collect()
    }

    /// Returns the other times of the same days.
    pub(super) fn other_times(&self, facts: &Facts<'_>) -> Self {
        let starts: BTreeSet<u8> = self.starts.iter().flatten().copied().collect();
        let all: BTreeSet<u8> = (1..=facts.sections.count()).collect();
        Self {
            days: self.days.clone(),
            starts: Some(&all - &starts),
            ..Self::default()
        }
    }

    /// Returns true if one day is meant, and only its name was said.
    pub(super) fn is_one_name(&self) -> bool {
        self.every.is_some() && self.days.as_ref().is_some_and(|days| days.len() == 1)
    }

    pub(super) fn is_named(&self) -> bool {
        self.days.is_some() || self.starts.is_some() || self.odd.is_some()
    }

    /// Returns true if a slot begins in these days and times.
    pub(super) fn begins(&self, slot: &Slot) -> bool {
        self.days
            .as_ref()
            .is_none_or(|days| days.contains(&slot.day))
            && self
                .starts
                .as_ref()
                .is_none_or(|starts| starts.contains(&slot.slot_start))
    }

    /// Returns true if a slot may lie in these days and times.
    pub(super) fn holds(&self, slot: &Slot) -> bool {
        let of_hours = self.starts.as_ref().filter(|_| self.ends);
        let mut sections = slot.slot_start..=slot.slot_end;
        self.begins(slot)
            && of_hours.is_none_or(|hours| sections.all(|section| hours.contains(&section)))
    }

    /// Returns true if a slot overlaps these days and times.
    pub(super) fn meets(&self, slot: &Slot) -> bool {
        self.days
            .as_ref()
            .is_none_or(|days| days.contains(&slot.day))
            && self.starts.as_ref().is_none_or(|starts| {
                (slot.slot_start..=slot.slot_end).any(|section| starts.contains(&section))
            })
    }
}

/// Returns the sections of a part of a day, by the time at which they begin.
pub(super) fn part(part: Part, facts: &Facts<'_>) -> BTreeSet<u8> {
    let is_in = |time: Time| match part {
        Part::Morning => time.hour() < 12,
        Part::Noon => (11..14).contains(&time.hour()) && time >= Time::constant(11, 30, 0, 0),
        Part::Afternoon => (12..18).contains(&time.hour()),
        Part::Evening => time.hour() >= 18,
    };
    (1..=facts.sections.count())
        .filter(|section| begin(*section, facts).is_some_and(is_in))
        .collect()
}

/// Returns the time at which a section begins.
pub(super) fn begin(section: u8, facts: &Facts<'_>) -> Option<Time> {
    Some(facts.sections.times(&Slot::new(1, section, section))?.0)
}

/// Returns the hour of the day that is meant: a part of the day, or else the sections, decide which
/// half.
pub(super) fn time(
    hour: i8,
    minute: i8,
    sure: bool,
    near: Option<Part>,
    facts: &Facts<'_>,
) -> Option<Time> {
    let at = |hour: i8| Time::new(hour, minute, 0, 0).ok();
    let is_section = |time: Time| {
        (1..=facts.sections.count()).any(|section| begin(section, facts) == Some(time))
    };
    let late = hour < 12 && matches!(near, Some(Part::Afternoon | Part::Evening));
    if late || (near == Some(Part::Noon) && hour < 3) {
        return at(hour + 12);
    }
    if sure || near.is_some() || hour >= 12 {
        return at(hour);
    }
    let (early, late) = (at(hour)?, at(hour + 12)?);
    match (is_section(early), is_section(late)) {
        (false, true) => Some(late),
        (true, _) => Some(early),
        _ => Some(if hour < 7 { late } else { early }),
    }
}

/// Returns the times between two hours; the end is the next such time after the beginning.
pub(super) fn hours(
    (hour, minute, sure): ClockWords,
    to: ClockWords,
    near: Option<Part>,
    facts: &Facts<'_>,
) -> Option<(Time, Time)> {
    let begin = time(hour, minute, sure, near, facts)?;
    let mut ends = [to.0, to.0 + 12]
        .into_iter()
        .filter_map(|hour| Time::new(hour, to.1, 0, 0).ok());
    Some((begin, ends.find(|end| *end > begin)?))
}

/// Returns the section that begins at a time, or the one in which it lies.
pub(super) fn section(time: Time, facts: &Facts<'_>) -> Option<(u8, bool)> {
    let mut all = 1..=facts.sections.count();
    let exact = all
        .clone()
        .find(|section| begin(*section, facts) == Some(time));
    if let Some(section) = exact {
        return Some((section, true));
    }
    let within = all.find(|section| {
        let times = facts.sections.times(&Slot::new(1, *section, *section));
        times.is_some_and(|(from, to)| from <= time && time < to)
    });
    within.map(|section| (section, false))
}

/// Returns the days that references name together, in the view of somebody who speaks today.
/// `again` is true for days that are meant every week.
pub(super) fn days(references: &[DayReference], again: bool, facts: &Facts<'_>) -> BTreeSet<u16> {
    let window = &facts.schedule.window;
    let today = facts.today;
    let known = NamedDays { window, today };
    let (mut weeks, mut names) = (None::<BTreeSet<i32>>, None::<BTreeSet<u8>>);
    let (mut found, mut is_single) = (BTreeSet::new(), false);
    for reference in references {
        match reference {
            DayReference::Weeks(..) | DayReference::NextWeek(_) => {
                weeks.get_or_insert_default().extend(known.weeks(reference));
            }
            DayReference::Weekdays(days) => names.get_or_insert_default().extend(days),
            single => {
                let days = known.single(single);
                is_single = true;
                // A day of the month without the month is the next one.
                let mut ahead = days.iter().filter(|day| i32::from(**day) >= today);
                match (single, ahead.next()) {
                    (DayReference::Date(None, _), Some(next)) => found.extend([*next]),
                    _ => found.extend(days),
                }
            }
        }
    }
    // A name beside a date names the same day.
    if is_single {
        if let Some(names) = &names {
            let named: BTreeSet<u16> = found
                .iter()
                .copied()
                .filter(|day| {
                    facts
                        .schedule
                        .day(*day)
                        .is_some_and(|day| names.contains(&day.day_of_week))
                })
                .collect();
            if named.is_empty() {
                found.extend(coming(names, again, facts));
            } else {
                found = named;
            }
        }
        return found;
    }
    match (weeks, names) {
        (Some(weeks), names) => {
            let names = names.unwrap_or_else(|| (1..=7).collect());
            known.days(&weeks, &names).collect()
        }
        (None, Some(names)) => coming(&names, again, facts),
        (None, None) => found,
    }
}

/// Returns the next days of these names, or all from today on.
fn coming(names: &BTreeSet<u8>, again: bool, facts: &Facts<'_>) -> BTreeSet<u16> {
    let ahead = facts.days_ahead();
    let named = ahead.filter(|day| names.contains(&day.day_of_week));
    if again {
        return named.map(|day| day.day_index).collect();
    }
    // "Friday" is the next one, and today is called today.
    let mut next = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for day in named {
        let is_today = i32::from(day.day_index) == facts.today && names.len() == 1;
        if !is_today && seen.insert(day.day_of_week) {
            next.insert(day.day_index);
        }
    }
    next
}
