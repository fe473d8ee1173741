//! The words that name days, in Chinese and English.
//!
//! The words are data: every rule is a list of phrases, so that a language is added by adding
//! lines.
use std::collections::BTreeSet;

use fugato::words::{self, WEEK_SIGNS, after_word, near_day, weekday, weekday_sign};
use jiff::civil::Weekday;

/// The days that a text names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mention {
    /// Day numbers, both included.
    Days(i32, i32),
    /// A number of days after today.
    FromToday(i32),
    /// Numbered weeks, both included.
    Weeks(i32, i32),
    /// A number of weeks after the current one.
    NextWeek(i32),
    /// Names of days: Monday is 1.
    Weekdays(BTreeSet<u8>),
}

/// A mention and its context in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MentionInText {
    pub(super) mention: Mention,
    /// True if only a word like "of" separates it from the mention before.
    pub(super) joined: bool,
    /// True if a word of direction precedes it, so that it is a destination.
    pub(super) is_target: bool,
}

const WEEKS: &[(&str, i32)] = &[
    ("the week after next", 2),
    ("week after next", 2),
    ("下下星期", 2),
    ("下下周", 2),
    ("下下礼拜", 2),
    ("next week", 1),
    ("coming week", 1),
    ("下个星期", 1),
    ("下个礼拜", 1),
    ("下星期", 1),
    ("下礼拜", 1),
    ("下周", 1),
    ("this week", 0),
    ("current week", 0),
    ("这个星期", 0),
    ("这星期", 0),
    ("本星期", 0),
    ("这周", 0),
    ("本周", 0),
];
const GROUPS: &[(&str, &[u8])] = &[
    ("weekends", &[6, 7]),
    ("weekend", &[6, 7]),
    ("周末", &[6, 7]),
    ("weekdays", &[1, 2, 3, 4, 5]),
    ("weekday", &[1, 2, 3, 4, 5]),
    ("working days", &[1, 2, 3, 4, 5]),
    ("workdays", &[1, 2, 3, 4, 5]),
    ("workday", &[1, 2, 3, 4, 5]),
    ("工作日", &[1, 2, 3, 4, 5]),
];
const TO: &[&str] = &[
    "到", "至", "-", "–", "—", "~", "～", "to", "through", "until",
];
const GLUE: &[&str] = &["", "的", "of", "in", "on", "'s", "of the", "'s", "里的"];
const TARGETS: &[&str] = &[
    "移到",
    "挪到",
    "改到",
    "调到",
    "放到",
    "排到",
    "移至",
    "调至",
    "安排到",
    "换到",
    "to",
    "onto",
];

/// Returns all mentions in the order of the text, which must be in lower case.
pub(super) fn mentions(text: &str) -> Vec<MentionInText> {
    let mut found = Vec::new();
    let mut rest = text;
    let mut gap = String::new();
    let mut before = String::new();
    while let Some(next) = rest.chars().next() {
        if let Some((mention, tail)) = mention(rest, &before) {
            found.push(MentionInText {
                mention,
                joined: !found.is_empty() && GLUE.contains(&gap.trim()),
                is_target: is_target(&before),
            });
            before.push_str(rest.strip_suffix(tail).unwrap_or_default());
            rest = tail;
            gap.clear();
        } else {
            gap.push(next);
            before.push(next);
            rest = rest.get(next.len_utf8()..).unwrap_or_default();
        }
    }
    found
}

fn is_target(before: &str) -> bool {
    let before = before.trim_end();
    let before = before.strip_suffix(" the").unwrap_or(before);
    TARGETS.iter().any(|word| {
        before
            .strip_suffix(word)
            .is_some_and(|head| !word.is_ascii() || head.ends_with(' '))
    })
}

fn mention<'t>(rest: &'t str, before: &str) -> Option<(Mention, &'t str)> {
    let starts_word = !before.ends_with(|c: char| c.is_ascii_alphanumeric());
    if rest.starts_with(|c: char| c.is_ascii_alphabetic()) && !starts_word {
        return None;
    }
    ordinal(rest)
        .or_else(|| from_today(rest))
        .or_else(|| week(rest))
        .or_else(|| group(rest))
        .or_else(|| names(rest, before))
}

/// Reads a day relative to today; none for a day in the past, where nothing can be placed.
fn from_today(rest: &str) -> Option<(Mention, &str)> {
    let (days, rest) = near_day(rest)?;
    let days = i32::try_from(days).ok().filter(|days| *days >= 0)?;
    Some((Mention::FromToday(days), rest))
}

/// Reads `第3天`, `第3天到第5天`, `第2周`, `day 3`, `days 3-5`, `week 2`, `weeks 2-3`.
fn ordinal(rest: &str) -> Option<(Mention, &str)> {
    if let Some(tail) = rest.strip_prefix('第') {
        return chinese_ordinal(tail);
    }
    let range = |label, names: &[&str]| {
        let (first, tail) = labelled(rest, names)?;
        let (last, tail) = range_end(tail, label).unwrap_or((first, tail));
        Some((first, last, tail))
    };
    if let Some((first, last, tail)) = range("day ", &["days ", "day ", "day#"]) {
        return Some((Mention::Days(first, last), tail));
    }
    let (first, last, tail) = range("week ", &["weeks ", "week "])?;
    Some((Mention::Weeks(first, last), tail))
}

/// Reads the text after `第`: one number or two, and the unit after the last or after both.
fn chinese_ordinal(tail: &str) -> Option<(Mention, &str)> {
    let (first, tail) = number(tail)?;
    let end = |tail| range_end(tail, "第").and_then(|(last, tail)| Some((last, unit(tail)?)));
    match (unit(tail), end(unit(tail).map_or(tail, |(_, tail)| tail))) {
        (_, Some((last, (kind, tail)))) => Some((kind(first, last), tail)),
        (Some((kind, tail)), None) => Some((kind(first, first), tail)),
        (None, None) => None,
    }
}

type Range = fn(i32, i32) -> Mention;

/// Reads `天` or `周`, and returns the kind of mention for its numbers.
fn unit(tail: &str) -> Option<(Range, &str)> {
    if let Some(tail) = tail.strip_prefix(['天', '日']) {
        return Some((Mention::Days, tail));
    }
    let tail = tail.strip_prefix('个').unwrap_or(tail);
    let tail = WEEK_SIGNS.iter().find_map(|word| tail.strip_prefix(word))?;
    Some((Mention::Weeks, tail))
}

fn labelled<'t>(rest: &'t str, labels: &[&str]) -> Option<(i32, &'t str)> {
    labels
        .iter()
        .find_map(|label| number(rest.strip_prefix(label)?.trim_start()))
}

/// Reads the end of a range: `到第5`, `- 5`, ` to day 5`.
fn range_end<'t>(rest: &'t str, label: &str) -> Option<(i32, &'t str)> {
    let rest = rest.trim_start();
    let rest = TO
        .iter()
        .find_map(|word| rest.strip_prefix(word))?
        .trim_start();
    number(rest.strip_prefix(label).unwrap_or(rest))
}

fn week(rest: &str) -> Option<(Mention, &str)> {
    let (weeks, tail) = phrase(rest, WEEKS)?;
    // "下周三" is a week and a day: the sign for week serves both.
    let used = rest.strip_suffix(tail)?;
    let shared = WEEK_SIGNS.iter().find(|word| used.ends_with(**word));
    if let Some(word) = shared
        && tail.chars().next().and_then(weekday_digit).is_some()
    {
        return Some((
            Mention::NextWeek(weeks),
            rest.get(rest.len() - tail.len() - word.len()..)?,
        ));
    }
    Some((Mention::NextWeek(weeks), tail))
}

fn group(rest: &str) -> Option<(Mention, &str)> {
    let (days, rest) = phrase(rest, GROUPS)?;
    Some((Mention::Weekdays(days.iter().copied().collect()), rest))
}

/// Reads `周一`, `周一到周五`, `星期三`, `friday`, `monday to friday`, `next monday`.
fn names<'t>(rest: &'t str, before: &str) -> Option<(Mention, &'t str)> {
    if let Some(tail) = rest.strip_prefix("next ")
        && name(tail, "").is_some()
    {
        return Some((Mention::NextWeek(1), tail));
    }
    if let Some(tail) = rest.strip_prefix("this ")
        && name(tail, "").is_some()
    {
        return Some((Mention::NextWeek(0), tail));
    }
    let (first, tail) = name(rest, before)?;
    let end = tail.trim_start();
    let last = TO
        .iter()
        .find_map(|word| end.strip_prefix(word))
        .map(str::trim_start);
    if let Some((last, tail)) = last.and_then(|end| name(end, "").or_else(|| bare_digit(end)))
        && first <= last
    {
        return Some((Mention::Weekdays((first..=last).collect()), tail));
    }
    Some((Mention::Weekdays(BTreeSet::from([first])), tail))
}

fn name<'t>(rest: &'t str, before: &str) -> Option<(u8, &'t str)> {
    // "一周一次" is once a week, not Monday.
    let last = before.chars().next_back();
    let counts = last.is_some_and(|c| c.is_ascii_digit() || words::digit(c).is_some());
    let prefix = WEEK_SIGNS.iter().find_map(|word| rest.strip_prefix(word));
    if let Some(tail) = prefix
        && !counts
    {
        return bare_digit(tail);
    }
    let (day, tail) = weekday(rest)?;
    Some((number_of(day), tail))
}

fn bare_digit(rest: &str) -> Option<(u8, &str)> {
    let first = rest.chars().next()?;
    Some((weekday_digit(first)?, rest.get(first.len_utf8()..)?))
}

fn weekday_digit(c: char) -> Option<u8> {
    let digit = c.to_digit(10).filter(|digit| (1..=7).contains(digit));
    let signed = || weekday_sign(c).map(number_of);
    digit
        .and_then(|digit| u8::try_from(digit).ok())
        .or_else(signed)
}

/// Returns the number of a day; Monday is 1.
fn number_of(day: Weekday) -> u8 {
    day.to_monday_one_offset().unsigned_abs()
}

fn phrase<'t, T: Copy>(rest: &'t str, phrases: &[(&str, T)]) -> Option<(T, &'t str)> {
    let mut phrases = phrases.iter();
    phrases.find_map(|(word, value)| Some((*value, after_word(rest, &[word])?)))
}

/// Reads a number in digits or in Chinese up to 99.
fn number(rest: &str) -> Option<(i32, &str)> {
    let (number, rest) = words::number(rest)?;
    Some((number.try_into().ok()?, rest))
}
