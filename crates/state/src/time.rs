//! Points in time as protocols write them.
use crate::Millis;

const DAY: i64 = 86_400_000;
/// The first and the last millisecond of the years that have four digits.
const FIRST: Millis = -62_167_219_200_000;
const LAST: Millis = 253_402_300_799_999;

/// Formats a point in time by ISO 8601 in UTC, to the millisecond. Years have four digits; a time
/// outside them becomes the nearest that can be written.
pub fn iso_8601(at: Millis) -> String {
    let at = at.clamp(FIRST, LAST);
    let (day, rest) = (at.div_euclid(DAY), at.rem_euclid(DAY));
    let (year, month, date) = civil(day);
    let (seconds, millis) = (rest / 1000, rest % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// Returns the date of a day counted from 1970-01-01. Years begin in March here, so that the leap
/// day is the last of its year.
fn civil(day: i64) -> (i64, i64, i64) {
    let day = day + 719_468;
    let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let date = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    (era * 400 + year + i64::from(month <= 2), month, date)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trn_12_a_timestamp_is_iso_8601_in_utc() {
        let known = [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_700_000_000_123, "2023-11-14T22:13:20.123Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (Millis::MAX, "9999-12-31T23:59:59.999Z"),
            (Millis::MIN, "0000-01-01T00:00:00.000Z"),
        ];
        for (at, text) in known {
            assert_eq!(iso_8601(at), text);
        }
    }

    #[test]
    fn days_follow_one_another() {
        let mut last = civil(-800_000);
        for day in -799_999..800_000 {
            let (year, month, date) = civil(day);
            let next_day = (year, month, date) == (last.0, last.1, last.2 + 1);
            let next_month = date == 1 && (year, month) == (last.0, last.1 + 1);
            let next_year = (year, month, date) == (last.0 + 1, 1, 1);
            assert!(next_day || next_month || next_year, "{last:?} {day}");
            last = (year, month, date);
        }
    }
}
