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

/// The longest text in characters whose time is looked for at each place.
const LONGEST: usize = 200;

/// Returns a text without the words at its beginning or its end that name its time and nothing else:
/// what is to be done, so that "tomorrow" is not said again when it is due.
///
/// ```
/// use fugato_text::{CronSchedule, untimed};
///
/// let now = "2026-03-02T12:00+08:00[Asia/Shanghai]".parse()?;
/// assert_eq!(untimed("call Bert at the office tomorrow at 6pm", &now), "call Bert at the office");
/// assert_eq!(untimed("明天下午3点开会", &now), "开会");
/// # Ok::<(), jiff::Error>(())
/// ```
pub fn untimed<'t>(text: &'t str, now: &Zoned) -> &'t str {
    // Of a time that has passed today the same words name tomorrow's.
    let (Ok(now), true) = (now.start_of_day(), text.chars().count() <= LONGEST) else {
        return text;
    };
    let Some(whole) = CronSchedule::of(text, &now) else {
        return text;
    };
    let is_same = |part: Option<&str>| {
        part.is_some_and(|part| CronSchedule::of(part, &now).as_ref() == Some(&whole))
    };
    // The shortest part that names the same time.
    let starts = || text.char_indices().map(|(at, _)| at);
    let mut ends = starts().skip(1).chain([text.len()]);
    let Some(end) = ends.find(|end| is_same(text.get(..*end))) else {
        return text;
    };
    let begins = starts().take_while(|at| *at < end);
    let begin = begins.filter(|at| is_same(text.get(*at..end))).last();
    let (before, behind) = (text.get(..begin.unwrap_or(0)), text.get(end..));
    let is_word = |c: char| c.is_ascii_alphanumeric();
    let mark = |c: char| c.is_whitespace() || "，,。.；;、：:".contains(c);
    let mut before = before.unwrap_or_default().trim_end_matches(is_word);
    let is_time = |c: char| is_word(c) || c == ':';
    let mut behind = behind.unwrap_or_default().trim_start_matches(is_time);
    for word in ["every", "each", "in", "at", "on", "by", "from"] {
        let cut = before.trim_end().strip_suffix(word);
        before = cut.filter(|it| !it.ends_with(is_word)).unwrap_or(before);
    }
    for word in ["分", "整", "钟", "左右"] {
        behind = behind.strip_prefix(word).unwrap_or(behind);
    }
    let (before, mut behind) = (before.trim_matches(mark), behind.trim_matches(mark));
    for word in ["to ", "that "] {
        behind = behind.strip_prefix(word).unwrap_or(behind);
    }
    match (before, behind) {
        ("", "") => text,
        ("", behind) => behind,
        (before, "") => before,
        _ => text,
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
