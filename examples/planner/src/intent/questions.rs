//! Questions for what can be looked up, and what of them is not read.
use std::ops::Range;

use fugato::words::{DayReference, RestrictionKind, courtesy, day_mentions, restriction, wishes};

use super::{WORDS, asks, assets, says, topics, topics_of_one};
use crate::facts::{self, Topic};

/// Returns the questions of a message; the message itself if it has only one.
pub(super) fn parts(message: &str) -> Vec<&str> {
    wishes(message, |_, part| asks(part))
}

/// Returns the further questions of a message that are about nothing that can be looked up: "and what
/// would they bring me?".
pub fn unread_questions(message: &str) -> Vec<&str> {
    let ends = |c: char| c.is_whitespace() || ",，;；?？.。!！".contains(c);
    let parts = parts(message).into_iter().skip(1);
    let is_unread = |part: &&str| topics_of_one(part).is_empty() && courtesy(part).is_none();
    let unread = parts.filter(is_unread);
    unread.map(|part| part.trim_end_matches(ends)).collect()
}

/// Returns the words of a question by which it wants only a part of what can be looked up, or wants it
/// in another way: "in euros", "from yesterday", 超过1000的. All is told as it is now.
pub fn unread_limits(message: &str) -> Vec<&str> {
    let topics = topics(message);
    let of_prices = topics.iter().all(|topic| *topic == Topic::Prices);
    // Lower case by ASCII keeps the byte positions.
    let lower = message.to_ascii_lowercase();
    let mut found: Vec<Range<usize>> = vec![];
    let limit = restriction(message).filter(|it| it.kind == RestrictionKind::Exception);
    let limit = limit.and_then(|it| Some((message.find(it.words)?, it.words.len())));
    found.extend(limit.map(|(at, length)| at..at + length));
    found.extend(phrases(&lower, of_prices));
    // Prices of another time are told to be unknown.
    if !of_prices {
        let days = day_mentions(&lower).into_iter();
        // What there is today is what there is now.
        let is_now = |days: &DayReference| {
            *days == DayReference::FromToday(0) && !topics.contains(&Topic::Trades)
        };
        let days = days.filter(|day| !is_now(&day.days));
        found.extend(days.map(|day| day.range));
        let periods = WORDS.periods.iter();
        let periods = periods.filter_map(|word| Some((lower.find(word.as_str())?, word.len())));
        found.extend(periods.map(|(at, length)| at..at + length));
    }
    if !message.is_ascii() {
        found.extend(chinese(message, of_prices));
    }
    // What is a part of other words is said with them.
    let is_within = |it: &Range<usize>, other: &Range<usize>| {
        other.start <= it.start && it.end <= other.end && other.len() > it.len()
    };
    let mut whole: Vec<_> = found.clone();
    whole.retain(|it| !found.iter().any(|other| is_within(it, other)));
    whole.sort_by_key(|it| it.start);
    whole.dedup();
    whole.into_iter().filter_map(|it| message.get(it)).collect()
}

/// Words behind a preposition that limit nothing: "in total", "at the moment".
const KNOWN: [&str; 40] = [
    "a",
    "an",
    "it",
    "them",
    "this",
    "that",
    "these",
    "me",
    "you",
    "i",
    "we",
    "do",
    "have",
    "is",
    "are",
    "there",
    "here",
    "total",
    "general",
    "detail",
    "stock",
    "hand",
    "moment",
    "market",
    "book",
    "desk",
    "wallet",
    "each",
    "every",
    "now",
    "today",
    "right",
    "at",
    "and",
    "or",
    "coin",
    "coins",
    "everything",
    "ones",
    "one",
];

/// Returns where an English question has words such as "in euros" and "above 60000", of which nothing is
/// looked up by itself.
fn phrases(lower: &str, of_prices: bool) -> Vec<Range<usize>> {
    const LEADS: [&str; 20] = [
        "in", "with", "without", "above", "below", "over", "under", "since", "before", "after",
        "from", "between", "during", "within", "until", "than", "by", "on", "for", "of",
    ];
    /// Behind these a number is a bound.
    const BOUNDS: [&str; 9] = [
        "above", "below", "over", "under", "since", "before", "after", "between", "than",
    ];
    const DOLLARS: [&str; 4] = ["usd", "dollar", "dollars", "bucks"];
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_'.".contains(c);
    let mut words: Vec<Range<usize>> = vec![];
    for (at, c) in lower.char_indices().filter(|(_, c)| is_part(*c)) {
        match words.last_mut() {
            Some(last) if last.end == at => last.end = at + c.len_utf8(),
            _ => words.push(at..at + c.len_utf8()),
        }
    }
    let text = |range: &Range<usize>| {
        let word = lower.get(range.clone()).unwrap_or_default();
        word.trim_end_matches('.')
    };
    let is_thing = |word: &str| {
        !assets(word).is_empty() || facts::all().values().any(|fact| says(word, &fact.words))
    };
    let is_known = |word: &str| {
        KNOWN.contains(&word)
            || of_prices && DOLLARS.contains(&word)
            || WORDS.around.iter().any(|known| known == word)
            || word
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    let mut found = vec![];
    for (at, lead) in words.iter().enumerate() {
        let word = text(lead);
        if !LEADS.contains(&word) {
            continue;
        }
        let behind = words.iter().skip(at + 1);
        let object = behind.take_while(|it| {
            let between = lower.get(lead.end..it.start).unwrap_or_default();
            !LEADS.contains(&text(it)) && !between.contains([',', ';', ':', '?', '!'])
        });
        let object: Vec<_> = object.collect();
        let is_bound = BOUNDS.contains(&word)
            && object
                .iter()
                .any(|it| text(it).contains(|c: char| c.is_ascii_digit()));
        let is_left_out = word == "without" && !object.is_empty();
        // "How is my position in ETH doing?" is about ETH.
        let is_of_thing = object.iter().any(|it| is_thing(text(it)));
        let is_unread = !is_of_thing && object.iter().any(|it| !is_known(text(it)));
        let is_limit = is_bound || is_left_out || is_unread;
        if let Some(last) = object.last().filter(|_| is_limit) {
            // "More" goes with "than 1000".
            let first = words.get(at.wrapping_sub(1)).filter(|_| word == "than");
            found.push(first.unwrap_or(lead).start..last.start + text(last).len());
        }
    }
    found
}

/// Returns where a Chinese question names another currency, or a bound: 欧元, 超过1000.
fn chinese(message: &str, of_prices: bool) -> Vec<Range<usize>> {
    const BOUNDS: [&str; 7] = ["超过", "大于", "高于", "低于", "小于", "少于", "不到"];
    const DOLLARS: [&str; 2] = ["美元", "美金"];
    let names = WORDS.currencies.iter().map(String::as_str);
    let names = names.filter(|name| !(of_prices && DOLLARS.contains(name)));
    let places = names.filter_map(|name| Some((message.find(name)?, name.len())));
    let mut found: Vec<_> = places.map(|(at, length)| at..at + length).collect();
    let bounds = BOUNDS.iter().filter_map(|word| {
        let at = message.find(word)?;
        let behind = message.get(at + word.len()..)?;
        let goes_on = |c: char| c.is_ascii_alphanumeric() || c == '.';
        let number = behind.len() - behind.trim_start_matches(goes_on).len();
        (number > 0).then_some(at..at + word.len() + number)
    });
    found.extend(bounds);
    found
}
