//! The days on which a time repeats.
use jiff::civil::Weekday;

use crate::{
    calendar::{month, week, weekday, weekday_sign},
    number::number,
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

/// The error for words about days that are not understood.
pub(super) struct UnclearDays;

/// Reads the repetition of the time at byte position `clock`; `None` if it does not repeat.
pub(super) fn read(text: &str, clock: usize) -> Result<Option<Recurrence>, UnclearDays> {
    let mut words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
    words.retain(|word| !word.is_empty());
    let (english, words) = every(&words).ok_or(UnclearDays)?;
    let (chinese, rest) = again(text, clock).ok_or(UnclearDays)?;
    if is_unclear(&rest) || is_unclear_in_english(&words) {
        return Err(UnclearDays);
    }
    match (chinese, english) {
        (Some(_), Some(_)) => Err(UnclearDays),
        (chinese, english) => Ok(chinese.or(english)),
    }
}

/// Reads the days after 每, and returns the text without them; no days if nothing repeats.
fn again(text: &str, clock: usize) -> Option<(Option<Recurrence>, String)> {
    if let Some(at) = text.find('每') {
        let said = text.get(at + '每'.len_utf8()..)?;
        let (days, rest) = repeated(said, clock.saturating_sub(text.len() - said.len()))?;
        return Some((Some(days), format!("{} {rest}", text.get(..at)?)));
    }
    Some(match text.split_once("工作日") {
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
fn every<'a>(words: &[&'a str]) -> Option<(Option<Recurrence>, Vec<&'a str>)> {
    let known = |word: &&str| matches!(*word, "every" | "each" | "daily" | "everyday" | "weekdays");
    let Some(at) = words.iter().position(known) else {
        return Some((None, words.to_vec()));
    };
    let (before, rest) = words.split_at(at);
    let (&first, rest) = rest.split_first()?;
    let (days, behind) = match first {
        "daily" | "everyday" => (Recurrence::Daily, rest),
        "weekdays" => (Recurrence::workdays(), rest),
        _ => units(rest)?,
    };
    Some((Some(days), [before, behind].concat()))
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

/// Returns true if the rest of a text mentions days or a duration that were not understood.
fn is_unclear(text: &str) -> bool {
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
        all.any(|(at, week)| text.get(at + week.len()..).and_then(sign).is_some())
    };
    let numbers = || {
        text.char_indices().any(|(at, _)| {
            let Some((_, rest)) = text.get(at..).and_then(number) else {
                return false;
            };
            let before = text.get(..at).unwrap_or_default();
            let date = rest.starts_with(['号', '日', '月', '年']);
            let parts = rest
                .strip_prefix(['-', '/'])
                .is_some_and(|rest| number(rest).is_some());
            date || parts || before.ends_with('差')
        })
    };
    WORDS.iter().any(|word| text.contains(word)) || week() || numbers()
}

fn is_unclear_in_english(words: &[&str]) -> bool {
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
    words.iter().any(one) || words.windows(2).any(pair)
}
