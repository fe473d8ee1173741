//! The clock of the machine, which may say anything.
use std::time::SystemTime;

use jiff::{Timestamp, Zoned, civil::Date, tz::TimeZone};

/// Returns the time of the clock; the nearest time that a calendar has if the clock is beyond it.
pub fn now() -> Timestamp {
    at(SystemTime::now())
}

/// Returns the day of the clock in the zone of the machine.
pub fn today() -> Date {
    Zoned::new(now(), TimeZone::system()).date()
}

fn at(time: SystemTime) -> Timestamp {
    let past = time < SystemTime::UNIX_EPOCH;
    let nearest = if past { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::try_from(time).unwrap_or(nearest)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_clock_beyond_every_calendar_is_no_panic() {
        // Within the last hours of the year 9999, where times of other zones end.
        // 9999-12-31 23:00 in UTC.
        let seconds = 253_402_297_200;
        let late = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(at(late), Timestamp::MAX);
        assert_eq!(at(SystemTime::UNIX_EPOCH), Timestamp::UNIX_EPOCH);
    }
}
