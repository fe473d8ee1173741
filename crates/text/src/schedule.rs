//! Times as people say them, converted to cron expressions.
use jiff::{SignedDuration, Span, Zoned, civil::Date};

use crate::{DateDirection, Recurrence, Time, TimeReference, dates};

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
    /// tomorrow, on a date or after a while. `None` if there is none, or if a part is not understood.
    pub fn of(text: &str, now: &Zoned) -> Option<Self> {
        let text = &narrow(text);
        let Some(reference) = TimeReference::of(text) else {
            return dated(text, now);
        };
        match reference {
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

/// Returns a text with numbers in half width, and with noon as a time of the clock.
fn narrow(text: &str) -> String {
    let digit = |c: char| match c {
        '０'..='９' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        c => c,
    };
    let text: String = text.chars().map(digit).collect();
    hours(&text.replace("at noon", "at 12:00"))
}

/// Writes a bare hour as a time of the clock where nothing else can be meant: "at 9 to call Anna".
fn hours(text: &str) -> String {
    const BEHIND: [&str; 10] = [
        "and", "every", "for", "on", "please", "remind", "that", "to", "today", "tomorrow",
    ];
    let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    let is_hour = |word: &str| {
        let digits = word.bytes().all(|byte| byte.is_ascii_digit());
        digits && word.parse::<u8>().is_ok_and(|hour| hour < 24)
    };
    let found = words.windows(2).position(|pair| match pair {
        [at, hour] => at.eq_ignore_ascii_case("at") && is_hour(hour),
        _ => false,
    });
    let behind = found.and_then(|at| words.get(at + 2));
    let ends = behind.is_none_or(|word| BEHIND.contains(&word.to_lowercase().as_str()));
    if let Some(hour) = found.filter(|_| ends).and_then(|at| words.get_mut(at + 1)) {
        hour.push_str(":00");
    }
    words.join(" ")
}

/// Returns the schedule of a time on the only date that a text names, if it is still to come.
fn dated(text: &str, now: &Zoned) -> Option<CronSchedule> {
    let found = dates(text, now.date(), DateDirection::Ahead);
    let [date] = found.dates.as_slice() else {
        return None;
    };
    let Some(TimeReference::Once(None, time)) = TimeReference::of(&found.rest) else {
        return None;
    };
    let then = at(*date, time, now)?;
    (then > *now).then(|| on(&then))
}

/// Returns this time of a day.
fn at(date: Date, time: Time, now: &Zoned) -> Option<Zoned> {
    let date = date
        .checked_add(Span::new().days(i64::from(time.next_day)))
        .ok()?;
    let time = date.at(time.hour, time.minute, 0, 0);
    time.to_zoned(now.time_zone().clone()).ok()
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
