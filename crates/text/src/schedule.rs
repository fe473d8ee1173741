//! Times as people say them, converted to cron expressions.
use jiff::{SignedDuration, Span, Zoned};

use crate::{Recurrence, Time, TimeReference};

/// A schedule as a cron expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CronSchedule {
    /// A cron expression: minute, hour, day, month, day of the week; optionally a second before it
    /// and a year after it.
    pub expression: String,
    /// True if it is due only once.
    pub once: bool,
}

impl CronSchedule {
    /// Returns the schedule that a text names at the time `now`: every day or on certain days, today,
    /// tomorrow or after a while. `None` if there is none, or if a part is not understood.
    pub fn of(text: &str, now: &Zoned) -> Option<Self> {
        match TimeReference::of(text)? {
            TimeReference::In(seconds) => {
                let wait = SignedDuration::from_secs(seconds);
                Some(on(&now.checked_add(wait).ok()?))
            }
            // Cron cannot express midnight at the end of a day of the week or month.
            TimeReference::Again(days, time) if time.next_day && days != Recurrence::Daily => None,
            TimeReference::Again(days, time) => Some(Self {
                expression: format!("{} {} {}", time.minute, time.hour, fields(&days)),
                once: false,
            }),
            TimeReference::Once(day, time) => once(day, time, now),
        }
    }
}

/// Returns the cron fields for the days of the month, the months and the days of the week.
fn fields(days: &Recurrence) -> String {
    match days {
        Recurrence::Daily => "* * *".to_owned(),
        days if *days == Recurrence::workdays() => "* * 1-5".to_owned(),
        Recurrence::Weekdays(days) => {
            let days = days
                .iter()
                .map(|day| day.to_sunday_zero_offset().to_string());
            format!("* * {}", days.collect::<Vec<_>>().join(","))
        }
        Recurrence::Monthly(day) => format!("{day} * *"),
    }
}

/// Returns the next such time, or that of the named day if it is still to come.
fn once(day: Option<i64>, time: Time, now: &Zoned) -> Option<CronSchedule> {
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

/// Returns a schedule of one moment, to the second.
fn on(then: &Zoned) -> CronSchedule {
    let expression = format!(
        "{} {} {} {} {} * {}",
        then.second(),
        then.minute(),
        then.hour(),
        then.day(),
        then.month(),
        then.year()
    );
    CronSchedule {
        expression,
        once: true,
    }
}
