//! Times of jobs: cron expressions, and what people say in their place.
use croner::{
    Cron,
    parser::{CronParser, Seconds, Year},
};
use fugato::state::Millis;
use jiff::{SignedDuration, Timestamp, Zoned, tz::TimeZone};

/// When a job is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct When {
    /// A cron expression: minute, hour, day, month, day of the week; a second before it and a year
    /// behind it if that is wanted.
    pub schedule: String,
    /// Whether it is due only once.
    pub once: bool,
}

/// A cron expression cannot be used; the text says what can.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{schedule:?} is no schedule: {why}; five fields are one, such as \"30 8 * * 1-5\" for 8:30 from Monday to Friday"
)]
pub struct BadSchedule {
    /// What was given.
    pub schedule: String,
    /// What is wrong.
    pub why: String,
}

/// The next time after a time, in milliseconds since the Unix epoch; none if there is none.
pub fn next(schedule: &str, after: Millis, zone: &TimeZone) -> Result<Option<Millis>, BadSchedule> {
    let bad = |why: String| BadSchedule {
        schedule: schedule.to_owned(),
        why,
    };
    let cron = parsed(schedule).map_err(|error| bad(error.to_string()))?;
    let after = Timestamp::from_millisecond(after).map_err(|error| bad(error.to_string()))?;
    let found = cron.find_next_occurrence(&after.to_zoned(zone.clone()), false);
    Ok(found.ok().map(|next| next.timestamp().as_millisecond()))
}

fn parsed(schedule: &str) -> Result<Cron, croner::errors::CronError> {
    let parser = CronParser::builder()
        .seconds(Seconds::Optional)
        .year(Year::Optional)
        .build();
    parser.parse(schedule)
}

/// The time that somebody's words name, said at this time in this zone: every day or on certain
/// days, today, tomorrow or in a while.
pub fn of_words(text: &str, now: Millis, zone: &str) -> Option<When> {
    let zone = TimeZone::get(zone).unwrap_or_else(|_| TimeZone::system());
    let now = Timestamp::from_millisecond(now).ok()?;
    at(text, &now.to_zoned(zone))
}

fn at(text: &str, now: &Zoned) -> Option<When> {
    let text = text.to_lowercase();
    if let Some(wait) = wait(&text) {
        let then = now.checked_add(wait).ok()?;
        return Some(on(&then));
    }
    let (hour, minute) = clock(&text)?;
    if let Some(days) = every(&text) {
        let schedule = format!("{minute} {hour} * * {days}");
        return Some(When {
            schedule,
            once: false,
        });
    }
    let tomorrow = text.contains("明天") || text.contains("tomorrow");
    let days = u8::from(tomorrow) + 2 * u8::from(text.contains("后天"));
    let mut then = now
        .checked_add(SignedDuration::from_hours(24 * i64::from(days)))
        .ok()?;
    then = then
        .with()
        .hour(hour)
        .minute(minute)
        .second(0)
        .subsec_nanosecond(0)
        .build()
        .ok()?;
    if then <= *now {
        then = then.checked_add(SignedDuration::from_hours(24)).ok()?;
    }
    Some(on(&then))
}

/// Once, to the second.
fn on(then: &Zoned) -> When {
    let schedule = format!(
        "{} {} {} {} {} * {}",
        then.second(),
        then.minute(),
        then.hour(),
        then.day(),
        then.month(),
        then.year()
    );
    When {
        schedule,
        once: true,
    }
}

/// "in 10 minutes", 10分钟后.
fn wait(text: &str) -> Option<SignedDuration> {
    const UNITS: [(&str, i64); 10] = [
        ("秒后", 1),
        ("分钟后", 60),
        ("小时后", 3600),
        ("个小时后", 3600),
        (" seconds", 1),
        (" second", 1),
        (" minutes", 60),
        (" minute", 60),
        (" hours", 3600),
        (" hour", 3600),
    ];
    let (unit, seconds) = UNITS.into_iter().find(|(unit, _)| text.contains(unit))?;
    let before = text.split(unit).next()?.trim_end();
    if unit.starts_with(' ')
        && !before
            .trim_end_matches(|c: char| c.is_ascii_digit())
            .trim_end()
            .ends_with("in")
    {
        return None;
    }
    Some(SignedDuration::from_secs(
        last_number(before)?.checked_mul(seconds)?,
    ))
}

/// The days of the week of what comes again; none if it does not.
fn every(text: &str) -> Option<&'static str> {
    const DAYS: [(&str, &str); 9] = [
        ("工作日/weekday", "1-5"),
        ("每周一/every monday", "1"),
        ("每周二/every tuesday", "2"),
        ("每周三/every wednesday", "3"),
        ("每周四/every thursday", "4"),
        ("每周五/every friday", "5"),
        ("每周六/every saturday", "6"),
        ("每周日/每周天/every sunday", "0"),
        ("每天/每日/every day/daily/every morning", "*"),
    ];
    let says = |names: &str| names.split('/').any(|name| text.contains(name));
    let found = DAYS.into_iter().find(|(names, _)| says(names));
    found.map(|(_, days)| days)
}

/// The time of day: 8:30, 8点半, 下午3点, 3 pm.
fn clock(text: &str) -> Option<(i8, i8)> {
    let colon = text
        .split_once([':', '：'])
        .and_then(|(before, after)| Some((last_number(before)?, first_number(after)?)));
    let point = || {
        let (before, after) = text.split_once(['点', '時'])?;
        let minute = if after.starts_with('半') {
            30
        } else {
            first_number(after).unwrap_or(0)
        };
        Some((last_number(before)?, minute))
    };
    let half = || {
        let (before, _) = text
            .split_once(" pm")
            .or_else(|| text.split_once("pm"))
            .or_else(|| text.split_once(" am"))
            .or_else(|| text.split_once("am"))?;
        Some((last_number(before)?, 0))
    };
    let (hour, minute) = colon.or_else(point).or_else(half)?;
    let later = [
        "下午",
        "晚上",
        "傍晚",
        "pm",
        "in the evening",
        "in the afternoon",
    ];
    let later = hour < 12 && later.iter().any(|word| text.contains(word));
    let hour = i8::try_from(hour + if later { 12 } else { 0 }).ok()?;
    let minute = i8::try_from(minute).ok()?;
    ((0..24).contains(&hour) && (0..60).contains(&minute)).then_some((hour, minute))
}

/// The number with which a text ends, also in Chinese up to 12.
fn last_number(text: &str) -> Option<i64> {
    const CHINESE: [(&str, i64); 13] = [
        ("十二", 12),
        ("十一", 11),
        ("十", 10),
        ("九", 9),
        ("八", 8),
        ("七", 7),
        ("六", 6),
        ("五", 5),
        ("四", 4),
        ("三", 3),
        ("两", 2),
        ("二", 2),
        ("一", 1),
    ];
    let text = text.trim_end();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = text.get(digits.len()..).unwrap_or_default();
    if number.is_empty() {
        return CHINESE
            .into_iter()
            .find(|(word, _)| text.ends_with(word))
            .map(|(_, number)| number);
    }
    number.parse().ok()
}

fn first_number(text: &str) -> Option<i64> {
    let text = text.trim_start();
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    text.get(..text.len() - rest.len())?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sunday_noon() -> Zoned {
        "2026-11-22T12:00:00+00:00[UTC]".parse().unwrap()
    }

    #[test]
    fn trn_8_what_people_say_becomes_a_schedule() {
        for (text, schedule, once) in [
            ("每天早上8点提醒我喝水", "0 8 * * *", false),
            ("每周五下午五点半提醒我写周报", "30 17 * * 5", false),
            ("remind me every day at 9:05 to stretch", "5 9 * * *", false),
            ("工作日8:30提醒我", "30 8 * * 1-5", false),
            ("明天下午3点提醒我开会", "0 0 15 23 11 * 2026", true),
            ("remind me at 11:30 to eat", "0 30 11 23 11 * 2026", true),
            ("remind me at 3 pm", "0 0 15 22 11 * 2026", true),
            ("10分钟后提醒我", "0 10 12 22 11 * 2026", true),
            ("remind me in 90 seconds", "30 1 12 22 11 * 2026", true),
        ] {
            let when = When {
                schedule: schedule.into(),
                once,
            };
            assert_eq!(at(text, &sunday_noon()), Some(when), "{text}");
        }
        for text in [
            "提醒我",
            "remind me",
            "25点提醒我",
            "in the hours",
            "：",
            "点",
        ] {
            assert_eq!(at(text, &sunday_noon()), None, "{text}");
        }
    }

    #[test]
    fn trn_8_the_next_time_of_a_schedule() {
        let now = sunday_noon().timestamp().as_millisecond();
        let minute = 60_000;
        let zone = TimeZone::UTC;
        assert_eq!(next("10 12 * * *", now, &zone), Ok(Some(now + 10 * minute)));
        assert_eq!(
            next("30 1 12 22 11 * 2026", now, &zone),
            Ok(Some(now + 90_000))
        );
        assert_eq!(next("0 0 0 1 1 * 2020", now, &zone), Ok(None));
        let bad = next("every day", now, &zone).unwrap_err();
        assert!(bad.to_string().contains("five fields are one"), "{bad}");
    }
}
