//! The names of days and months. Other languages can be added as more lines.
use jiff::civil::Weekday;

use crate::word::after_word;

/// The words for a week before the character of one of its days: 周一, 星期一.
pub const WEEK_SIGNS: [&str; 3] = ["周", "星期", "礼拜"];

/// The parts of a day. Of words with the same beginning the longest comes first.
pub(crate) const DAY_PARTS: [&str; 18] = [
    "mornings",
    "morning",
    "noon",
    "afternoons",
    "afternoon",
    "evenings",
    "evening",
    "night",
    "早上",
    "上午",
    "中午",
    "下午",
    "傍晚",
    "晚上",
    "清晨",
    "凌晨",
    "夜里",
    "整天",
];

/// Names of days, with their distance from today. Of words with the same beginning the longest
/// comes first.
const NEAR: [(&str, i64); 22] = [
    ("大后天", 3),
    ("后天", 2),
    ("明天", 1),
    ("明日", 1),
    ("明儿", 1),
    ("今天", 0),
    ("今日", 0),
    ("昨天", -1),
    ("昨日", -1),
    ("大前天", -3),
    ("前天", -2),
    ("the day before yesterday", -2),
    ("the day after tomorrow", 2),
    ("day before yesterday", -2),
    ("day after tomorrow", 2),
    ("tomorrow", 1),
    ("tmrw", 1),
    ("tmr", 1),
    ("2moro", 1),
    ("today", 0),
    ("yesterday", -1),
    ("前日", -2),
];

const WEEK: [(&str, Weekday); 7] = [
    ("monday", Weekday::Monday),
    ("tuesday", Weekday::Tuesday),
    ("wednesday", Weekday::Wednesday),
    ("thursday", Weekday::Thursday),
    ("friday", Weekday::Friday),
    ("saturday", Weekday::Saturday),
    ("sunday", Weekday::Sunday),
];

/// Returns the English names of weekdays.
pub(crate) fn weekday_names() -> impl Iterator<Item = &'static str> {
    WEEK.into_iter().map(|(name, _)| name)
}

/// The short names of weekdays. `sun` and `sat` are left out because they are words of their own.
const SHORT: [(&str, Weekday); 8] = [
    ("mon", Weekday::Monday),
    ("tues", Weekday::Tuesday),
    ("tue", Weekday::Tuesday),
    ("wed", Weekday::Wednesday),
    ("thurs", Weekday::Thursday),
    ("thur", Weekday::Thursday),
    ("thu", Weekday::Thursday),
    ("fri", Weekday::Friday),
];

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Reads the name of a day at the beginning of a text in lower case. Returns its distance from
/// today in days, and the rest: 明天, `the day after tomorrow`.
pub fn near_day(text: &str) -> Option<(i64, &str)> {
    let mut near = NEAR.into_iter();
    near.find_map(|(word, days)| Some((days, after_word(text, &[word])?)))
}

/// Reads the English name of a weekday at the beginning of a text in lower case. Returns it, and
/// the rest: `friday`, `fridays`, `fri`.
pub fn weekday(text: &str) -> Option<(Weekday, &str)> {
    WEEK.into_iter().chain(SHORT).find_map(|(word, day)| {
        let plural = text
            .strip_prefix(word)?
            .strip_prefix('s')
            .map(|_| word.len() + 1);
        let plural = plural.and_then(|end| after_word(text, &[text.get(..end)?]));
        Some((day, after_word(text, &[word]).or(plural)?))
    })
}

/// Returns the weekday of a Chinese character after a word for a week: 一 is Monday.
pub fn weekday_sign(c: char) -> Option<Weekday> {
    match c {
        '日' | '天' => Some(Weekday::Sunday),
        '一' => Some(Weekday::Monday),
        '二' => Some(Weekday::Tuesday),
        '三' => Some(Weekday::Wednesday),
        '四' => Some(Weekday::Thursday),
        '五' => Some(Weekday::Friday),
        '六' => Some(Weekday::Saturday),
        _ => None,
    }
}

/// Reads the name of a month, or its first three letters, at the beginning of a text in lower case.
/// Returns its number, and the rest.
pub fn month(text: &str) -> Option<(i8, &str)> {
    (1..).zip(MONTHS).find_map(|(month, name)| {
        let short = name.get(..3)?;
        let found = after_word(text, &[name]).or_else(|| after_word(text, &[short]));
        let found = found.or_else(|| after_word(text, &["sept"]).filter(|_| short == "sep"));
        let rest = found?;
        Some((month, rest.strip_prefix('.').unwrap_or(rest)))
    })
}

/// Returns the rest of a text after a word for a week at its beginning.
pub(crate) fn week(text: &str) -> Option<&str> {
    WEEK_SIGNS.iter().find_map(|word| text.strip_prefix(word))
}
