//! Dates, times and durations as iCalendar writes them.
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Zoned};

use super::error::{Fault, IcsProblem};
use super::lines::Line;
use super::zone::Zones;

/// The time at which something starts or ends.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum EventTime {
    /// A whole day.
    Day(Date),
    /// A time on the local clock of any zone.
    Floating(DateTime),
    /// A time on the clock of a zone.
    Zoned(DateTime, TimeZone),
}

impl EventTime {
    pub(super) fn civil(&self) -> DateTime {
        match self {
            Self::Day(date) => date.to_datetime(Time::midnight()),
            Self::Floating(time) | Self::Zoned(time, _) => *time,
        }
    }

    pub(super) fn is_day(&self) -> bool {
        matches!(self, Self::Day(_))
    }

    /// Returns the same kind of moment at another time on its clock.
    pub(super) fn at(&self, time: DateTime) -> Self {
        match self {
            Self::Day(_) => Self::Day(time.date()),
            Self::Floating(_) => Self::Floating(time),
            Self::Zoned(_, zone) => Self::Zoned(time, zone.clone()),
        }
    }

    /// Returns the instant; days and floating times are those of `home`. A time that a clock skips
    /// gets the offset before the gap, and of a time that it shows twice the first is used, as RFC
    /// 5545 requires. None at the edge of the calendar.
    pub(super) fn instant(&self, home: &TimeZone) -> Option<Zoned> {
        let zone = match self {
            Self::Zoned(_, zone) => zone,
            Self::Day(_) | Self::Floating(_) => home,
        };
        zone.to_ambiguous_zoned(self.civil()).compatible().ok()
    }

    /// Returns the date and time that the clock of `home` shows.
    pub(super) fn seen_from(&self, home: &TimeZone) -> Option<DateTime> {
        match self {
            Self::Day(_) | Self::Floating(_) => Some(self.civil()),
            Self::Zoned(..) => Some(self.instant(home)?.with_time_zone(home.clone()).datetime()),
        }
    }
}

/// Reads one moment with the zone of its line; in a zone that is not known it is a local time.
pub(super) fn moment(line: &Line, value: &str, zones: &Zones) -> Result<EventTime, Fault> {
    let value = value.trim();
    let bad = || {
        Fault::new(
            line.number,
            IcsProblem::BadTime {
                property: line.name.clone(),
                value: value.chars().take(40).collect(),
            },
        )
    };
    if let Some(date) = date(value) {
        return Ok(EventTime::Day(date));
    }
    if let Some(utc) = value.strip_suffix(['Z', 'z']) {
        return Ok(EventTime::Zoned(
            date_time(utc).ok_or_else(bad)?,
            TimeZone::UTC,
        ));
    }
    let time = date_time(value).ok_or_else(bad)?;
    let zone = line.parameter("TZID").map(|name| zones.named(name));
    let zone = zone.unwrap_or_else(|| zones.home.clone());
    let within = |zone| EventTime::Zoned(time, zone);
    Ok(zone.map_or(EventTime::Floating(time), within))
}

/// Reads a date and time, or the midnight of a date.
pub(super) fn civil(text: &str) -> Option<DateTime> {
    let midnight = |date: Date| date.to_datetime(Time::midnight());
    date_time(text).or_else(|| date(text).map(midnight))
}

/// Reads `20260302`.
pub(super) fn date(text: &str) -> Option<Date> {
    let plain = text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
    let date: Date = text.parse().ok().filter(|_| plain)?;
    // Far from its edges, arithmetic on the calendar cannot overflow.
    (1600..=9000).contains(&date.year()).then_some(date)
}

/// Reads `20260302T080000`, and `20260302T0800` as some exporters write it.
pub(super) fn date_time(text: &str) -> Option<DateTime> {
    let (day, clock) = text.split_once(['T', 't'])?;
    let plain = matches!(clock.len(), 4 | 6) && clock.bytes().all(|byte| byte.is_ascii_digit());
    date(day).filter(|_| plain)?;
    text.parse().ok()
}

/// Reads `PT1H30M`, `P1D`, `P2W`. A negative one is no duration of an event.
pub(super) fn duration(line: &Line, value: &str) -> Result<SignedDuration, Fault> {
    let value = value.trim();
    seconds(value)
        .map(SignedDuration::from_secs)
        .ok_or_else(|| {
            let value = value.chars().take(40).collect();
            Fault::new(line.number, IcsProblem::BadDuration(value))
        })
}

fn seconds(text: &str) -> Option<i64> {
    let text = text.strip_prefix('+').unwrap_or(text);
    let mut rest = text.strip_prefix(['P', 'p'])?;
    let mut clock = false;
    let mut total: i64 = 0;
    let mut parts = 0;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix(['T', 't']) {
            (rest, clock) = (after, true);
            continue;
        }
        let end = rest.find(|c: char| !c.is_ascii_digit())?;
        let (count, after) = rest.split_at_checked(end)?;
        let unit = after.chars().next()?;
        let length = match (unit.to_ascii_uppercase(), clock) {
            ('W', false) => 7 * 86_400,
            ('D', false) => 86_400,
            ('H', true) => 3_600,
            ('M', true) => 60,
            ('S', true) => 1,
            _ => return None,
        };
        total = total.checked_add(count.parse::<i64>().ok()?.checked_mul(length)?)?;
        rest = after.get(1..)?;
        parts += 1;
    }
    // A span of more than a century is a mistake, and would overflow the calendar.
    (parts > 0 && total <= 100 * 366 * 86_400).then_some(total)
}

#[cfg(test)]
mod tests {
    use jiff::civil;

    use super::*;

    #[test]
    fn durations_are_read_or_refused() {
        assert_eq!(seconds("PT1H30M"), Some(5_400));
        assert_eq!(seconds("P1DT2H"), Some(93_600));
        assert_eq!(seconds("+P2W"), Some(1_209_600));
        for bad in [
            "",
            "P",
            "PT",
            "1H",
            "-PT1H",
            "P1H",
            "PT5",
            "P99999999W",
            "PT1H日",
        ] {
            assert_eq!(seconds(bad), None, "{bad}");
        }
    }

    #[test]
    fn times_are_read_or_refused() {
        let morning = civil::date(2026, 3, 2).at(8, 5, 0, 0);
        assert_eq!(date_time("20260302T080500"), Some(morning));
        assert_eq!(date_time("20260302T0805"), Some(morning));
        let last = civil::date(2026, 12, 31).at(23, 59, 59, 0);
        assert_eq!(date_time("20261231T235960"), Some(last));
        for bad in [
            "20260230T080000",
            "20260302T250000",
            "2026-03-02T08:00",
            "T",
            "周一T080000",
        ] {
            assert_eq!(date_time(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_time_that_the_clock_skips_or_repeats_is_read_as_rfc_5545_says() {
        let berlin = Zones::default()
            .named("Europe/Berlin")
            .expect("an IANA name");
        let at = |day, month| {
            let time = civil::date(2026, month, day).at(2, 30, 0, 0);
            let moment = EventTime::Zoned(time, berlin.clone());
            moment
                .instant(&TimeZone::UTC)
                .expect("within the calendar")
                .to_string()
        };
        assert_eq!(at(29, 3), "2026-03-29T03:30:00+02:00[Europe/Berlin]");
        assert_eq!(at(25, 10), "2026-10-25T02:30:00+02:00[Europe/Berlin]");
    }
}
