//! Times as people write them in a class file: `Tuesday evening`, `周二 18:00-22:30`, `2026-03-10
//! 14:00`.
use jiff::civil::Time;

use crate::schedule::{ClosedTime, FixedTime, clock, range};

impl ClosedTime {
    /// Reads a time that is closed: days of the week, a time of the day, or both.
    pub fn parse(text: &str) -> Option<Self> {
        let (days_of_week, rest) = days(text.trim());
        let (from, to) = match part(rest) {
            Some(part) => part,
            None if rest.is_empty() && !days_of_week.is_empty() => (midnight(), late()),
            None => range(rest)?,
        };
        (from < to).then_some(Self {
            days_of_week,
            from,
            to,
        })
    }
}

impl FixedTime {
    /// Reads a fixed time: `14:00`, or one on a date or day of the week.
    pub fn parse(text: &str) -> Option<Self> {
        fixed(text)
    }
}

fn fixed(text: &str) -> Option<FixedTime> {
    let text = text.trim();
    let dated = text.split_once([' ', 'T']).and_then(|(date, time)| {
        let shaped = date.len() == 10 && date.parse::<jiff::civil::Date>().is_ok();
        let time = clock(time).or_else(|| time.trim().parse().ok())?;
        shaped.then(|| (date.to_owned(), time))
    });
    if let Some((date, time)) = dated {
        return Some(FixedTime {
            date: Some(date),
            day_of_week: None,
            time,
        });
    }
    let (days, rest) = days(text);
    let day_of_week = match days.as_slice() {
        [] => None,
        [day] => Some(*day),
        _ => return None,
    };
    Some(FixedTime {
        date: None,
        day_of_week,
        time: clock(rest)?,
    })
}

/// Returns the number of a day of the week by its name, in English or Chinese.
pub(super) fn weekday(name: &str) -> Option<u8> {
    match days(name.trim()) {
        (days, "") => match days.as_slice() {
            [day] => Some(*day),
            _ => None,
        },
        _ => None,
    }
}

/// Splits the days of the week off the beginning of a text.
fn days(text: &str) -> (Vec<u8>, &str) {
    const GROUPS: [(&str, &[u8]); 7] = [
        ("weekdays", &[1, 2, 3, 4, 5]),
        ("weekday", &[1, 2, 3, 4, 5]),
        ("weekends", &[6, 7]),
        ("weekend", &[6, 7]),
        ("工作日", &[1, 2, 3, 4, 5]),
        ("周末", &[6, 7]),
        ("daily", &[]),
    ];
    let lower = text.to_lowercase();
    let word = lower.split_whitespace().next().unwrap_or_default();
    for (name, days) in GROUPS {
        if word == name || (!name.is_ascii() && lower.starts_with(name)) {
            return (
                days.to_vec(),
                text.get(name.len()..).unwrap_or_default().trim_start(),
            );
        }
    }
    match day_name(&lower, word) {
        Some((day, length)) => (
            vec![day],
            text.get(length..).unwrap_or_default().trim_start(),
        ),
        None => (vec![], text),
    }
}

/// Returns the day of the week at the beginning of a text, and the length of its name.
fn day_name(lower: &str, word: &str) -> Option<(u8, usize)> {
    const DAYS: [&str; 7] = [
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
    ];
    const ZH: [&str; 7] = ["一", "二", "三", "四", "五", "六", "日"];
    let singular = word
        .strip_suffix('s')
        .filter(|word| DAYS.contains(word))
        .unwrap_or(word);
    let is_day = |day: &str| singular.len() >= 3 && day.starts_with(singular);
    if let Some(at) = DAYS.iter().position(|day| is_day(day)) {
        return Some((u8::try_from(at + 1).ok()?, word.len()));
    }
    let week = ["周", "星期", "礼拜"]
        .iter()
        .find(|week| lower.starts_with(**week))?;
    let rest = lower.strip_prefix(*week)?;
    let at = ZH.iter().position(|day| rest.starts_with(day));
    let at = at.or_else(|| rest.starts_with('天').then_some(6))?;
    let name = rest.chars().next().map_or(0, char::len_utf8);
    Some((u8::try_from(at + 1).ok()?, week.len() + name))
}

/// Returns the times of a part of the day.
fn part(text: &str) -> Option<(Time, Time)> {
    let noon = Time::constant(12, 0, 0, 0);
    let evening = Time::constant(18, 0, 0, 0);
    Some(match text.trim().to_lowercase().as_str() {
        "morning" | "mornings" | "上午" | "早上" => (midnight(), noon),
        "afternoon" | "afternoons" | "下午" => (noon, evening),
        "evening" | "evenings" | "night" | "晚上" | "晚间" => (evening, late()),
        _ => return None,
    })
}

const fn midnight() -> Time {
    Time::constant(0, 0, 0, 0)
}

const fn late() -> Time {
    Time::constant(23, 59, 0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_times_are_read_in_both_languages() {
        let read = |text: &str| ClosedTime::parse(text).map(|closed| closed.to_string());
        for (text, means) in [
            ("Tuesday evening", "Tue 18:00–23:59"),
            ("周二晚上", "Tue 18:00–23:59"),
            ("周二 18:00-22:30", "Tue 18:00–22:30"),
            ("tue 18:00–22:30", "Tue 18:00–22:30"),
            ("Saturdays", "Sat 00:00–23:59"),
            ("星期天上午", "Sun 00:00–12:00"),
            ("weekend", "Sat, Sun 00:00–23:59"),
            ("12:00-14:00", "12:00–14:00"),
            ("工作日 08:00-10:00", "Mon, Tue, Wed, Thu, Fri 08:00–10:00"),
        ] {
            assert_eq!(read(text).as_deref(), Some(means), "{text}");
        }
        for text in [
            "",
            "someday",
            "Tuesday soon",
            "18:00",
            "22:00-18:00",
            "周八",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn fixed_times_are_read_with_a_date_a_day_or_neither() {
        let read = |text: &str| fixed(text).map(|fixed| fixed.to_string());
        for (text, means) in [
            ("14:00", "14:00"),
            ("2026-03-10 14:00", "2026-03-10 14:00"),
            ("2026-03-10T14:00:00", "2026-03-10 14:00"),
            ("Tuesday 14:00", "Tue 14:00"),
            ("周二 14:00", "Tue 14:00"),
        ] {
            assert_eq!(read(text).as_deref(), Some(means), "{text}");
        }
        for text in ["", "Tuesday", "weekend 14:00", "2026-13-10 14:00", "25:00"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
