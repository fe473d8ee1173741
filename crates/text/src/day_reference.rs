//! References to days in running text: `第3天`, `下周三`, `周末`, `days 3-5`, `Wednesday of next week`.
//!
//! The words are data: every rule is a list of phrases, so that a language is added by adding
//! lines.
mod span;

pub(crate) use span::is_moved;

use std::collections::BTreeSet;

use jiff::civil::Weekday;

use crate::{
    calendar::{DAY_PARTS, WEEK_SIGNS, month, near_day, weekday, weekday_sign},
    number::{digit, number as any_number},
    word::{after_word, before_word},
};

/// The days that a phrase names.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DayReference {
    /// Numbers of days, both included.
    Days(i32, i32),
    /// A number of days after today, negative for days before.
    FromToday(i32),
    /// Numbered weeks, both included.
    Weeks(i32, i32),
    /// A number of weeks after the current one.
    NextWeek(i32),
    /// Names of days: Monday is 1.
    Weekdays(BTreeSet<u8>),
    /// A month, if it is named, and a day of it.
    Date(Option<i8>, i8),
    /// All days from the first to the last, both included. Each is named by one reference, or by a
    /// week and a day of it.
    Span(Vec<Self>, Vec<Self>),
}

/// A reference to days, and its context in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DayMention {
    /// The days.
    pub days: DayReference,
    /// The bytes of the text that name them.
    pub range: std::ops::Range<usize>,
    /// True if only a word like "of" separates it from the mention before.
    pub joined: bool,
    /// True if a word of direction precedes it, so that it is a destination.
    pub is_target: bool,
    /// True if the text excludes these days: `not on Friday`, `周末不学习`, `keep Sunday free`.
    pub is_excluded: bool,
}

const WEEKS: &[(&str, i32)] = &[
    ("the week after next", 2),
    ("week after next", 2),
    ("下下个星期", 2),
    ("下下星期", 2),
    ("下下周", 2),
    ("下下礼拜", 2),
    ("the next week", 1),
    ("next week", 1),
    ("next weeks", 1),
    ("the coming week", 1),
    ("coming week", 1),
    ("下个星期", 1),
    ("下个礼拜", 1),
    ("下一周", 1),
    ("下星期", 1),
    ("下礼拜", 1),
    ("下周", 1),
    ("this week", 0),
    ("this weeks", 0),
    ("the current week", 0),
    ("current week", 0),
    ("这个星期", 0),
    ("这个礼拜", 0),
    ("这一周", 0),
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
    ("平日", &[1, 2, 3, 4, 5]),
];
pub(crate) const TO: &[&str] = &[
    "到", "至", "-", "–", "—", "~", "～", "to", "through", "until", "till", "til",
];
const GLUE: &[&str] = &["", "的", "of", "in", "on", "'s", "of the", "里的"];
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

/// Returns the references to days in a text in lower case, in its order.
///
/// ```
/// use fugato_text::{DayReference, day_mentions};
///
/// let found = day_mentions("move it to friday, but not tomorrow");
/// let told: Vec<_> = found.iter().map(|day| (&day.days, day.is_target, day.is_excluded)).collect();
/// let friday = DayReference::Weekdays([5].into());
/// assert_eq!(told, [(&friday, true, false), (&DayReference::FromToday(1), false, true)]);
/// ```
pub fn day_mentions(text: &str) -> Vec<DayMention> {
    let mut found: Vec<DayMention> = Vec::new();
    let (mut rest, mut gap) = (text, 0);
    while let Some(next) = rest.chars().next() {
        let at = text.len() - rest.len();
        let before = text.get(..at).unwrap_or_default();
        if let Some((days, tail)) = day_reference(rest, before) {
            let between = text.get(gap..at).unwrap_or_default();
            gap = text.len() - tail.len();
            found.push(DayMention {
                days,
                range: at..gap,
                joined: !found.is_empty() && GLUE.contains(&between.trim()),
                is_target: is_target(before),
                is_excluded: false,
            });
            rest = tail;
        } else {
            rest = rest.get(next.len_utf8()..).unwrap_or_default();
        }
    }
    exclude(text, &mut found);
    found
}

/// Marks the mentions that the text excludes. Mentions that belong together are excluded together.
fn exclude(text: &str, found: &mut [DayMention]) {
    let ends: Vec<_> = found.iter().map(|day| day.range.clone()).collect();
    let mut first = 0_usize;
    for (at, range) in ends.iter().enumerate() {
        let next = found.get(at + 1);
        if next.is_some_and(|next| next.joined) {
            continue;
        }
        let opened = first.checked_sub(1).and_then(|last| ends.get(last));
        let start = ends.get(first).map_or(0, |range| range.start);
        let before = text.get(opened.map_or(0, |range| range.end)..start);
        let after = text.get(range.end..ends.get(at + 1).map_or(text.len(), |next| next.start));
        let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
        // "Not on Monday or Tuesday" excludes both.
        let goes_on = before.trim_matches([' ', ',']);
        let listed = ["and", "or", "、", "和", "或", "跟", "与"].contains(&goes_on);
        let as_before =
            first > 0 && listed && found.get(first - 1).is_some_and(|day| day.is_excluded);
        let excluded = as_before || is_excluded(before, after);
        for day in found.get_mut(first..=at).unwrap_or_default() {
            day.is_excluded = excluded;
        }
        first = at + 1;
    }
}

/// Characters and words after which another thought begins.
const BREAKS: [&str; 17] = [
    ",", ";", ".", "!", "?", "，", "；", "。", "！", "？", "\n", " but ", "但是", "但", "不过",
    "而是", " instead",
];

/// The words before a day that exclude it.
const NOT: [&str; 22] = [
    "不",
    "别",
    "勿",
    "没",
    "无",
    "避开",
    "除了",
    "除",
    "not",
    "no",
    "never",
    "except",
    "without",
    "avoid",
    "skip",
    "excluding",
    "cannot",
    "nothing",
    "dont",
    "cant",
    "other than",
    "apart from",
];
/// The words before a day that is to be free.
const FREE: [&str; 5] = ["keep", "leave", "free up", "free", "clear"];
/// The words after a day that is to be free.
const OFF: [&str; 12] = [
    "free",
    "off",
    "empty",
    "open",
    "alone",
    "clear",
    "is off",
    "are off",
    "out",
    "blocked",
    "untouched",
    "as it is",
];
/// The Chinese words after a day that exclude it.
const CLOSED: [&str; 22] = [
    "不",
    "别",
    "勿",
    "休息",
    "没空",
    "没时间",
    "没有时间",
    "放假",
    "有事",
    "空出来",
    "空着",
    "留空",
    "空下来",
    "腾出来",
    "除外",
    "以外",
    "之外",
    "外出",
    "保持空",
    "留出来",
    "要休息",
    "请假",
];

/// The Chinese words that make "nothing" of a "not" after them.
const NOTHING: [&str; 4] = ["什么都", "什么也", "啥都", "啥也"];

/// Returns true if the words around a day exclude it.
fn is_excluded(before: &str, after: &str) -> bool {
    // Only the thought in which the day lies.
    let head = BREAKS
        .iter()
        .filter_map(|at| before.rfind(at).map(|pos| pos + at.len()))
        .max();
    let head = before.get(head.unwrap_or(0)..).unwrap_or_default();
    let tail = BREAKS.iter().filter_map(|at| after.find(at)).min();
    let tail = after
        .get(..tail.unwrap_or(after.len()))
        .unwrap_or_default()
        .trim();
    let says = |word: &&str| has_start(head, word);
    // "Not only on Friday" excludes nothing.
    let only = head.contains("not only") || head.contains("不只") || head.contains("不仅");
    if !only && (NOT.iter().any(says) || head.contains("n't")) {
        return true;
    }
    let tail_words = tail.trim_start_matches("'s").trim();
    let tail_words = DAY_PARTS
        .iter()
        .find_map(|part| tail_words.strip_prefix(part))
        .unwrap_or(tail_words);
    let tail_words = tail_words.trim_start();
    let head_words = head.trim_end();
    if FREE
        .iter()
        .any(|word| head_words.ends_with(word) || head_words.ends_with(&format!("{word} the")))
        && (OFF
            .iter()
            .any(|word| after_word(tail_words, &[word]).is_some())
            || ["free", "free up", "clear", "free up the"]
                .iter()
                .any(|word| head_words.ends_with(word)))
    {
        return true;
    }
    let tail_words = tail_words.trim_start_matches([
        '都', '就', '全', '天', '我', '要', '想', '整', '的', '时', '候',
    ]);
    // 周日什么都别安排: "nothing".
    let tail_words = NOTHING
        .iter()
        .find_map(|word| tail_words.strip_prefix(word))
        .unwrap_or(tail_words);
    CLOSED.iter().any(|word| tail_words.starts_with(word))
        || [
            "is off",
            "are off",
            "off",
            "is not",
            "are not",
            "isn't",
            "aren't",
            "is free",
            "stays free",
            "is blocked",
        ]
        .iter()
        .any(|word| after_word(tail_words, &[word]).is_some())
}

/// Returns true if a text has a word, which in Latin letters begins and ends there.
fn has_start(text: &str, word: &str) -> bool {
    let latin = |c: char| c.is_ascii_alphanumeric();
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text
            .get(at + word.len()..)
            .and_then(|text| text.chars().next());
        !word.starts_with(latin) || !(before.is_some_and(latin) || after.is_some_and(latin))
    })
}

fn is_target(before: &str) -> bool {
    let before = before.trim_end();
    let before = before.strip_suffix(" the").unwrap_or(before);
    TARGETS.iter().any(|word| {
        before
            .strip_suffix(word)
            .is_some_and(|head| !word.is_ascii() || head.is_empty() || head.ends_with(' '))
    })
}

/// Reads the days that a text in lower case names at its beginning, and returns the rest of it.
/// `before` is the text before it, within which no word may begin.
pub fn day_reference<'t>(rest: &'t str, before: &str) -> Option<(DayReference, &'t str)> {
    let starts_word = !before.ends_with(|c: char| c.is_ascii_alphanumeric());
    if rest.starts_with(|c: char| c.is_ascii_alphanumeric()) && !starts_word {
        return None;
    }
    span::span(rest, before).or_else(|| single(rest, before))
}

/// Reads days that are no span of named ones.
fn single<'t>(rest: &'t str, before: &str) -> Option<(DayReference, &'t str)> {
    ordinal(rest)
        .or_else(|| from_today(rest))
        .or_else(|| week(rest))
        .or_else(|| group(rest))
        .or_else(|| names(rest, before))
        .or_else(|| date(rest, before))
}

/// Reads a day relative to today.
fn from_today(rest: &str) -> Option<(DayReference, &str)> {
    let (days, rest) = near_day(rest)?;
    Some((DayReference::FromToday(i32::try_from(days).ok()?), rest))
}

/// Reads `3月5日`, `5号`, `March 5`, `5th of March`, `2026-03-05`.
fn date<'t>(rest: &'t str, before: &str) -> Option<(DayReference, &'t str)> {
    let at = |month: Option<i64>, day: i64, rest| {
        let month = match month {
            Some(month) => Some(
                i8::try_from(month)
                    .ok()
                    .filter(|month| (1..=12).contains(month))?,
            ),
            None => None,
        };
        let day = i8::try_from(day)
            .ok()
            .filter(|day| (1..=31).contains(day))?;
        Some((DayReference::Date(month, day), rest))
    };
    if before.ends_with(|c: char| c.is_ascii_digit() || digit(c).is_some()) {
        return None;
    }
    if let Some((name, tail)) = month(rest) {
        let (day, tail) = english_day(tail.trim_start())?;
        return at(Some(name.into()), day, tail);
    }
    if let Some((day, tail)) = english_day(rest)
        && let Some(tail) = tail.strip_prefix(' ')
        && let Some((name, tail)) = month(tail.strip_prefix("of ").unwrap_or(tail))
    {
        return at(Some(name.into()), day, tail);
    }
    // "By the 29th" and "Monday the 27th" name a day; "the 2nd chapter" does not.
    let leads = ["on", "by", "till", "until", "to", "before", "after"].into_iter();
    if leads.chain(crate::calendar::weekday_names()).any(|word| {
        before
            .strip_suffix(" the ")
            .is_some_and(|head| has_end(head, word))
    }) && let Some((day, tail)) = english_day(rest)
        && rest
            .get(..rest.len() - tail.len())
            .is_some_and(|said| said.ends_with(char::is_alphabetic))
    {
        return at(None, day, tail);
    }
    let (first, tail) = any_number(rest)?;
    if let Some(tail) = tail.strip_prefix('-')
        && first >= 1000
    {
        let (month, tail) = any_number(tail)?;
        let (day, tail) = any_number(tail.strip_prefix('-')?)?;
        return at(Some(month), day, tail);
    }
    if let Some(tail) = tail.strip_prefix('月') {
        let (day, tail) = any_number(tail)?;
        return at(
            Some(first),
            day,
            tail.strip_prefix(['日', '号']).unwrap_or(tail),
        );
    }
    at(None, first, tail.strip_prefix('号')?)
}

/// Returns true if a text ends with a whole word.
fn has_end(text: &str, word: &str) -> bool {
    before_word(text, &[word]).is_some()
}

/// Reads `5`, `5th`.
fn english_day(text: &str) -> Option<(i64, &str)> {
    let (day, rest) =
        any_number(text).filter(|_| text.starts_with(|c: char| c.is_ascii_digit()))?;
    let rest = after_word(rest, &["st", "nd", "rd", "th"]).unwrap_or(rest);
    (!rest.starts_with(|c: char| c.is_alphanumeric())).then_some((day, rest))
}

/// Reads `第3天`, `第3天到第5天`, `第2周`, `day 3`, `days 3-5`, `week 2`, `weeks 2-3`.
fn ordinal(rest: &str) -> Option<(DayReference, &str)> {
    if let Some(tail) = rest.strip_prefix('第') {
        return chinese_ordinal(tail);
    }
    let range = |label, names: &[&str]| {
        let (first, tail) = labelled(rest, names)?;
        let (last, tail) = range_end(tail, label).unwrap_or((first, tail));
        Some((first, last, tail))
    };
    if let Some((first, last, tail)) = range("day ", &["days ", "day ", "day#"]) {
        return Some((DayReference::Days(first, last), tail));
    }
    let (first, last, tail) = range("week ", &["weeks ", "week "])?;
    Some((DayReference::Weeks(first, last), tail))
}

/// Reads the text after `第`: one number or two, and the unit after the last or after both.
fn chinese_ordinal(tail: &str) -> Option<(DayReference, &str)> {
    let (first, tail) = number(tail)?;
    let end = |tail| range_end(tail, "第").and_then(|(last, tail)| Some((last, unit(tail)?)));
    match (unit(tail), end(unit(tail).map_or(tail, |(_, tail)| tail))) {
        (_, Some((last, (kind, tail)))) => Some((kind(first, last), tail)),
        (Some((kind, tail)), None) => Some((kind(first, first), tail)),
        (None, None) => None,
    }
}

type Range = fn(i32, i32) -> DayReference;

/// Reads `天` or `周`, and returns the kind of mention for its numbers.
fn unit(tail: &str) -> Option<(Range, &str)> {
    if let Some(tail) = tail.strip_prefix(['天', '日']) {
        return Some((DayReference::Days, tail));
    }
    let tail = tail.strip_prefix('个').unwrap_or(tail);
    let tail = WEEK_SIGNS.iter().find_map(|word| tail.strip_prefix(word))?;
    Some((DayReference::Weeks, tail))
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

fn week(rest: &str) -> Option<(DayReference, &str)> {
    let (weeks, tail) = phrase(rest, WEEKS)?;
    // "下周三" is a week and a day: the sign for week serves both.
    let used = rest.strip_suffix(tail)?;
    let shared = WEEK_SIGNS.iter().find(|word| used.ends_with(**word));
    if let Some(word) = shared
        && (tail.chars().next().and_then(weekday_digit).is_some() || tail.starts_with('末'))
    {
        return Some((
            DayReference::NextWeek(weeks),
            rest.get(rest.len() - tail.len() - word.len()..)?,
        ));
    }
    Some((DayReference::NextWeek(weeks), tail))
}

fn group(rest: &str) -> Option<(DayReference, &str)> {
    let weekend = |rest| {
        let head = ["this ", "next "]
            .iter()
            .find_map(|word| Some((*word, after_start(rest, word)?)));
        let (word, tail) = head?;
        after_word(tail, &["weekend"]).map(|_| (word, tail))
    };
    if let Some((word, tail)) = weekend(rest) {
        return Some((DayReference::NextWeek(i32::from(word == "next ")), tail));
    }
    let (days, rest) = phrase(rest, GROUPS)?;
    Some((DayReference::Weekdays(days.iter().copied().collect()), rest))
}

fn after_start<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    text.strip_prefix(word)
}

/// Reads `周一`, `周一到周五`, `星期三`, `friday`, `monday to friday`, `next monday`.
fn names<'t>(rest: &'t str, before: &str) -> Option<(DayReference, &'t str)> {
    if let Some(tail) = rest.strip_prefix("next ")
        && name(tail, "").is_some()
    {
        return Some((DayReference::NextWeek(1), tail));
    }
    if let Some(tail) = rest.strip_prefix("this ")
        && name(tail, "").is_some()
    {
        return Some((DayReference::NextWeek(0), tail));
    }
    let (first, tail) = name(rest, before)?;
    let end = tail.trim_start();
    let last = TO
        .iter()
        .find_map(|word| end.strip_prefix(word))
        .map(str::trim_start);
    // "From Monday to Friday" of something that moves names two days; "Monday to Friday" a range.
    let lead = before.trim_end();
    let mut weeks = ["next", "this", "下", "这", "本"].into_iter();
    let of_week = weeks.find_map(|week| lead.strip_suffix(week));
    let lead = of_week.map_or(lead, str::trim_end);
    let apart = lead.ends_with("from") || lead.ends_with(" on") || lead.ends_with('从');
    if let Some((last, tail)) = last.and_then(|end| name(end, "").or_else(|| bare_digit(end)))
        && first <= last
        && !apart
    {
        return Some((DayReference::Weekdays((first..=last).collect()), tail));
    }
    Some((DayReference::Weekdays(BTreeSet::from([first])), tail))
}

fn name<'t>(rest: &'t str, before: &str) -> Option<(u8, &'t str)> {
    // "一周一次" is once a week, not Monday; the digit of 周三周四 is a day's.
    let mut last = before.chars();
    let counts = last.next_back();
    let counts = counts.is_some_and(|c| c.is_ascii_digit() || digit(c).is_some());
    let of_day = WEEK_SIGNS.iter().any(|sign| last.as_str().ends_with(sign));
    let counts = counts && !of_day;
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
    let (number, rest) = any_number(rest)?;
    Some((number.try_into().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excluded(text: &str) -> Vec<&str> {
        let found = day_mentions(text).into_iter().filter(|day| day.is_excluded);
        found.filter_map(|day| text.get(day.range)).collect()
    }

    #[test]
    fn days_are_excluded_by_the_words_around_them() {
        for (text, days) in [
            ("周末不学习", vec!["周末"]),
            ("星期日休息", vec!["星期日"]),
            ("周日什么都别安排", vec!["周日"]),
            ("周日我啥也不想做", vec!["周日"]),
            ("周日什么时候有空", vec![]),
            ("不要排在周五", vec!["周五"]),
            ("周三晚上别安排，周四可以", vec!["周三"]),
            ("周五而不是周六", vec!["周六"]),
            ("周四周五不行", vec!["周四", "周五"]),
            ("除了周一都行", vec!["周一"]),
            ("周一和周二不行", vec!["周二"]),
            ("下周三没空", vec!["下", "周三"]),
            ("not on friday, but on monday", vec!["friday"]),
            ("don't study on weekends", vec!["weekends"]),
            ("keep sunday free", vec!["sunday"]),
            ("not on monday or tuesday", vec!["monday", "tuesday"]),
            ("sundays are off", vec!["sundays"]),
            ("any day except friday", vec!["friday"]),
            ("move it to friday", vec![]),
            ("把复习移到周五", vec![]),
            ("i do nothing else, use friday", vec![]),
            ("not only on friday", vec![]),
        ] {
            assert_eq!(excluded(text), days, "{text}");
        }
    }

    #[test]
    fn dates_are_days() {
        for (text, month, day) in [
            ("3月5日", Some(3), 5),
            ("5号", None, 5),
            ("march 5th", Some(3), 5),
            ("5 march", Some(3), 5),
            ("2026-03-05", Some(3), 5),
        ] {
            let found = day_reference(text, "");
            assert_eq!(found, Some((DayReference::Date(month, day), "")), "{text}");
        }
        for (text, span) in [
            ("away from dec 3 to dec 5", Some("dec 3 to dec 5")),
            ("away dec 3-5.", Some("dec 3-5")),
            ("i'm away from 3 to 5 december", Some("3 to 5 december")),
            (
                "travelling dec 9 through dec 11",
                Some("dec 9 through dec 11"),
            ),
            (
                "on holiday from monday to wednesday",
                Some("monday to wednesday"),
            ),
            (
                "what is there between monday and wednesday?",
                Some("between monday and wednesday"),
            ),
            ("away on monday and wednesday", None),
            ("from friday to monday i am away", Some("friday to monday")),
            ("from tomorrow until friday", Some("tomorrow until friday")),
            ("12月3号到5号我不在", Some("12月3号到5号")),
            ("3到5号我不在", Some("3到5号")),
            ("12月7日到9日都空出来", Some("12月7日到9日")),
            ("12月7号到9号什么都别排", Some("12月7号到9号")),
            ("明天到周五都没空", Some("明天到周五")),
            ("下周一到下周三我放假", Some("下周一到下周三")),
            ("周五到下周一", Some("周五到下周一")),
            ("move it from dec 3 to dec 5", None),
            ("move the report from monday to wednesday", None),
            (
                "put it somewhere from friday to sunday",
                Some("friday to sunday"),
            ),
            ("把报告从12月3号到5号挪一下", None),
            ("push tomorrow to friday", None),
            ("dec 3 to 5 pm", None),
            ("read pages 3 to 5", None),
        ] {
            let found = day_mentions(text).into_iter();
            let mut spans = found.filter(|day| matches!(day.days, DayReference::Span(..)));
            let found = spans.next().and_then(|day| text.get(day.range));
            assert_eq!(found, span, "{text}");
        }
        let tuesday = DayReference::Weekdays([2].into());
        let apart = day_reference("tuesday to friday", "move it from next ");
        assert_eq!(apart, Some((tuesday, " to friday")));
        let bare = day_reference("29th for all", "move it to the ");
        assert_eq!(bare, Some((DayReference::Date(None, 29), " for all")));
        assert_eq!(day_reference("2nd chapter", "read the "), None);
        assert_eq!(day_reference("5 items", ""), None);
        assert_eq!(day_reference("may be", ""), None);
    }
}
