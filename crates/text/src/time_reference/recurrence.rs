//! The days on which a time repeats.
use jiff::civil::Weekday;

use super::UnclearTime;
use crate::{
    calendar::{month, week, weekday, weekday_sign},
    number::{is_digit, number},
    time::english_wait,
    word::{after_word, word_positions},
};

/// The days of a repeated task.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Recurrence {
    /// Every day.
    Daily,
    /// On these days of each week, from Monday on.
    Weekdays(Vec<Weekday>),
    /// On this day of each month, from 1 to 31.
    Monthly(i8),
}

impl Recurrence {
    /// Returns the days from Monday to Friday.
    pub fn workdays() -> Self {
        let days = from_to(Weekday::Monday, Weekday::Friday);
        Self::Weekdays(days.into_iter().flatten().collect())
    }

    fn weekend() -> Self {
        Self::Weekdays(vec![Weekday::Saturday, Weekday::Sunday])
    }
}

/// Reads the repetition of the time at byte position `clock`; `None` if it does not repeat.
pub(super) fn read(text: &str, clock: usize) -> Result<Option<Recurrence>, UnclearTime> {
    let mut words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
    words.retain(|word| !word.is_empty());
    let (english, words) = every(&words)?;
    let (chinese, rest) = again(text, clock)?;
    if let Some(part) = unclear(&rest).or_else(|| unclear_in_english(&words)) {
        return Err(UnclearTime::new(part));
    }
    let days = match (chinese, english) {
        (Some(_), Some(_)) => return Err(UnclearTime::another(text)),
        (chinese, english) => chinese.or(english),
    };
    match end(text).filter(|_| days.is_some()) {
        Some(end) => Err(UnclearTime::new(end)),
        None => Ok(days),
    }
}

/// Reads a repetition after so many minutes, with its words: every 2 hours, 每隔半小时.
pub(super) fn interval(text: &str) -> Result<Option<(u32, &str)>, UnclearTime> {
    let english = word_positions(text, "every").find_map(|at| {
        let said = text.get(at + "every".len()..)?.trim_start();
        let one = after_word(said, &["hour", "minute"]).map(|rest| {
            let seconds = if said.starts_with("hour") { 3600 } else { 60 };
            (seconds, rest)
        });
        let (seconds, rest) = one.or_else(|| english_wait(said))?;
        Some((at, seconds, rest))
    });
    let chinese = || {
        let (before, said) = text.split_once('每')?;
        let said = said.strip_prefix('隔').unwrap_or(said);
        let (count, rest) = match number(said) {
            Some((count, rest)) => (count.checked_mul(2)?, rest),
            None if said.starts_with('半') => (1, said.strip_prefix('半')?),
            None => (2, said),
        };
        let rest = rest.strip_prefix('个').unwrap_or(rest);
        let units = [("小时", 1800), ("钟头", 1800), ("分钟", 30)];
        let (unit, seconds) = units.iter().find(|(unit, _)| rest.starts_with(unit))?;
        Some((
            before.len(),
            count.checked_mul(*seconds)?,
            rest.strip_prefix(unit)?,
        ))
    };
    let Some((at, seconds, rest)) = english.or_else(chinese) else {
        return Ok(None);
    };
    let said = text.get(at..text.len() - rest.len()).unwrap_or_default();
    let minutes = u32::try_from(seconds / 60)
        .ok()
        .filter(|minutes| i64::from(*minutes) * 60 == seconds);
    // A clock shows the same minutes in each hour, and the same hours on each day.
    let fits = |minutes: &u32| match minutes {
        1..=60 => 60_u32.is_multiple_of(*minutes),
        61..=720 => minutes.is_multiple_of(60) && 24_u32.is_multiple_of(minutes / 60),
        _ => false,
    };
    let minutes = minutes.filter(fits).ok_or_else(|| UnclearTime::new(said))?;
    let around = format!("{} {rest}", text.get(..at).unwrap_or_default());
    match (read(&around, around.len())?, end(text)) {
        (Some(_), _) => Err(UnclearTime::another(said)),
        (None, Some(end)) => Err(UnclearTime::new(end)),
        (None, None) => Ok(Some((minutes, said))),
    }
}

/// Returns the words with which a repetition would begin or end one day.
fn end(text: &str) -> Option<&str> {
    const ENDS: [&str; 5] = ["until", "till", "starting", "unless", "through"];
    const ENDS_ZH: [&str; 7] = ["为止", "直到", "截止", "除外", "除了", "年底", "月底"];
    let english = ENDS
        .iter()
        .flat_map(|word| word_positions(text, word))
        .min();
    if let Some(at) = english {
        return text.get(at..);
    }
    let at = ENDS_ZH.iter().filter_map(|word| text.find(word)).min()?;
    let marks = |c: char| c.is_whitespace() || "，,。；;".contains(c);
    let from = text.get(..at)?.rfind(marks);
    let part = text.get(from.unwrap_or(0)..)?.trim_matches(marks);
    Some(part.split(marks).next().unwrap_or(part))
}

/// Reads the days after 每, and returns the text without them; no days if nothing repeats.
fn again(text: &str, clock: usize) -> Result<(Option<Recurrence>, String), UnclearTime> {
    if let Some((before, said)) = text.split_once('每') {
        let from_here = clock.saturating_sub(text.len() - said.len());
        let Some((days, rest)) = repeated(said, from_here) else {
            let part: String = said.chars().take(3).collect();
            return Err(UnclearTime::new(format!("每{part}")));
        };
        return Ok((Some(days), format!("{before} {rest}")));
    }
    Ok(match text.split_once("工作日") {
        Some((before, behind)) => (Some(Recurrence::workdays()), format!("{before} {behind}")),
        None => (None, text.to_owned()),
    })
}

fn repeated(said: &str, clock: usize) -> Option<(Recurrence, &str)> {
    let unit = said.strip_prefix('个').unwrap_or(said);
    if let Some(rest) = unit.strip_prefix("工作日") {
        return Some((Recurrence::workdays(), rest));
    }
    if let Some(rest) = unit.strip_prefix("周末") {
        return Some((Recurrence::weekend(), rest));
    }
    let daily = ["天", "日", "早", "晚", "夜", "上午", "中午", "下午"];
    if let Some(rest) = daily.iter().find_map(|name| unit.strip_prefix(name)) {
        return Some((Recurrence::Daily, rest));
    }
    if let Some(rest) = unit.strip_prefix('月') {
        let (day, rest) = number(rest)?;
        let day = i8::try_from(day)
            .ok()
            .filter(|day| (1..=31).contains(day))?;
        return Some((Recurrence::Monthly(day), rest.strip_prefix(['号', '日'])?));
    }
    let rest = week(unit)?;
    let clock = clock.saturating_sub(said.len() - rest.len());
    let (days, rest) = weekdays(rest, clock)?;
    Some((Recurrence::Weekdays(days), rest))
}

/// Reads 一三五, 一、周三和周五, 一到五: up to the time, whose hour is no day.
fn weekdays(text: &str, clock: usize) -> Option<(Vec<Weekday>, &str)> {
    let (mut days, mut rest, mut range) = (vec![], text, false);
    loop {
        let next = rest.trim_start_matches(['、', '，', ',', '和', '及', '与', '跟', ' ']);
        let next = week(next).unwrap_or(next);
        let at_clock = text.len() - next.len() >= clock;
        let Some(day) = sign(next).filter(|_| !at_clock) else {
            break;
        };
        match days.last() {
            Some(last) if range => days.extend(from_to(*last, day)?.skip(1)),
            _ => days.push(day),
        }
        let mut behind = next.chars();
        behind.next();
        rest = behind.as_str();
        let to = rest.strip_prefix(['到', '至', '-', '~']);
        range = to.is_some();
        rest = to.unwrap_or(rest);
    }
    let rising = days.is_sorted_by(|a, b| a.to_monday_one_offset() < b.to_monday_one_offset());
    (rising && !range && !days.is_empty()).then_some((days, rest))
}

/// Returns the days of a week from one to another; `None` if the last comes before the first.
fn from_to(first: Weekday, last: Weekday) -> Option<impl Iterator<Item = Weekday>> {
    let (first, last) = (first.to_monday_one_offset(), last.to_monday_one_offset());
    let days = (first..=last).filter_map(|day| Weekday::from_monday_one_offset(day).ok());
    (first <= last).then_some(days)
}

/// Reads the character of a weekday at the beginning of a text.
fn sign(text: &str) -> Option<Weekday> {
    weekday_sign(text.chars().next()?)
}

/// Reads the days after "every", and returns the words without them; no days if nothing repeats.
fn every<'a>(words: &[&'a str]) -> Result<(Option<Recurrence>, Vec<&'a str>), UnclearTime> {
    let known = |word: &&str| matches!(*word, "every" | "each" | "daily" | "everyday" | "weekdays");
    let at = words.iter().position(known);
    let Some((before, [first, rest @ ..])) = at.and_then(|at| words.split_at_checked(at)) else {
        return Ok((None, words.to_vec()));
    };
    let (days, behind) = match *first {
        "daily" | "everyday" => (Recurrence::Daily, rest),
        "weekdays" => (Recurrence::workdays(), rest),
        _ => units(rest).ok_or_else(|| {
            let part = [&[*first], rest.get(..rest.len().min(2)).unwrap_or_default()].concat();
            UnclearTime::new(part.join(" "))
        })?,
    };
    Ok((Some(days), [before, behind].concat()))
}

fn units<'w, 'a>(words: &'w [&'a str]) -> Option<(Recurrence, &'w [&'a str])> {
    let (&unit, behind) = words.split_first()?;
    let days = match unit {
        "day" | "morning" | "afternoon" | "evening" | "night" => Recurrence::Daily,
        "weekday" | "workday" => Recurrence::workdays(),
        "weekend" => Recurrence::weekend(),
        _ => {
            let (mut days, mut left) = (vec![], words);
            while let Some((&word, behind)) = left.split_first() {
                match day_of(word) {
                    Some(day) => days.push(day),
                    None if word == "and" && !days.is_empty() => {}
                    None => break,
                }
                left = behind;
            }
            days.sort_by_key(|day| day.to_monday_one_offset());
            return (!days.is_empty()).then_some((Recurrence::Weekdays(days), left));
        }
    };
    Some((days, behind))
}

/// Returns the weekday that a word names.
fn day_of(word: &str) -> Option<Weekday> {
    let (day, rest) = weekday(word)?;
    rest.is_empty().then_some(day)
}

/// Returns the words of the rest of a text about days or a duration that were not understood.
fn unclear(text: &str) -> Option<String> {
    const WORDS: [&str; 25] = [
        "每",
        "工作日",
        "周末",
        "星期",
        "礼拜",
        "下周",
        "下个月",
        "下月",
        "明年",
        "后年",
        "天后",
        "天之后",
        "天以后",
        "周后",
        "月后",
        "提前",
        "分钟前",
        "小时前",
        "秒后",
        "分钟后",
        "小时后",
        "钟头后",
        "隔天",
        "隔日",
        "隔周",
    ];
    let week = || {
        let mut all = text.match_indices('周');
        all.find_map(|(at, week)| {
            let behind = text.get(at + week.len()..)?;
            let day = sign(behind).and_then(|_| behind.chars().next())?;
            Some(format!("周{day}"))
        })
    };
    let numbers = || {
        text.char_indices().find_map(|(at, _)| {
            let here = text.get(at..)?;
            let (_, rest) = number(here)?;
            let before = text.get(..at).unwrap_or_default();
            let date = rest.starts_with(['号', '日', '月', '年']);
            let parts = rest
                .strip_prefix(['-', '/'])
                .is_some_and(|rest| number(rest).is_some());
            let counts = |c: char| is_digit(c) || "月年-/".contains(c);
            let said = || {
                let end = here.find(|c| !counts(c)).unwrap_or(here.len());
                let day = here.get(end..)?.chars().next();
                let end = end
                    + day
                        .filter(|c| "号日".contains(*c))
                        .map_or(0, char::len_utf8);
                here.get(..end).map(str::to_owned)
            };
            (date || parts || before.ends_with('差')).then(said)?
        })
    };
    let named = WORDS.iter().filter(|word| text.contains(**word));
    let named = named.max_by_key(|word| word.len());
    named
        .map(|word| (*word).to_owned())
        .or_else(week)
        .or_else(numbers)
}

fn unclear_in_english(words: &[&str]) -> Option<String> {
    const WORDS: [&str; 22] = [
        "every",
        "daily",
        "everyday",
        "nightly",
        "hourly",
        "weekly",
        "monthly",
        "yearly",
        "annually",
        "fortnight",
        "weekday",
        "weekdays",
        "weekend",
        "weekends",
        "days",
        "weeks",
        "months",
        "years",
        "hours",
        "minutes",
        "seconds",
        "except",
    ];
    let is_number = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
    let is_month = |word: &&str| month(word).is_some();
    let pair = |pair: &[&str]| match pair {
        ["next", "week" | "month" | "year"] | ["on" | "next" | "this", "sat" | "sun"] => true,
        [a, b] => is_month(a) && is_number(b) || is_number(a) && is_month(b),
        _ => false,
    };
    let one = |word: &&str| {
        let ordinal = is_number(word)
            && ["st", "nd", "rd", "th"]
                .iter()
                .any(|end| word.ends_with(end));
        WORDS.contains(word) || day_of(word).is_some() || ordinal
    };
    let pair = words.windows(2).find(|words| pair(words));
    let one = || {
        words
            .iter()
            .find(|word| one(word))
            .map(|it| (*it).to_owned())
    };
    pair.map(|pair| pair.join(" ")).or_else(one)
}
