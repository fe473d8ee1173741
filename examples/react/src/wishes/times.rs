//! Questions about the time and the date.
use fugato::{
    state::say,
    words::{day_mentions, is_negated, normalize, number, numerals},
};
use serde_json::{Value, json};

use super::{Intent, is_any};
use crate::tools::place::places;

/// Phrases that ask for the time or the date.
pub(super) const TIME: &[&str] = &[
    "what time",
    "what is the time",
    "what's the time",
    "the time in ",
    "time in ",
    "current time",
    "tell me the time",
    "what day",
    "which day",
    "what date",
    "the date",
    "'s date",
    "几点",
    "什么时间",
    "时间",
    "几号",
    "星期几",
    "周几",
    "什么日期",
];

/// The words beside places in a question about the time.
const TIME_WORDS: &[&str] = &[
    "what",
    "time",
    "is",
    "it",
    "the",
    "in",
    "at",
    "now",
    "right",
    "current",
    "currently",
    "please",
    "do",
    "they",
    "have",
    "and",
    "of",
    "today",
    "date",
    "day",
    "which",
    "was",
    "i",
    "want",
    "tell",
    "me",
    "local",
    "s",
    "on",
    "not",
    "about",
    "how",
    "could",
    "you",
    "can",
    "today's",
    "there",
    "tomorrow",
    "yesterday",
    "after",
    "before",
    "ago",
    "days",
    "week",
    "weeks",
    "hi",
    "hello",
    "will",
    "be",
];

const TIME_WORDS_ZH: &[&str] = &[
    "你好",
    "您好",
    "一下",
    "现在",
    "几点钟",
    "几点",
    "了",
    "请问",
    "请",
    "是",
    "什么时间",
    "时间",
    "今天",
    "今日",
    "几月",
    "几号",
    "星期几",
    "周几",
    "礼拜几",
    "什么日期",
    "日期",
    "什么",
    "分别",
    "和",
    "的",
    "呢",
    "那",
    "在",
    "当地",
    "告诉我",
    "大后天",
    "后天",
    "明天",
    "昨天",
    "前天",
    "天以后",
    "天之后",
    "天后",
    "天以前",
    "天之前",
    "天前",
    "吗",
];

/// Words for days, by their distance from today.
const DAYS: &[(&str, i64)] = &[
    ("day after tomorrow", 2),
    ("day before yesterday", -2),
    ("tomorrow", 1),
    ("yesterday", -1),
    ("大后天", 3),
    ("后天", 2),
    ("明天", 1),
    ("昨天", -1),
    ("前天", -2),
];

/// The words behind a number of days or weeks, and the days that each of them is away.
const COUNTED: &[(&str, i64)] = &[
    (" days ago", -1),
    (" day ago", -1),
    (" weeks ago", -7),
    (" week ago", -7),
    ("天以后", 1),
    ("天之后", 1),
    ("天后", 1),
    ("天以前", -1),
    ("天之前", -1),
    ("天前", -1),
];

/// Reads a question about the time or the date, here or elsewhere; one that only names a place may
/// follow another.
pub(super) fn times(text: &str, follows: bool) -> Option<Intent> {
    let asks = is_any(text, TIME);
    if is_negated(text, TIME) || is_negated(text, &["tell"]) {
        return None;
    }
    let said = normalize(text);
    let days = days(&numerals(&said));
    let named = if days.is_none() {
        named_days(&said)
    } else {
        None
    };
    let (day, said) = named.map_or((None, said), |(day, rest)| (Some(day), rest));
    let (places, rest) = places(&numerals(&said));
    if !asks && (!follows || places.is_empty()) {
        return None;
    }
    let unknown = unknown(&rest, days.is_some());
    if !unknown.is_empty() {
        let told = || {
            say!(
                "I do not know “{unknown}”: I can tell the time of cities, countries and zones.",
                "不知道“{unknown}”：我能说出城市、国家和时区的时间。"
            )
        };
        return asks.then(|| Intent::answer(told()));
    }
    if let Some(place) = places.iter().find(|place| place.zone.is_none()) {
        let name = &place.name;
        let told = say!(
            "There are several zones in {name}, and I cannot tell which one: name a city.",
            "{name} 有几个时区，不知道是哪一个：请说城市。"
        );
        return Some(Intent::answer(told));
    }
    let call = |zone: Option<String>| {
        let days = days.map(|days| ("days", json!(days)));
        let zone = zone.map(|zone| ("zone", json!(zone)));
        let day = day.as_ref().map(|day| ("day", json!(day)));
        let arguments = days.into_iter().chain(day).chain(zone);
        let arguments = arguments.map(|(name, value)| (name.to_owned(), value));
        ("time".to_owned(), Value::Object(arguments.collect()))
    };
    let mut calls: Vec<_> = places.into_iter().map(|place| call(place.zone)).collect();
    if calls.is_empty() {
        calls.push(call(None));
    }
    Some(Intent {
        calls,
        told: vec![],
    })
}

/// Returns the words with which a text names days, such as "monday next week" and 12月24日, and the
/// text without them.
fn named_days(text: &str) -> Option<(String, String)> {
    let found = day_mentions(text);
    let first = found.first()?;
    let last = found.last().filter(|last| last.joined).unwrap_or(first);
    let (from, to) = (first.range.start, last.range.end);
    let named = text.get(from..to)?.trim().to_owned();
    let rest = format!("{} {}", text.get(..from)?, text.get(to..)?);
    Some((named, rest))
}

/// Returns the distance of the day that a text names from today.
fn days(text: &str) -> Option<i64> {
    let named = DAYS.iter().find(|(word, _)| text.contains(word));
    let after = |phrase: &str| {
        let (_, rest) = text.split_once(phrase)?;
        let (many, rest) = number(rest.trim_start())?;
        let unit = rest.trim_start();
        let days = if unit.starts_with("week") { 7 } else { 1 };
        let named = unit.starts_with("day") || days == 7;
        named.then(|| many.checked_mul(days)).flatten()
    };
    let before = || {
        let mut ends = COUNTED.iter();
        let (head, days) = ends.find_map(|(end, days)| Some((text.split_once(end)?.0, days)))?;
        let digits = head.trim_end_matches(|c: char| c.is_ascii_digit());
        let many: i64 = head.get(digits.len()..)?.parse().ok()?;
        many.checked_mul(*days)
    };
    let named = named.map(|(_, days)| *days);
    named.or_else(|| after("in ")).or_else(before)
}

/// Returns what of a question about the time is neither a place nor about time.
fn unknown(text: &str, has_days: bool) -> String {
    let mut text = text.to_owned();
    let mut known: Vec<&str> = TIME_WORDS_ZH.to_vec();
    known.sort_by_key(|word| std::cmp::Reverse(word.len()));
    for word in known {
        text = text.replace(word, " ");
    }
    let is_part = |c: char| c.is_alphanumeric() || c == '\'';
    let words = text.split(|c| !is_part(c));
    let is_known = |word: &&str| {
        let word = word.trim_end_matches("'s");
        let counts = word.bytes().all(|b| b.is_ascii_digit());
        !(word.is_empty() || TIME_WORDS.contains(&word) || has_days && counts)
    };
    let words: Vec<&str> = words.filter(is_known).collect();
    words.join(" ")
}
