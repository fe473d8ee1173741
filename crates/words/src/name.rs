//! The names of days and months. A language is added by adding lines.
use jiff::civil::Weekday;

use crate::text::after_word;

/// The words for a week before the sign of one of its days: 周一, 星期一.
pub const WEEK_SIGNS: [&str; 3] = ["周", "星期", "礼拜"];

/// Days from today. Of words that begin alike the longest comes first.
const NEAR: [(&str, i64); 19] = [
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

/// What a day of the week is called for short. `sun` and `sat` are words of their own.
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

/// The day with whose name a text in lower case begins, in days from today, and what comes after:
/// 明天, `the day after tomorrow`.
pub fn near_day(text: &str) -> Option<(i64, &str)> {
    let mut near = NEAR.into_iter();
    near.find_map(|(word, days)| Some((days, after_word(text, &[word])?)))
}

/// The day of the week with whose English name a text in lower case begins, and what comes after:
/// `friday`, `fridays`, `fri`.
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

/// The day of the week that a Chinese sign means behind a word for a week: 一 is Monday.
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

/// The month with whose name, or three letters of it, a text in lower case begins, and what comes
/// after.
pub fn month(text: &str) -> Option<(i8, &str)> {
    (1..).zip(MONTHS).find_map(|(month, name)| {
        let short = name.get(..3)?;
        let found = after_word(text, &[name]).or_else(|| after_word(text, &[short]));
        let found = found.or_else(|| after_word(text, &["sept"]).filter(|_| short == "sep"));
        let rest = found?;
        Some((month, rest.strip_prefix('.').unwrap_or(rest)))
    })
}

/// What comes behind the word for a week with which a text begins.
pub(crate) fn week(text: &str) -> Option<&str> {
    WEEK_SIGNS.iter().find_map(|word| text.strip_prefix(word))
}
