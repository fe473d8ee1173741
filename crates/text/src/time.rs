//! Times of day, and waiting times.
mod span;

pub(crate) use span::hours;

use crate::{
    number::{digit, is_digit, number},
    time_reference::UnclearTime,
    word::after_word,
};

/// A time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Time {
    /// The hour, from 0 to 23.
    pub hour: i8,
    /// The minute, from 0 to 59.
    pub minute: i8,
    /// True for midnight at the end of the named day.
    pub next_day: bool,
}

impl Time {
    /// Creates a time of the named day.
    pub fn new(hour: i8, minute: i8) -> Self {
        Self {
            hour,
            minute,
            next_day: false,
        }
    }
}

/// A time of day as it is said, which can leave open the half of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClockTime {
    /// The hour, from 0 to 23.
    pub hour: i8,
    /// The minute, from 0 to 59.
    pub minute: i8,
    /// True if the words tell the half of the day, as `4 pm`, `16:00` and `8:30` do and `4点` does not.
    pub is_certain: bool,
}

/// Reads the time of day with which a text in lower case begins, and returns the rest of it. The
/// words for a part of the day, as in `下午三点`, are left to the caller.
///
/// ```
/// let (four, rest) = fugato_text::clock_time("4 pm on friday").unwrap();
/// assert_eq!((four.hour, four.minute, four.is_certain, rest), (16, 0, true, " on friday"));
/// assert!(fugato_text::clock_time("一点都不想动").is_none());
/// ```
pub fn clock_time(text: &str) -> Option<(ClockTime, &str)> {
    let (hour, minute, rest) = clock(text)?;
    let time = |hour: i64, is_certain, rest| {
        let hour = i8::try_from(hour)
            .ok()
            .filter(|hour| (0..24).contains(hour))?;
        let minute = i8::try_from(minute)
            .ok()
            .filter(|minute| (0..60).contains(minute))?;
        Some((
            ClockTime {
                hour,
                minute,
                is_certain,
            },
            rest,
        ))
    };
    if let Some((part, rest)) = half_and_rest(rest) {
        let hour = match (part, hour) {
            (Part::Am, 12) => 0,
            (Part::Pm, 0..12) => hour + 12,
            _ => hour,
        };
        return time(hour, true, rest);
    }
    // "一点儿" and "一点都" tell no time.
    if rest.starts_with(['儿', '都', '也']) {
        return None;
    }
    let used = text.get(..text.len() - rest.len()).unwrap_or_default();
    let is_certain = hour > 12 || hour > 7 && used.contains([':', '：']);
    let named = after(rest.trim_start(), &["o'clock", "钟"]).unwrap_or(rest);
    time(hour, is_certain, named)
}

/// The part of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Am,
    Pm,
    Dawn,
    Morning,
    Noon,
    Afternoon,
    Evening,
}

const PARTS: [(&str, Part); 17] = [
    ("凌晨", Part::Dawn),
    ("早上", Part::Morning),
    ("早晨", Part::Morning),
    ("清晨", Part::Morning),
    ("上午", Part::Morning),
    ("今早", Part::Morning),
    ("明早", Part::Morning),
    ("每早", Part::Morning),
    ("中午", Part::Noon),
    ("下午", Part::Afternoon),
    ("傍晚", Part::Afternoon),
    ("晚", Part::Evening),
    ("夜", Part::Evening),
    ("afternoon", Part::Afternoon),
    ("evening", Part::Evening),
    ("night", Part::Evening),
    ("morning", Part::Morning),
];

/// Returns the only time of day in a text, with its byte position; `None` if there is none.
pub(crate) fn find(text: &str) -> Result<Option<(usize, Time)>, UnclearTime> {
    let (mut found, mut skip) = (None, 0);
    for (at, _) in text.char_indices() {
        let parts = text.split_at_checked(at).filter(|_| at >= skip);
        let Some((_, here)) = parts.filter(|(before, here)| begins(before, here)) else {
            continue;
        };
        let Some((hour, minute, rest)) = clock(here) else {
            continue;
        };
        skip = text.len() - rest.len();
        let said = text.get(at..skip).unwrap_or_default();
        if found.is_some() {
            return Err(UnclearTime::another(said));
        }
        let time = || {
            let (hour, next_day) = hour_of(part(text, at, rest), hour)?;
            let minute = i8::try_from(minute)
                .ok()
                .filter(|it| (0..60).contains(it))?;
            let time = Time::new(hour.try_into().ok()?, minute);
            Some((at, Time { next_day, ..time }))
        };
        found = Some(time().ok_or_else(|| UnclearTime::new(said))?);
    }
    Ok(found)
}

/// Returns true if the only time of day in a text leaves open the half of the day: "6", 六点.
pub(crate) fn leaves_half_open(text: &str) -> bool {
    let Ok(Some((at, _))) = find(text) else {
        return false;
    };
    let here = text.get(at..).unwrap_or_default();
    let read = clock(here).filter(|_| !here.starts_with('0'));
    read.is_some_and(|(hour, _, rest)| (1..12).contains(&hour) && part(text, at, rest).is_none())
}

/// Returns true if a separate number begins here: no part of another, and no day of a week.
fn begins(before: &str, text: &str) -> bool {
    let last = before.chars().next_back();
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return !last.is_some_and(|c| c.is_ascii_digit() || matches!(c, '.' | ':' | '：'));
    }
    let a_little =
        text.starts_with("一点") && last.is_some_and(|c| "早快慢有多少好大小差".contains(c));
    let of_week = last.is_some_and(|c| "周期拜".contains(c));
    text.starts_with(|c| digit(c).is_some()) && !a_little && !of_week
}

/// Reads the hour and the minute at the beginning of a text, as they are said: 8:30, 8点半, 3 pm.
fn clock(text: &str) -> Option<(i64, i64, &str)> {
    let (hour, rest) = number(text)?;
    if let Some(minutes) = after(rest, &[":", "："]) {
        let (minute, rest) = number(minutes)?;
        let exact = minutes.len() - rest.len() == 2 && !rest.starts_with([':', '：']);
        return exact.then_some((hour, minute, rest));
    }
    if let Some(rest) = after(rest, &["点", "點", "時", "时"]) {
        let (minute, rest) = minutes(rest)?;
        return Some((hour, minute, rest));
    }
    let said = half(rest).is_some() || rest.trim_start().starts_with("o'clock");
    said.then_some((hour, 0, rest))
}

/// Reads the minutes after 点.
fn minutes(text: &str) -> Option<(i64, &str)> {
    const NAMED: [(&str, i64); 4] = [("半", 30), ("一刻", 15), ("1刻", 15), ("三刻", 45)];
    for (name, minute) in NAMED {
        if let Some(rest) = text.strip_prefix(name) {
            return Some((minute, rest));
        }
    }
    if text.starts_with(['差', '过']) {
        return None;
    }
    let Some((minute, rest)) = number(text) else {
        return Some((0, text));
    };
    if let Some(rest) = rest.strip_prefix('分') {
        return Some((minute, rest));
    }
    let said = text.get(..text.len() - rest.len())?.chars().count();
    match (said, text.starts_with(|c: char| c.is_ascii_digit())) {
        (2.., _) => Some((minute, rest)),
        // A single digit may begin the next word, as in 8点一起吃饭; 8点5 is invalid.
        (_, false) => Some((0, text)),
        (_, true) => Some((i64::MAX, rest)),
    }
}

/// Reads "am" or "pm" right after a time.
fn half(rest: &str) -> Option<Part> {
    half_and_rest(rest).map(|(part, _)| part)
}

fn half_and_rest(rest: &str) -> Option<(Part, &str)> {
    const HALVES: [(&str, Part); 6] = [
        ("am", Part::Am),
        ("a.m.", Part::Am),
        ("a.m", Part::Am),
        ("pm", Part::Pm),
        ("p.m.", Part::Pm),
        ("p.m", Part::Pm),
    ];
    let rest = rest.trim_start();
    HALVES.into_iter().find_map(|(name, part)| {
        let rest = rest.strip_prefix(name)?;
        (!rest.starts_with(|c: char| c.is_ascii_alphanumeric())).then_some((part, rest))
    })
}

/// Returns the part of the day for a time: the one right after it, before it, or elsewhere. In
/// Chinese it comes before the time; words after the time belong to the task.
fn part(text: &str, at: usize, rest: &str) -> Option<Part> {
    let before = text.get(..at)?;
    let last = PARTS
        .into_iter()
        .filter_map(|(word, part)| Some((before.rfind(word)? + word.len(), part)))
        .max_by_key(|(end, _)| *end)
        .map(|(_, part)| part);
    let english = || {
        let tells = ["in the ", "at ", "to", "this ", "tomorrow "];
        let mut words = PARTS.into_iter().filter(|(word, _)| word.is_ascii());
        words.find_map(|(word, part)| {
            let said = tells
                .iter()
                .any(|tell| rest.contains(&format!("{tell}{word}")));
            said.then_some(part)
        })
    };
    half(rest).or(last).or_else(english)
}

/// Returns the hour of the day, and true if it is midnight at the end of the day.
fn hour_of(part: Option<Part>, hour: i64) -> Option<(i64, bool)> {
    let hour = match (part, hour) {
        (Some(Part::Evening), 0 | 12) => return Some((0, true)),
        (None | Some(Part::Pm | Part::Afternoon), 12) => 12,
        (Some(Part::Am | Part::Dawn), 12) => 0,
        (None, 0..=23)
        | (Some(Part::Am | Part::Morning), 0..=11)
        | (Some(Part::Dawn), 0..=6)
        | (Some(Part::Noon), 10..=13)
        | (Some(Part::Pm | Part::Afternoon), 13..=23)
        | (Some(Part::Evening), 17..=23) => hour,
        (Some(Part::Pm | Part::Afternoon), 1..=11)
        | (Some(Part::Noon), 1..=2)
        | (Some(Part::Evening), 5..=11) => hour + 12,
        _ => return None,
    };
    Some((hour, false))
}

/// Returns the byte position and the length, in seconds, of the only waiting time in a text: in 10
/// minutes, 一个半小时后.
pub(crate) fn wait(text: &str) -> Result<Option<(usize, i64)>, UnclearTime> {
    let Some((at, seconds, rest)) = first_wait(text)? else {
        return Ok(None);
    };
    match first_wait(rest)? {
        None => Ok(Some((at, seconds))),
        Some((from, _, behind)) => {
            let said = rest.get(from..rest.len() - behind.len());
            Err(UnclearTime::another(said.unwrap_or_default()))
        }
    }
}

/// Returns the first waiting time of a text, and what follows it.
fn first_wait(text: &str) -> Result<Option<(usize, i64, &str)>, UnclearTime> {
    let mut tried = 0;
    let chinese = text.char_indices().find_map(|(at, _)| {
        let last = text.get(..at)?.chars().next_back();
        let inside = last.is_some_and(|c| c == '.' || is_digit(c));
        // Starting within the same amounts would reach the same end.
        let here = text.get(at..).filter(|_| !inside && at >= tried)?;
        let (seconds, rest) = amounts(here);
        tried = text.len() - rest.len();
        Some((at, seconds?, rest))
    });
    if chinese.is_some() {
        return Ok(chinese);
    }
    let starts = text.match_indices("in ").map(|(at, _)| at);
    let own = |at: &usize| {
        let before = text.get(..*at).unwrap_or_default();
        !before.ends_with(|c: char| c.is_alphanumeric())
    };
    for at in starts.filter(own) {
        let Some((seconds, rest)) = text.get(at + 3..).and_then(english_wait) else {
            continue;
        };
        // "In 2 hours and 10" goes on.
        let more = rest.trim_start().strip_prefix("and ").unwrap_or_default();
        if number(more).is_some() {
            let said = text.get(at..).unwrap_or_default();
            return Err(UnclearTime::new(said));
        }
        return Ok(Some((at, seconds, rest)));
    }
    Ok(None)
}

/// Returns the rest of a text in lower case after the waiting time that it begins with.
pub(crate) fn wait_at(text: &str) -> Option<&str> {
    let english = || english_wait(text.strip_prefix("in ")?);
    match amounts(text) {
        (Some(_), rest) => Some(rest),
        _ => english().map(|(_, rest)| rest),
    }
}

/// Reads amounts such as 1小时30分钟后. Returns their sum in seconds, if they end as a waiting time, and
/// the unread rest.
fn amounts(text: &str) -> (Option<i64>, &str) {
    let (mut rest, mut sum) = (text, 0_i64);
    while let Some((seconds, behind)) = amount(rest) {
        let Some(more) = sum.checked_add(seconds) else {
            break;
        };
        (sum, rest) = (more, behind);
        if let Some(behind) = after(rest, &["后", "之后", "以后", "过后"]) {
            return (Some(sum), behind);
        }
    }
    (None, rest)
}

/// Reads 1小时, 一个半小时 or 半小时 in seconds, and returns the rest of the text.
fn amount(text: &str) -> Option<(i64, &str)> {
    const UNITS: [(&[&str], i64); 3] = [
        (&["秒钟", "秒"], 1),
        (&["分钟", "分"], 60),
        (&["小时", "钟头"], 3600),
    ];
    let (halves, rest) = if let Some((whole, behind)) = number(text) {
        let behind = behind.strip_prefix('个').unwrap_or(behind);
        let half = behind.strip_prefix('半');
        let halves = whole.checked_mul(2)?;
        let halves = halves.checked_add(i64::from(half.is_some()))?;
        (halves, half.unwrap_or(behind))
    } else {
        let rest = text.strip_prefix('半')?;
        (1, rest.strip_prefix('个').unwrap_or(rest))
    };
    let mut units = UNITS.into_iter();
    let (behind, seconds) =
        units.find_map(|(names, seconds)| Some((after(rest, names)?, seconds)))?;
    Some((halves.checked_mul(seconds)? / 2, behind))
}

/// Reads a duration in seconds, and returns the rest of the text: 10 minutes, half an hour, 1 hour
/// and 20 minutes.
pub(crate) fn english_wait(text: &str) -> Option<(i64, &str)> {
    let (mut sum, mut rest) = english_amount(text)?;
    loop {
        let more = rest.trim_start_matches([' ', ',']);
        let more = more.strip_prefix("and ").unwrap_or(more);
        let Some((seconds, behind)) = english_amount(more).filter(|_| more.len() < rest.len())
        else {
            return Some((sum, rest));
        };
        (sum, rest) = (sum.checked_add(seconds)?, behind);
    }
}

/// Reads 10 minutes, half an hour, an hour and a half or 2 and a half hours in seconds, and returns
/// the rest of the text.
fn english_amount(text: &str) -> Option<(i64, &str)> {
    const HALF: [&str; 1] = [" and a half"];
    let unit = |text| {
        const UNITS: [(&[&str], i64); 3] = [
            (&["seconds", "second", "secs", "sec"], 1),
            (&["minutes", "minute", "mins", "min"], 60),
            (&["hours", "hour"], 3600),
        ];
        let mut units = UNITS.into_iter();
        units.find_map(|(names, seconds)| Some((seconds, after_word(text, names)?)))
    };
    if let Some(rest) = after_word(text, &["half an", "half a", "half"]) {
        let (seconds, rest) = unit(rest.trim_start())?;
        return Some((seconds / 2, rest));
    }
    let (count, rest) = match after_word(text, &["an", "a"]) {
        Some(rest) => (1, rest),
        None => number(text).filter(|_| text.starts_with(|c: char| c.is_ascii_digit()))?,
    };
    let inner = after_word(rest, &HALF);
    let (seconds, rest) = unit(inner.unwrap_or(rest).trim_start())?;
    let outer = after_word(rest, &HALF);
    let halves = i64::from(inner.is_some()) + i64::from(outer.is_some());
    let halves = count.checked_mul(2)?.checked_add(halves)?;
    Some((halves.checked_mul(seconds)? / 2, outer.unwrap_or(rest)))
}

/// Returns the rest of a text after the first of these words that it begins with.
fn after<'a>(text: &'a str, words: &[&str]) -> Option<&'a str> {
    words.iter().find_map(|word| text.strip_prefix(word))
}
