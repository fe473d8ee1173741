//! Times of day, and waiting times.
use crate::number::{digit, is_digit, number};

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

/// Returns the only time of day in a text, with its byte position; `None` if there is none, or
/// several.
pub(crate) fn find(text: &str) -> Option<(usize, Time)> {
    let mut found = None;
    let mut skip = 0;
    for (at, _) in text.char_indices() {
        if at < skip || !begins(text.get(..at)?, text.get(at..)?) {
            continue;
        }
        let Some((hour, minute, rest)) = clock(text.get(at..)?) else {
            continue;
        };
        skip = text.len() - rest.len();
        if found.is_some() {
            return None;
        }
        let (hour, next_day) = hour_of(part(text, at, rest), hour)?;
        if !(0..60).contains(&minute) {
            return None;
        }
        let time = Time::new(hour.try_into().ok()?, minute.try_into().ok()?);
        found = Some((at, Time { next_day, ..time }));
    }
    found
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

/// Returns the byte position and the length, in seconds, of a waiting time: in 10 minutes, 一个半小时后.
pub(crate) fn wait(text: &str) -> Option<(usize, i64)> {
    let mut tried = 0;
    let chinese = text.char_indices().find_map(|(at, _)| {
        let last = text.get(..at)?.chars().next_back();
        let inside = last.is_some_and(|c| c == '.' || is_digit(c));
        // Starting within the same amounts would reach the same end.
        let here = text.get(at..).filter(|_| !inside && at >= tried)?;
        let (seconds, rest) = amounts(here);
        tried = text.len() - rest.len();
        Some((at, seconds?))
    });
    chinese.or_else(|| {
        let starts = text.match_indices("in ").map(|(at, _)| at);
        let own = |at: &usize| {
            let before = text.get(..*at).unwrap_or_default();
            !before.ends_with(|c: char| c.is_alphanumeric())
        };
        starts
            .filter(own)
            .find_map(|at| Some((at, english_wait(text.get(at + 3..)?)?)))
    })
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
        if after(rest, &["后", "之后", "以后", "过后"]).is_some() {
            return (Some(sum), rest);
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

/// Reads the duration after "in", in seconds: 10 minutes, and nothing more.
fn english_wait(text: &str) -> Option<i64> {
    let (count, rest) = number(text)?;
    let rest = rest.strip_prefix(' ')?;
    let end = rest.find(|c: char| !c.is_ascii_alphabetic());
    let (unit, rest) = rest.split_at(end.unwrap_or(rest.len()));
    let seconds = match unit {
        "second" | "seconds" => 1,
        "minute" | "minutes" => 60,
        "hour" | "hours" => 3600,
        _ => return None,
    };
    let more = rest.trim_start().strip_prefix("and ").unwrap_or_default();
    if number(more).is_some() || more.starts_with("a half") {
        return None;
    }
    count.checked_mul(seconds)
}

/// Returns the rest of a text after the first of these words that it begins with.
fn after<'a>(text: &'a str, words: &[&str]) -> Option<&'a str> {
    words.iter().find_map(|word| text.strip_prefix(word))
}
