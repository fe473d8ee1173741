//! The sections of a day: from the clock to section numbers and back.
use std::collections::BTreeSet;

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime, Time};
use thiserror::Error;

use crate::schedule::{SECTIONS, Slot};

/// The times at which the twelve sections of a day begin and end.
///
/// The default is the day of a Chinese university: two double lessons before noon, two in the
/// afternoon, two in the evening, so that an aligned pair of sections is one double lesson.
///
/// | sections | first | second |
/// |---|---|---|
/// | 1, 2 | 08:00–08:45 | 08:55–09:40 |
/// | 3, 4 | 10:00–10:45 | 10:55–11:40 |
/// | 5, 6 | 14:00–14:45 | 14:55–15:40 |
/// | 7, 8 | 16:00–16:45 | 16:55–17:40 |
/// | 9, 10 | 19:00–19:45 | 19:55–20:40 |
/// | 11, 12 | 20:50–21:35 | 21:45–22:30 |
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sections {
    times: Vec<(Time, Time)>,
}

/// A section table that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SectionsError {
    /// There are not twelve.
    #[error("there are {found} sections; allowed are exactly {SECTIONS}")]
    Count {
        /// The number found.
        found: usize,
    },
    /// One is not written as a beginning and an end.
    #[error("section {section} is `{text}`; allowed are times such as \"08:00-08:45\"")]
    Unreadable {
        /// The number of the section, from 1.
        section: usize,
        /// The text of the section.
        text: String,
    },
    /// One ends before it begins.
    #[error("section {section} is `{text}`; it must end later than it begins")]
    Backwards {
        /// The number of the section, from 1.
        section: usize,
        /// The text of the section.
        text: String,
    },
    /// One begins before the one before it has ended.
    #[error("section {section} is `{text}`; it must not begin before section {} ends", section - 1)]
    Overlapping {
        /// The number of the section, from 1.
        section: usize,
        /// The text of the section.
        text: String,
    },
}

const DEFAULT: [((i8, i8), (i8, i8)); SECTIONS as usize] = [
    ((8, 0), (8, 45)),
    ((8, 55), (9, 40)),
    ((10, 0), (10, 45)),
    ((10, 55), (11, 40)),
    ((14, 0), (14, 45)),
    ((14, 55), (15, 40)),
    ((16, 0), (16, 45)),
    ((16, 55), (17, 40)),
    ((19, 0), (19, 45)),
    ((19, 55), (20, 40)),
    ((20, 50), (21, 35)),
    ((21, 45), (22, 30)),
];

impl Default for Sections {
    fn default() -> Self {
        let time = |(hour, minute)| Time::constant(hour, minute, 0, 0);
        Self {
            times: DEFAULT
                .iter()
                .map(|&(begin, end)| (time(begin), time(end)))
                .collect(),
        }
    }
}

impl Sections {
    /// Reads twelve texts such as `08:00-08:45`.
    pub fn parse<T: AsRef<str>>(texts: &[T]) -> Result<Self, SectionsError> {
        if texts.len() != usize::from(SECTIONS) {
            return Err(SectionsError::Count { found: texts.len() });
        }
        let mut times: Vec<(Time, Time)> = Vec::new();
        for (index, text) in texts.iter().enumerate() {
            let (section, text) = (index + 1, text.as_ref().to_owned());
            let Some((begin, end)) = range(&text) else {
                return Err(SectionsError::Unreadable { section, text });
            };
            if end <= begin {
                return Err(SectionsError::Backwards { section, text });
            }
            if times.last().is_some_and(|&(_, before)| begin < before) {
                return Err(SectionsError::Overlapping { section, text });
            }
            times.push((begin, end));
        }
        Ok(Self { times })
    }

    /// Returns the sections of `date` that the range from `start` to `end` overlaps by more than a
    /// minute, so that a lesson that ends when the next begins does not touch it.
    pub fn covered(&self, date: Date, start: DateTime, end: DateTime) -> BTreeSet<u8> {
        let numbered = (1..).zip(&self.times);
        let covered = numbered.filter(|(_, (begin, finish))| {
            let from = date.to_datetime(*begin).max(start);
            let to = date.to_datetime(*finish).min(end);
            to.duration_since(from) > SignedDuration::from_mins(1)
        });
        covered.map(|(section, _)| section).collect()
    }

    /// Returns the times at which a slot begins and ends; none if its sections are not 1 to 12.
    pub fn times(&self, slot: &Slot) -> Option<(Time, Time)> {
        Some((self.of(slot.slot_start)?.0, self.of(slot.slot_end)?.1))
    }

    fn of(&self, section: u8) -> Option<(Time, Time)> {
        self.times
            .get(usize::from(section.checked_sub(1)?))
            .copied()
    }
}

/// Joins sections of a day into slots: adjacent ones are one range.
pub(crate) fn ranges(day: u16, sections: &BTreeSet<u8>) -> Vec<Slot> {
    let mut ranges: Vec<Slot> = Vec::new();
    for &section in sections {
        match ranges.last_mut() {
            Some(last) if last.slot_end + 1 == section => last.slot_end = section,
            _ => ranges.push(Slot {
                day,
                slot_start: section,
                slot_end: section,
            }),
        }
    }
    ranges
}

/// Reads `08:00-08:45`; a long dash will do as well.
pub(super) fn range(text: &str) -> Option<(Time, Time)> {
    let (begin, end) = text.split_once(['-', '–', '—', '~'])?;
    Some((clock(begin)?, clock(end)?))
}

pub(super) fn clock(text: &str) -> Option<Time> {
    let (hour, minute) = text.trim().split_once([':', '：'])?;
    if minute.len() != 2 {
        return None;
    }
    Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok()
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    fn table(third: &str) -> Vec<String> {
        let mut texts: Vec<String> = DEFAULT
            .iter()
            .map(|((h, m), (to_h, to_m))| format!("{h:02}:{m:02}-{to_h:02}:{to_m:02}"))
            .collect();
        third.clone_into(&mut texts[2]);
        texts
    }

    #[test]
    fn a_table_is_read_or_refused_with_the_section() {
        assert_eq!(
            Sections::parse(&table("10:00–10:45")),
            Ok(Sections::default())
        );
        let refused = |third: &str| {
            let error = Sections::parse(&table(third)).expect_err("the third is wrong");
            error.to_string()
        };
        assert_eq!(
            refused("ten"),
            "section 3 is `ten`; allowed are times such as \"08:00-08:45\""
        );
        assert_eq!(
            refused("10:00-25:00"),
            "section 3 is `10:00-25:00`; allowed are times such as \"08:00-08:45\""
        );
        assert_eq!(
            refused("10:45-10:00"),
            "section 3 is `10:45-10:00`; it must end later than it begins"
        );
        assert_eq!(
            refused("09:30-10:45"),
            "section 3 is `09:30-10:45`; it must not begin before section 2 ends"
        );
        assert_eq!(
            Sections::parse(&["08:00-08:45"])
                .expect_err("one is too few")
                .to_string(),
            "there are 1 sections; allowed are exactly 12"
        );
    }

    #[test]
    fn an_event_covers_what_it_overlaps_by_more_than_a_minute() {
        let sections = Sections::default();
        let day = date(2026, 3, 2);
        let covered = |from: (i8, i8), to: (i8, i8)| {
            let at = |(hour, minute): (i8, i8)| day.at(hour, minute, 0, 0);
            let covered = sections.covered(day, at(from), at(to));
            covered.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(covered((8, 0), (9, 40)), [1, 2]);
        assert_eq!(covered((8, 44), (8, 56)), [] as [u8; 0]);
        assert_eq!(covered((8, 43), (8, 57)), [1, 2]);
        assert_eq!(covered((12, 0), (13, 30)), [] as [u8; 0]);
        assert_eq!(covered((0, 0), (23, 59)), (1..=12).collect::<Vec<_>>());
    }

    #[test]
    fn sch_70_adjacent_sections_are_one_range() {
        let slot = |slot_start, slot_end| Slot {
            day: 3,
            slot_start,
            slot_end,
        };
        assert_eq!(
            ranges(3, &BTreeSet::from([1, 2, 4])),
            [slot(1, 2), slot(4, 4)]
        );
        let sections = Sections::default();
        let times = sections.times(&slot(3, 4));
        assert_eq!(
            times,
            Some((Time::constant(10, 0, 0, 0), Time::constant(11, 40, 0, 0)))
        );
        assert_eq!(sections.times(&slot(0, 13)), None);
    }
}
