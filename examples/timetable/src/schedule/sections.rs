//! The sections of a day: from the clock to section numbers and back.
use std::collections::BTreeSet;

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime, Time};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Slot;

/// The times at which the sections of a day begin and end.
///
/// A day has 1 to 48 sections. The default has twelve, as a day of a
/// Chinese university: two double lessons before noon, two in the afternoon, two in the evening, so
/// that an aligned pair of sections is one double lesson.
///
/// | sections | first | second |
/// |---|---|---|
/// | 1, 2 | 08:00–08:45 | 08:55–09:40 |
/// | 3, 4 | 10:00–10:45 | 10:55–11:40 |
/// | 5, 6 | 14:00–14:45 | 14:55–15:40 |
/// | 7, 8 | 16:00–16:45 | 16:55–17:40 |
/// | 9, 10 | 19:00–19:45 | 19:55–20:40 |
/// | 11, 12 | 20:50–21:35 | 21:45–22:30 |
///
/// As data it is a list of texts such as `08:00-08:45`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Sections {
    times: Vec<(Time, Time)>,
}

/// A section table that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SectionsError {
    /// There are none, or too many.
    #[error("there are {found} sections; allowed are 1 to {MOST_SECTIONS}")]
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

/// The most sections of a day: half hours from midnight to midnight.
const MOST_SECTIONS: usize = 48;

/// A break between sections that nothing is placed across, if that can be avoided.
const LONG_BREAK: SignedDuration = SignedDuration::from_mins(60);

const DEFAULT: [((i8, i8), (i8, i8)); 12] = [
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
    /// Reads texts such as `08:00-08:45`, one for each section.
    pub fn parse<T: AsRef<str>>(texts: &[T]) -> Result<Self, SectionsError> {
        if texts.is_empty() || texts.len() > MOST_SECTIONS {
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

    /// Returns true if the table is the default one.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the number of sections of a day.
    pub fn count(&self) -> u8 {
        // There are at most 48.
        u8::try_from(self.times.len()).unwrap_or(u8::MAX)
    }

    /// Returns the times at which a slot begins and ends; none if the table lacks its sections.
    pub fn times(&self, slot: &Slot) -> Option<(Time, Time)> {
        Some((self.of(slot.slot_start)?.0, self.of(slot.slot_end)?.1))
    }

    /// Returns the times at which something of this length begins and ends in a slot: with a length
    /// in minutes it can end before the last section does.
    pub fn span(&self, slot: &Slot, minutes: Option<u16>) -> Option<(Time, Time)> {
        let (begin, end) = self.times(slot)?;
        let length = minutes.map(|minutes| SignedDuration::from_mins(minutes.into()));
        let earlier = length.and_then(|length| begin.checked_add(length).ok());
        Some((begin, earlier.map_or(end, |earlier| earlier.min(end))))
    }

    /// Returns the times at which sections begin.
    pub fn begin(&self) -> impl Iterator<Item = Time> {
        self.times.iter().map(|(begin, _)| *begin)
    }

    /// Returns the sections that overlap a range of time.
    pub fn touching(&self, from: Time, to: Time) -> Vec<u8> {
        let times = self.times.iter().zip(1..);
        let overlapping = times.filter(|((begin, end), _)| *begin < to && *end > from);
        overlapping.map(|(_, section)| section).collect()
    }

    /// Returns the number of sections that hold this many minutes wherever they begin; none if a
    /// day does not have them.
    pub fn holding(&self, minutes: u16) -> Option<u8> {
        let wanted = SignedDuration::from_mins(minutes.into());
        let holds = |duration: &u8| self.shortest(*duration).is_some_and(|time| time >= wanted);
        (1..=self.count()).find(holds)
    }

    /// Returns the time that this many sections in a row last at least; none if a day does not have
    /// them.
    fn shortest(&self, duration: u8) -> Option<SignedDuration> {
        let slots = self.ranges_of(duration);
        let times = slots.filter_map(|slot| self.times(&slot));
        times.map(|(begin, end)| begin.duration_until(end)).min()
    }

    /// Returns the lengths in sections of the two parts of something that takes this many: the
    /// first is the larger half. Both hold the minutes together, although a break between the
    /// halves no longer counts; none if it has one section, or a day has no room for the parts.
    pub fn parts(&self, duration: u8, minutes: Option<u16>) -> Option<[u8; 2]> {
        let wanted = SignedDuration::from_mins(minutes.unwrap_or(0).into());
        let halves = (duration.max(2)..=u8::MAX).map(|all| [all.div_ceil(2), all / 2]);
        let mut parts = halves.take_while(|[first, _]| *first <= self.count());
        let holds = |[first, second]: &[u8; 2]| {
            let time = self.shortest(*first).zip(self.shortest(*second));
            time.is_some_and(|(first, second)| first + second >= wanted)
        };
        parts.find(holds).filter(|_| duration > 1)
    }

    /// Returns the ranges of this many sections of a day at which work begins well: in a table of
    /// pairs of sections they waste no half of a pair, and none goes across a long break if there
    /// are others.
    pub fn starts(&self, duration: u8) -> Vec<u8> {
        let pairs = self.count() == 12;
        let tidy = |slot: &Slot| {
            !pairs || !slot.slot_start.is_multiple_of(2) || slot.slot_end.is_multiple_of(2)
        };
        let tidy: Vec<Slot> = self.ranges_of(duration).filter(tidy).collect();
        let whole = |slot: &Slot| !self.has_long_break(*slot);
        let whole: Vec<u8> = tidy
            .iter()
            .filter(|slot| whole(slot))
            .map(|slot| slot.slot_start)
            .collect();
        if whole.is_empty() {
            return tidy.iter().map(|slot| slot.slot_start).collect();
        }
        whole
    }

    fn ranges_of(&self, duration: u8) -> impl Iterator<Item = Slot> {
        let last = (self.count() + 1).saturating_sub(duration.max(1));
        (1..=last).map(move |start| Slot::starting_at(1, start, duration.max(1)))
    }

    fn has_long_break(&self, slot: Slot) -> bool {
        (slot.slot_start..slot.slot_end).any(|section| {
            let (before, next) = (self.of(section), self.of(section + 1));
            let (Some((_, end)), Some((begin, _))) = (before, next) else {
                return false;
            };
            end.duration_until(begin) >= LONG_BREAK
        })
    }

    fn of(&self, section: u8) -> Option<(Time, Time)> {
        self.times
            .get(usize::from(section.checked_sub(1)?))
            .copied()
    }
}

impl TryFrom<Vec<String>> for Sections {
    type Error = SectionsError;

    fn try_from(texts: Vec<String>) -> Result<Self, SectionsError> {
        Self::parse(&texts)
    }
}

impl From<Sections> for Vec<String> {
    fn from(sections: Sections) -> Self {
        let text = |(begin, end): &(Time, Time)| {
            format!("{}-{}", begin.strftime("%H:%M"), end.strftime("%H:%M"))
        };
        sections.times.iter().map(text).collect()
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
pub(crate) fn range(text: &str) -> Option<(Time, Time)> {
    let (begin, end) = text.split_once(['-', '–', '—', '~'])?;
    Some((clock(begin)?, clock(end)?))
}

/// Reads `08:00`; `24:00` is the last minute of the day.
pub(crate) fn clock(text: &str) -> Option<Time> {
    let (hour, minute) = text.trim().split_once([':', '：'])?;
    if minute.len() != 2 {
        return None;
    }
    if (hour, minute) == ("24", "00") {
        return Some(Time::constant(23, 59, 0, 0));
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
            Sections::parse::<&str>(&[])
                .expect_err("none is too few")
                .to_string(),
            "there are 0 sections; allowed are 1 to 48"
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
    fn minutes_become_sections_and_starts_keep_pairs_and_breaks() {
        let sections = Sections::default();
        let holding = |minutes| sections.holding(minutes);
        assert_eq!(
            [30, 45, 46, 100, 101, 155, 870, 871].map(holding),
            [
                Some(1),
                Some(1),
                Some(2),
                Some(2),
                Some(3),
                Some(3),
                Some(12),
                None
            ]
        );
        assert_eq!(sections.starts(1), (1..=12).collect::<Vec<_>>());
        assert_eq!(sections.starts(2), [1, 3, 5, 7, 9, 11]);
        assert_eq!(sections.starts(3), [1, 2, 5, 6, 9, 10]);
        assert_eq!(sections.starts(4), [1, 5, 9]);
        assert_eq!(sections.starts(6), [1, 3, 5, 7]);
        let halves = |hour: u8| {
            [
                format!("{hour:02}:00-{hour:02}:30"),
                format!("{hour:02}:30-{:02}:00", hour + 1),
            ]
        };
        let halves: Vec<String> = (8..22).flat_map(halves).collect();
        let halves = Sections::parse(&halves).expect("28 half hours");
        assert_eq!((halves.count(), halves.holding(90)), (28, Some(3)));
        assert_eq!(halves.starts(27), [1, 2]);
        let json = serde_json::to_string(&halves).expect("texts");
        assert_eq!(
            serde_json::from_str::<Sections>(&json).expect("the same"),
            halves
        );
        let ten = sections.span(&Slot::new(1, 3, 4), Some(60));
        assert_eq!(
            ten,
            Some((Time::constant(10, 0, 0, 0), Time::constant(11, 0, 0, 0)))
        );
    }

    #[test]
    fn parts_hold_the_minutes_without_the_break_between_them() {
        let sections = Sections::default();
        let parts = |duration, minutes| sections.parts(duration, minutes);
        assert_eq!(parts(2, None), Some([1, 1]));
        assert_eq!(parts(2, Some(90)), Some([1, 1]));
        assert_eq!(parts(2, Some(100)), Some([2, 1]));
        assert_eq!(parts(3, Some(145)), Some([2, 1]));
        assert_eq!(parts(3, Some(146)), Some([2, 2]));
        assert_eq!(parts(1, Some(30)), None);
        assert_eq!(parts(12, Some(2000)), None);
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
