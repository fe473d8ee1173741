//! Times as people say them, converted to cron expressions.
mod slot;

use std::ops::Range;

use jiff::{SignedDuration, Span, Zoned, civil::Date};

use crate::{
    DayMention, DayReference, Recurrence, Time, TimeReference,
    date::planned,
    day_mentions, is_chinese, number, numerals,
    spelling::respell_days,
    time::leaves_half_open,
    time_reference::{self, UnclearTime},
};

/// A schedule as a cron expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CronExpression {
    /// A cron expression: minute, hour, day, month, day of the week; optionally a second before it
    /// and a year after it.
    pub expression: String,
    /// True if it is due only once.
    pub once: bool,
}

/// The reason why a text names no schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScheduleError {
    /// It names neither a day nor a time.
    NoTime,
    /// It names a day, and no time of the day.
    NoHour,
    /// It names another time beside the first, in these words.
    SeveralTimes(String),
    /// The time has passed.
    Past,
    /// These words about a time are not understood.
    Unclear(String),
}

impl CronExpression {
    /// Returns the schedule that a text names at the time `now`: every day or on certain days, every
    /// few hours, today, tomorrow, on a date or after a while. Days are read also where they are
    /// misspelled, and other words at the place of the time are an error.
    ///
    /// ```
    /// use fugato_text::{CronExpression, ScheduleError};
    ///
    /// let now = "2026-03-02T12:00[UTC]".parse()?;
    /// let of = |text| CronExpression::of(text, &now);
    /// assert_eq!(of("remind me at 6pm tomrrow to run"), of("remind me at 6pm tomorrow to run"));
    /// let unclear = |words: &str| Err(ScheduleError::Unclear(words.into()));
    /// assert_eq!(of("remind me on my birthday at 8 to run"), unclear("on my birthday"));
    /// assert_eq!(of("名天九点提醒我跑步"), unclear("名天"));
    /// # Ok::<(), jiff::Error>(())
    /// ```
    pub fn of(text: &str, now: &Zoned) -> Result<Self, ScheduleError> {
        let due = Self::read(text, now)?;
        let unread = slot::unread(&narrow(text), now);
        unread.map_or(Ok(due), |unread| Err(named(&unread, text)))
    }

    /// Returns the schedule that is named in a text, also beside words that are not understood.
    fn read(text: &str, now: &Zoned) -> Result<Self, ScheduleError> {
        let plain = &narrow(text);
        let unread = match TimeReference::read(plain) {
            Ok(Some(reference)) => return Self::at(&reference, plain, now),
            Ok(None) => None,
            Err(unclear) => Some(unclear),
        };
        match dated(plain, now) {
            Some(due) => due,
            None => Err(match unread {
                Some(unclear) => named(&of_days(plain, &unclear).unwrap_or(unclear), text),
                None => missing(plain, text, now),
            }),
        }
    }

    /// Returns this schedule, which is due next at `due`, at another time that a text names: a time of
    /// the day keeps the days, and a day keeps the time of the day.
    ///
    /// ```
    /// use fugato_text::CronExpression;
    ///
    /// let now = "2026-03-02T12:00[UTC]".parse()?;
    /// let due = "2026-03-03T17:00[UTC]".parse()?;
    /// let call = CronExpression::of("tomorrow at 5pm", &now).unwrap();
    /// let moved = |text| call.moved(&due, text, &now).unwrap().expression;
    /// assert_eq!(moved("6"), "0 0 18 3 3 * 2026");
    /// assert_eq!(moved("周五"), "0 0 17 6 3 * 2026");
    /// # Ok::<(), jiff::Error>(())
    /// ```
    pub fn moved(&self, due: &Zoned, text: &str, now: &Zoned) -> Result<Self, ScheduleError> {
        let plain = &narrow(&format!("at {}", text.trim())).to_lowercase();
        let found = planned(plain, now.date());
        let unclear = || ScheduleError::Unclear(text.to_owned());
        let ahead = |date, time| {
            let then = at(date, time, now).ok_or_else(unclear)?;
            (then > *now).then(|| on(&then)).ok_or(ScheduleError::Past)
        };
        match TimeReference::read(plain) {
            Ok(Some(TimeReference::Once(None, mut time))) if found.dates.is_empty() => {
                let apart = |hour: i8| (hour - due.hour()).abs();
                if leaves_half_open(plain) && apart(time.hour + 12) < apart(time.hour) {
                    time.hour += 12;
                }
                if self.once {
                    return ahead(due.date(), time);
                }
                let fields: Vec<&str> = self.expression.split(' ').collect();
                match *fields {
                    [minute, hour, day, month, week] if !time.next_day => {
                        let is_plain = |it: &str| it.bytes().all(|byte| byte.is_ascii_digit());
                        let is_daily = is_plain(minute) && is_plain(hour);
                        let (minute, hour) = (time.minute, time.hour);
                        let expression = format!("{minute} {hour} {day} {month} {week}");
                        let once = false;
                        is_daily
                            .then_some(Self { expression, once })
                            .ok_or_else(unclear)
                    }
                    _ => Err(unclear()),
                }
            }
            _ => match (Self::of(plain, now), found.dates.as_slice()) {
                (Err(ScheduleError::NoHour), [date]) if self.once => {
                    ahead(*date, Time::new(due.hour(), due.minute()))
                }
                (Err(error), _) => Err(error),
                // One time is no change of a repeated one.
                (Ok(moved), _) if moved.once && !self.once => Err(unclear()),
                (Ok(moved), _) => Ok(moved),
            },
        }
    }

    /// Returns the schedule of a time in a text.
    fn at(reference: &TimeReference, text: &str, now: &Zoned) -> Result<Self, ScheduleError> {
        match reference {
            TimeReference::In(0) => Err(ScheduleError::Past),
            TimeReference::In(seconds) => {
                let wait = SignedDuration::from_secs(*seconds);
                let then = now.checked_add(wait);
                let then = then.map_err(|_| ScheduleError::Unclear(text.to_owned()))?;
                Ok(on(&then))
            }
            // Cron cannot express midnight at the end of a day of the week or month.
            TimeReference::Again(days, time) if time.next_day && *days != Recurrence::Daily => {
                Err(ScheduleError::Unclear(text.to_owned()))
            }
            TimeReference::Again(days, time) => Ok(Self {
                expression: format!("{} {} {}", time.minute, time.hour, fields(days)),
                once: false,
            }),
            TimeReference::Every(minutes) => Ok(Self {
                expression: match minutes {
                    1 => "* * * * *".to_owned(),
                    2..60 => format!("*/{minutes} * * * *"),
                    60 => "0 * * * *".to_owned(),
                    _ => format!("0 */{} * * *", minutes / 60),
                },
                once: false,
            }),
            TimeReference::Once(day, time) => once(*day, *time, now).ok_or(ScheduleError::Past),
        }
    }
}

/// Returns the error for several days, or for days from one to another, of which one was unclear.
fn of_days(plain: &str, unclear: &UnclearTime) -> Option<UnclearTime> {
    if unclear.is_another || day_mentions(&unclear.part).is_empty() {
        return None;
    }
    let lower = plain.to_lowercase();
    let mentions = day_mentions(&lower);
    let said = |day: &DayMention| lower.get(day.range.clone());
    match mentions.as_slice() {
        [_, second, ..] if !second.is_excluded && !second.joined => {
            said(second).map(UnclearTime::another)
        }
        [day] if matches!(day.days, DayReference::Span(..)) => said(day).map(UnclearTime::new),
        _ => None,
    }
}

/// Returns the error for words that are not understood, as they stand in the text.
fn named(unclear: &UnclearTime, text: &str) -> ScheduleError {
    let at = text.to_lowercase().find(&unclear.part);
    let said = at.and_then(|at| text.get(at..at + unclear.part.len()));
    let same = said.filter(|said| said.to_lowercase() == unclear.part);
    let part = same.map_or_else(|| unclear.part.clone(), str::to_owned);
    if unclear.is_another {
        ScheduleError::SeveralTimes(part)
    } else {
        ScheduleError::Unclear(part)
    }
}

/// Returns the error for a text without a time of the day.
fn missing(plain: &str, text: &str, now: &Zoned) -> ScheduleError {
    let found = planned(plain, now.date());
    match (TimeReference::repeats(&found.rest), found.dates.as_slice()) {
        (Err(unclear), _) => named(&unclear, text),
        (Ok(false), []) if time_reference::names_day(plain) => ScheduleError::NoHour,
        (Ok(false), []) => ScheduleError::NoTime,
        (Ok(false), [day]) if *day < now.date() => ScheduleError::Past,
        (Ok(true), []) | (Ok(false), [_]) => ScheduleError::NoHour,
        _ => ScheduleError::SeveralTimes(text.to_owned()),
    }
}

/// The longest text in characters whose time is looked for at each place.
const LONGEST: usize = 200;

/// Returns a text without the words at its beginning or its end that name its time and nothing else:
/// what is to be done, so that "tomorrow" is not said again when it is due.
///
/// ```
/// use fugato_text::{CronExpression, untimed};
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
    let Some(named) = named_part(text, &now) else {
        return text;
    };
    let (before, behind) = (text.get(..named.start), text.get(named.end..));
    let is_word = |c: char| c.is_ascii_alphanumeric();
    let mark = |c: char| c.is_whitespace() || "，,。.；;、：:".contains(c);
    let (mut before, mut behind) = (before.unwrap_or_default(), behind.unwrap_or_default());
    for word in ["every", "each", "in", "at", "on", "by", "from"] {
        let cut = before.trim_end().strip_suffix(word);
        before = cut.filter(|it| !it.ends_with(is_word)).unwrap_or(before);
    }
    for word in ["分", "整", "钟", "左右"] {
        behind = behind.strip_prefix(word).unwrap_or(behind);
    }
    let (before, behind) = (before.trim_matches(mark), behind.trim_matches(mark));
    match (before, behind) {
        // The day may stand before what is to be done, and the time of the day behind it.
        ("", "") => behind_day(text, &now).unwrap_or(text),
        ("", behind) => plain_task(behind),
        (before, "") => before,
        _ => text,
    }
}

/// Returns the bytes of the shortest whole words of a text that name its schedule.
fn named_part(text: &str, now: &Zoned) -> Option<Range<usize>> {
    let whole = CronExpression::read(text, now).ok()?;
    let is_same = |part: Option<&str>| {
        part.is_some_and(|part| CronExpression::read(part, now).as_ref() == Ok(&whole))
    };
    let starts = || text.char_indices().map(|(at, _)| at);
    let mut ends = starts().skip(1).chain([text.len()]);
    let end = ends.find(|end| is_same(text.get(..*end)))?;
    let begins = starts().take_while(|at| *at < end);
    let begin = begins.filter(|at| is_same(text.get(*at..end))).last()?;
    let is_word = |c: char| c.is_ascii_alphanumeric();
    let is_time = |c: char| is_word(c) || c == ':';
    let (mut before, mut behind) = (text.get(..begin)?, text.get(end..)?);
    // A word that goes on belongs to it: in 10点call the next one begins.
    if text.get(begin..)?.starts_with(is_word) {
        before = before.trim_end_matches(is_word);
    }
    if text.get(..end)?.ends_with(is_time) {
        behind = behind.trim_start_matches(is_time);
    }
    Some(before.len()..text.len() - behind.len())
}

/// Returns what is to be done without the word before it: "to call Anna", "about the dentist".
fn plain_task(text: &str) -> &str {
    let words = ["to ", "that ", "about ", "of "];
    let mut words = words.iter().filter_map(|word| text.strip_prefix(word));
    words.next().unwrap_or(text)
}

/// Returns what is to be done between the day at the beginning of a text and the time of the day at
/// its end.
fn behind_day<'t>(text: &'t str, now: &Zoned) -> Option<&'t str> {
    let lower = text.to_ascii_lowercase();
    let names_day = |end: &usize| {
        let Some((head, rest)) = lower.split_at_checked(*end) else {
            return false;
        };
        let found = planned(head, now.date());
        let alone = matches!(found.rest.trim(), "" | "on" | "on the");
        let ends = !rest.starts_with(|c: char| c.is_ascii_alphanumeric());
        found.dates.len() == 1 && alone && ends
    };
    let ends = text.char_indices().map(|(at, _)| at);
    let end = ends.take_while(|end| *end <= 40).filter(names_day).last()?;
    let mark = |c: char| c.is_whitespace() || "，,。.；;、：:".contains(c);
    let rest = text.get(end..)?.trim_matches(mark);
    CronExpression::of(rest, now).ok()?;
    let task = plain_task(untimed(rest, now));
    (task != plain_task(rest)).then_some(task)
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

/// Returns a text with numbers in half width, days as they are spelled, and noon and half past nine as times of the clock.
fn narrow(text: &str) -> String {
    let digit = |c: char| match c {
        '０'..='９' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        c => c,
    };
    let text: String = text.chars().map(digit).collect();
    let text = respell_days(&text);
    // In Chinese a digit may begin the next word, as in 8点一起吃饭.
    let text = if is_chinese(&text) {
        text
    } else {
        numerals(&text)
    };
    hours(&quarters(&noon(&text).replace("at noon", "at 12:00")))
}

/// Writes a noon of which no hour is told as the hour: 周五中午交房租.
fn noon(text: &str) -> String {
    const NOON: &str = "中午";
    let behind = text.split_once(NOON).map(|(_, behind)| behind);
    let is_told = |behind: &str| number(behind.trim_start()).is_some();
    match behind.filter(|behind| !is_told(behind)) {
        Some(_) => text.replacen(NOON, "中午12点", 1),
        None => text.to_owned(),
    }
}

/// Writes the times that English words tell as times of the clock, "at six" and "half past three"; numbers
/// that tell no time stay.
///
/// ```
/// let said = fugato_text::in_clock_times("call two friends tomorrow at half past three");
/// assert_eq!(said, "call two friends tomorrow at 3:30");
/// ```
pub fn in_clock_times(text: &str) -> String {
    let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    let is = |word: Option<&String>, known: &[&str]| {
        word.is_some_and(|word| known.iter().any(|it| word.eq_ignore_ascii_case(it)))
    };
    for at in 1..words.len() {
        let (before, rest) = words.split_at_mut(at);
        let quarter = before.len().checked_sub(2).and_then(|at| before.get(at));
        let leads = is(before.last(), &["at"])
            || is(before.last(), &["past"]) && is(quarter, &["half", "quarter"])
            || is(before.last(), &["to"]) && is(quarter, &["quarter"]);
        let Some(word) = rest.first_mut().filter(|_| leads) else {
            continue;
        };
        let end = word
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(word.len());
        let (told, tail) = word.split_at(end);
        let hour = numerals(told).parse::<u8>().ok();
        if let Some(hour @ 1..=12) = hour {
            *word = format!("{hour}{tail}");
        }
    }
    hours(&quarters(&words.join(" ")))
}

/// Writes "half past 9", "quarter past 9" and "a quarter to 9" as times of the clock.
fn quarters(text: &str) -> String {
    let mut words: Vec<&str> = text.split(' ').collect();
    let mut clock = String::new();
    let found = words.windows(3).position(|three| {
        let [part, side, hour] = three else {
            return false;
        };
        let is = |word: &str, known: &str| word.eq_ignore_ascii_case(known);
        let digits = hour.len() - hour.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, rest) = hour.split_at(digits);
        let minute = match () {
            () if is(part, "half") && is(side, "past") => 30,
            () if is(part, "quarter") && is(side, "past") => 15,
            () if is(part, "quarter") && is(side, "to") => 45,
            () => return false,
        };
        let Some(hour) = number.parse::<u8>().ok().filter(|hour| *hour < 24) else {
            return false;
        };
        let hour = match (minute, hour) {
            (45, 0) => 23,
            (45, 1) => 12,
            (45, hour) => hour - 1,
            (_, hour) => hour,
        };
        clock = format!("{hour}:{minute}{rest}");
        true
    });
    if let Some(at) = found {
        let article = at.checked_sub(1).filter(|at| words.get(*at) == Some(&"a"));
        words.splice(article.unwrap_or(at)..at + 3, [clock.as_str()]);
    }
    words.join(" ")
}

/// Writes bare hours as times of the clock where nothing else can be meant: "at 9 to call Anna".
fn hours(text: &str) -> String {
    const BEHIND: [&str; 14] = [
        "and", "every", "for", "in", "on", "please", "remind", "that", "then", "to", "today",
        "tomorrow", "tonight", "until",
    ];
    let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    for at in 1..words.len() {
        let (before, rest) = words.split_at_mut(at);
        let [hour, behind @ ..] = rest else {
            continue;
        };
        let said = hour.trim_end_matches(['.', ',', '!']);
        let ends = said.len() < hour.len()
            || behind
                .first()
                .is_none_or(|word| BEHIND.contains(&word.to_lowercase().as_str()));
        let digits = said.bytes().all(|byte| byte.is_ascii_digit());
        let is_hour = digits && said.parse::<u8>().is_ok_and(|hour| hour < 24);
        let follows = before
            .last()
            .is_some_and(|word| word.eq_ignore_ascii_case("at"));
        if follows && is_hour && ends {
            *hour = format!("{said}:00{}", hour.get(said.len()..).unwrap_or_default());
        }
    }
    words.join(" ")
}

/// Returns the schedule of a time on the only date that a text names; `None` if there is no such date
/// and time.
fn dated(text: &str, now: &Zoned) -> Option<Result<CronExpression, ScheduleError>> {
    let found = planned(text, now.date());
    let [date] = found.dates.as_slice() else {
        return None;
    };
    let Some(TimeReference::Once(None, time)) = TimeReference::of(&found.rest) else {
        return None;
    };
    let then = at(*date, time, now)?;
    let is_ahead = then > *now;
    Some(is_ahead.then(|| on(&then)).ok_or(ScheduleError::Past))
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
fn once(day: Option<i64>, time: Time, now: &Zoned) -> Option<CronExpression> {
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
fn on(then: &Zoned) -> CronExpression {
    let expression = format!(
        "{} {} {} {} {} * {}",
        then.second(),
        then.minute(),
        then.hour(),
        then.day(),
        then.month(),
        then.year()
    );
    CronExpression {
        expression,
        once: true,
    }
}
