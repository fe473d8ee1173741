//! The `RRULE` property: its parts, and the supported ones among them.
use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Weekday};
use jiff::tz::TimeZone;

use super::error::{Fault, IcsProblem};
use super::lines::Line;
use super::time;

/// A recurrence by days, weeks, months or years.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rule {
    pub(super) line: usize,
    pub(super) frequency: Frequency,
    pub(super) interval: u32,
    pub(super) count: Option<u32>,
    pub(super) until: Option<RecurrenceEnd>,
    /// With a number in front: `2MO` is the second Monday, `-1FR` the last Friday.
    pub(super) by_day: Vec<(i8, Weekday)>,
    pub(super) by_month_day: Vec<i8>,
    pub(super) by_month: Vec<i8>,
    pub(super) by_set_position: Vec<i16>,
    pub(super) week_start: Weekday,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Frequency {
    Daily,
    Weekly,
    Monthly,
    Yearly,
}

/// The last moment at which a recurrence may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecurrenceEnd {
    Day(Date),
    Local(DateTime),
    Instant(Timestamp),
}

const PARTS: &str = "FREQ, INTERVAL, COUNT, UNTIL, BYDAY, BYMONTHDAY, BYMONTH, BYSETPOS and WKST";

impl Rule {
    pub(super) fn read(line: &Line) -> Result<Self, Fault> {
        let mut rule = Self {
            line: line.number,
            frequency: frequency(line)?,
            interval: 1,
            count: None,
            until: None,
            by_day: Vec::new(),
            by_month_day: Vec::new(),
            by_month: Vec::new(),
            by_set_position: Vec::new(),
            week_start: Weekday::Monday,
        };
        for part in parts(line) {
            rule.set(part).map_err(|allowed| bad(line, part, allowed))?;
        }
        let ordinals = rule.by_day.iter().any(|&(ordinal, _)| ordinal != 0);
        if ordinals && matches!(rule.frequency, Frequency::Daily | Frequency::Weekly) {
            let part = parts(line).find(|part| part.to_ascii_uppercase().starts_with("BYDAY"));
            let allowed = "a number before a day only with FREQ=MONTHLY or FREQ=YEARLY";
            return Err(bad(line, part.unwrap_or("BYDAY"), allowed));
        }
        Ok(rule)
    }

    fn set(&mut self, part: &str) -> Result<(), &'static str> {
        let (key, value) = part.split_once('=').ok_or(PARTS)?;
        let value = value.trim();
        match key.trim().to_ascii_uppercase().as_str() {
            "FREQ" => {}
            "INTERVAL" => self.interval = positive(value, "a whole number from 1")?,
            "COUNT" => self.count = Some(positive(value, "a whole number from 1")?),
            "UNTIL" => self.until = Some(until(value).ok_or("20260628 or 20260628T155959Z")?),
            "BYDAY" => self.by_day = list(value, by_day, "days such as MO, 2TU and -1FR")?,
            "BYMONTHDAY" => {
                let allowed = "days from 1 to 31, or -31 to -1 from the end";
                self.by_month_day = list(value, |text| within(text, 31), allowed)?;
            }
            "BYMONTH" => {
                let month = |text: &str| within(text, 12).filter(|&month| month > 0);
                self.by_month = list(value, month, "months from 1 to 12")?;
            }
            "BYSETPOS" => {
                let allowed = "positions from 1 to 366, or -366 to -1 from the end";
                let position = |text: &str| {
                    let position = text.parse::<i16>().ok()?;
                    (1..=366)
                        .contains(&position.unsigned_abs())
                        .then_some(position)
                };
                self.by_set_position = list(value, position, allowed)?;
            }
            "WKST" => self.week_start = weekday(value).ok_or("a day such as MO or SU")?,
            _ => return Err(PARTS),
        }
        Ok(())
    }
}

impl RecurrenceEnd {
    /// Returns true if an occurrence at `start` on the clock of `zone` is still allowed.
    pub(super) fn allows(self, start: DateTime, zone: &TimeZone) -> bool {
        match self {
            Self::Day(day) => start.date() <= day,
            Self::Local(time) => start <= time,
            Self::Instant(instant) => zone
                .to_ambiguous_zoned(start)
                .compatible()
                .is_ok_and(|start| start.timestamp() <= instant),
        }
    }
}

fn parts(line: &Line) -> impl Iterator<Item = &str> {
    line.value
        .split(';')
        .map(str::trim)
        .filter(|part| !part.is_empty())
}

fn bad(line: &Line, part: &str, allowed: &'static str) -> Fault {
    let part = part.chars().take(60).collect();
    Fault::new(line.number, IcsProblem::BadRule { part, allowed })
}

fn frequency(line: &Line) -> Result<Frequency, Fault> {
    let allowed = "FREQ=DAILY, WEEKLY, MONTHLY or YEARLY";
    let found = parts(line).find_map(|part| {
        let (key, value) = part.split_once('=')?;
        key.trim()
            .eq_ignore_ascii_case("FREQ")
            .then_some((part, value.trim()))
    });
    let (part, value) = found.ok_or_else(|| bad(line, &line.value, allowed))?;
    match value.to_ascii_uppercase().as_str() {
        "DAILY" => Ok(Frequency::Daily),
        "WEEKLY" => Ok(Frequency::Weekly),
        "MONTHLY" => Ok(Frequency::Monthly),
        "YEARLY" => Ok(Frequency::Yearly),
        _ => Err(bad(line, part, allowed)),
    }
}

fn positive(text: &str, allowed: &'static str) -> Result<u32, &'static str> {
    text.parse()
        .ok()
        .filter(|&number| number > 0)
        .ok_or(allowed)
}

fn until(text: &str) -> Option<RecurrenceEnd> {
    if let Some(date) = time::date(text) {
        return Some(RecurrenceEnd::Day(date));
    }
    let Some(utc) = text.strip_suffix(['Z', 'z']) else {
        return time::date_time(text).map(RecurrenceEnd::Local);
    };
    let instant = TimeZone::UTC.to_timestamp(time::date_time(utc)?).ok()?;
    Some(RecurrenceEnd::Instant(instant))
}

fn list<T>(
    text: &str,
    read: impl Fn(&str) -> Option<T>,
    allowed: &'static str,
) -> Result<Vec<T>, &'static str> {
    text.split(',')
        .map(|item| read(item.trim()).ok_or(allowed))
        .collect()
}

fn within(text: &str, largest: u8) -> Option<i8> {
    let number = text.parse::<i8>().ok()?;
    (1..=largest)
        .contains(&number.unsigned_abs())
        .then_some(number)
}

fn by_day(text: &str) -> Option<(i8, Weekday)> {
    let (ordinal, day) = text.split_at_checked(text.len().checked_sub(2)?)?;
    let ordinal = if ordinal.is_empty() {
        0
    } else {
        within(ordinal, 53)?
    };
    Some((ordinal, weekday(day)?))
}

fn weekday(text: &str) -> Option<Weekday> {
    Some(match text.to_ascii_uppercase().as_str() {
        "MO" => Weekday::Monday,
        "TU" => Weekday::Tuesday,
        "WE" => Weekday::Wednesday,
        "TH" => Weekday::Thursday,
        "FR" => Weekday::Friday,
        "SA" => Weekday::Saturday,
        "SU" => Weekday::Sunday,
        _ => return None,
    })
}
