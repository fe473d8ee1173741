//! Times as people say them, as cron expressions.
use jiff::{SignedDuration, Span, Zoned};

use crate::{Repeat, Said, Time, said};

/// When something is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct When {
    /// A cron expression: minute, hour, day, month, day of the week; a second before it and a year
    /// behind it if that is wanted.
    pub schedule: String,
    /// Whether it is due only once.
    pub once: bool,
}

/// The time that somebody's words name, said now: every day or on certain days, today, tomorrow or
/// in a while. None if there is none, or more is said than is understood.
pub fn when(text: &str, now: &Zoned) -> Option<When> {
    match said(text)? {
        Said::In(seconds) => {
            let wait = SignedDuration::from_secs(seconds);
            Some(on(&now.checked_add(wait).ok()?))
        }
        // Midnight after a day of the week or month is none of cron's.
        Said::Again(days, time) if time.next_day && days != Repeat::Daily => None,
        Said::Again(days, time) => Some(When {
            schedule: format!("{} {} {}", time.minute, time.hour, fields(&days)),
            once: false,
        }),
        Said::Once(day, time) => once(day, time, now),
    }
}

/// The days of the month, the months and the days of the week, as cron writes them.
fn fields(days: &Repeat) -> String {
    match days {
        Repeat::Daily => "* * *".to_owned(),
        days if *days == Repeat::workdays() => "* * 1-5".to_owned(),
        Repeat::Weekdays(days) => {
            let days = days
                .iter()
                .map(|day| day.to_sunday_zero_offset().to_string());
            format!("* * {}", days.collect::<Vec<_>>().join(","))
        }
        Repeat::Monthly(day) => format!("{day} * *"),
    }
}

/// The next such time, or that of the day that is named, if it is still to come.
fn once(day: Option<i64>, time: Time, now: &Zoned) -> Option<When> {
    let later = |then: &Zoned, days: i64| then.checked_add(Span::new().days(days)).ok();
    let midday = later(now, day.unwrap_or(0) + i64::from(time.next_day))?;
    let then = midday
        .with()
        .hour(time.hour)
        .minute(time.minute)
        .second(0)
        .subsec_nanosecond(0)
        .build()
        .ok()?;
    match day {
        _ if then > *now => Some(on(&then)),
        Some(_) => None,
        None => Some(on(&later(&then, 1)?)),
    }
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
