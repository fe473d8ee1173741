//! The days of a time: one of the next, or those on which it comes again.
use super::{digit, number};

/// The days that are named.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Days {
    /// The one that is so many days away; none if none is named.
    Once(Option<i64>),
    /// The days of the month, the months and the days of the week, as cron writes them.
    Again(String),
}

const EVERY_DAY: &str = "* * *";
const WORKDAYS: &str = "* * 1-5";
const WEEKEND: &str = "* * 6,0";
const WEEK: [&str; 7] = [
    "sunday",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
];

/// The days of a time that stands at `clock`; none if something is said of days that is not
/// understood.
pub(super) fn read(text: &str, clock: usize) -> Option<Days> {
    let mut words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
    words.retain(|word| !word.is_empty());
    let (english, words) = every(&words)?;
    let (chinese, rest) = again(text, clock)?;
    if is_unclear(&rest) || is_unclear_in_english(&words) {
        return None;
    }
    match (chinese, english) {
        (Some(_), Some(_)) => None,
        (Some(days), None) | (None, Some(days)) => Some(Days::Again(days)),
        (None, None) => Some(Days::Once(day(text, clock))),
    }
}

/// The day that is named before the time, or else behind it.
fn day(text: &str, clock: usize) -> Option<i64> {
    const NAMED: [(&str, i64); 19] = [
        ("大后天", 3),
        ("后天", 2),
        ("明天", 1),
        ("明早", 1),
        ("明晚", 1),
        ("明晨", 1),
        ("明日", 1),
        ("明儿", 1),
        ("今天", 0),
        ("今早", 0),
        ("今晚", 0),
        ("今日", 0),
        ("day after tomorrow", 2),
        ("tomorrow", 1),
        ("today", 0),
        ("tonight", 0),
        ("this morning", 0),
        ("this afternoon", 0),
        ("this evening", 0),
    ];
    // Where it ends; of those that end alike the longest comes first.
    let all = NAMED.into_iter().flat_map(|(word, days)| {
        let found = text.match_indices(word);
        found.map(move |(at, _)| (at + word.len(), word.len(), days))
    });
    let all: Vec<_> = all.collect();
    let before = all.iter().filter(|(end, ..)| *end <= clock);
    let nearest = before.max_by_key(|(end, bytes, _)| (*end, *bytes));
    let behind = || {
        let behind = all.iter().filter(|(end, ..)| *end > clock);
        behind.min_by_key(|(end, bytes, _)| (*end, usize::MAX - bytes))
    };
    nearest.or_else(behind).map(|(_, _, days)| *days)
}

/// The days behind 每, and the text without them; no days if nothing comes again.
fn again(text: &str, clock: usize) -> Option<(Option<String>, String)> {
    if let Some(at) = text.find('每') {
        let said = text.get(at + '每'.len_utf8()..)?;
        let (days, rest) = repeated(said, clock.saturating_sub(text.len() - said.len()))?;
        return Some((Some(days), format!("{} {rest}", text.get(..at)?)));
    }
    Some(match text.split_once("工作日") {
        Some((before, behind)) => (Some(WORKDAYS.into()), format!("{before} {behind}")),
        None => (None, text.to_owned()),
    })
}

fn repeated(said: &str, clock: usize) -> Option<(String, &str)> {
    let unit = said.strip_prefix('个').unwrap_or(said);
    let named = [
        ("工作日", WORKDAYS),
        ("周末", WEEKEND),
        ("天", EVERY_DAY),
        ("日", EVERY_DAY),
        ("早", EVERY_DAY),
        ("晚", EVERY_DAY),
        ("夜", EVERY_DAY),
        ("上午", EVERY_DAY),
        ("中午", EVERY_DAY),
        ("下午", EVERY_DAY),
    ];
    for (name, days) in named {
        if let Some(rest) = unit.strip_prefix(name) {
            return Some((days.into(), rest));
        }
    }
    if let Some(rest) = unit.strip_prefix('月') {
        let (day, rest) = number(rest)?;
        let rest = rest.strip_prefix(['号', '日'])?;
        return (1..=31)
            .contains(&day)
            .then(|| (format!("{day} * *"), rest));
    }
    let rest = week(unit)?;
    let clock = clock.saturating_sub(said.len() - rest.len());
    let (days, rest) = weekdays(rest, clock)?;
    let days: Vec<String> = days.iter().map(ToString::to_string).collect();
    Some((format!("* * {}", days.join(",")), rest))
}

/// What comes behind the word for a week.
fn week(text: &str) -> Option<&str> {
    super::after(text, &["周", "星期", "礼拜"])
}

/// 一三五, 一、周三和周五, 一到五: up to the time, whose hour is no day.
fn weekdays(text: &str, clock: usize) -> Option<(Vec<i64>, &str)> {
    let (mut days, mut rest, mut range) = (vec![], text, false);
    loop {
        let next = rest.trim_start_matches(['、', '，', ',', '和', '及', '与', '跟', ' ']);
        let next = week(next).unwrap_or(next);
        let at_clock = text.len() - next.len() >= clock;
        let Some(day) = weekday(next).filter(|_| !at_clock) else {
            break;
        };
        if range {
            days.extend(days.last()? + 1..day);
        }
        days.push(day);
        let mut behind = next.chars();
        behind.next();
        rest = behind.as_str();
        let to = rest.strip_prefix(['到', '至', '-', '~']);
        range = to.is_some();
        rest = to.unwrap_or(rest);
    }
    let rising = days.is_sorted_by(|a, b| a < b);
    // In cron a Sunday is 0.
    let days = days.into_iter().map(|day| day % 7).collect::<Vec<_>>();
    (rising && !range && !days.is_empty()).then_some((days, rest))
}

/// Monday is 1, and Sunday 7.
fn weekday(text: &str) -> Option<i64> {
    let c = text.chars().next()?;
    match c {
        '日' | '天' => Some(7),
        '两' => None,
        c => digit(c).filter(|day| (1..=6).contains(day)),
    }
}

/// The days behind "every", and the words without them; no days if nothing comes again.
fn every<'a>(words: &[&'a str]) -> Option<(Option<String>, Vec<&'a str>)> {
    let known = |word: &&str| matches!(*word, "every" | "each" | "daily" | "everyday" | "weekdays");
    let Some(at) = words.iter().position(known) else {
        return Some((None, words.to_vec()));
    };
    let (before, rest) = words.split_at(at);
    let (&first, rest) = rest.split_first()?;
    let without = |rest: &[&'a str]| [before, rest].concat();
    match first {
        "daily" | "everyday" => return Some((Some(EVERY_DAY.into()), without(rest))),
        "weekdays" => return Some((Some(WORKDAYS.into()), without(rest))),
        _ => {}
    }
    let (&unit, behind) = rest.split_first()?;
    let days = match unit {
        "day" | "morning" | "afternoon" | "evening" | "night" => EVERY_DAY,
        "weekday" | "workday" => WORKDAYS,
        "weekend" => WEEKEND,
        _ => {
            let mut days = vec![];
            let mut left = rest;
            while let Some((&word, behind)) = left.split_first() {
                match WEEK.iter().position(|day| *day == word) {
                    Some(day) => days.push(day.to_string()),
                    None if word == "and" && !days.is_empty() => {}
                    None => break,
                }
                left = behind;
            }
            let all = format!("* * {}", days.join(","));
            return (!days.is_empty()).then(|| (Some(all), without(left)));
        }
    };
    Some((Some(days.into()), without(behind)))
}

/// Whether something is said of days, or of a while, beside what was understood.
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
        all.any(|(at, week)| text.get(at + week.len()..).and_then(weekday).is_some())
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
    const MONTHS: [&str; 12] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    let is_number = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
    let pair = |pair: &[&str]| match pair {
        ["next", "week" | "month" | "year"] => true,
        ["on" | "next" | "this", day] => WEEK.iter().any(|known| known.get(..3) == day.get(..3)),
        [a, b] => {
            let month = |word: &&str| MONTHS.iter().any(|month| word.starts_with(month));
            month(a) && is_number(b) || is_number(a) && month(b)
        }
        _ => false,
    };
    let one = |word: &&str| {
        let day = word.strip_suffix('s').unwrap_or(word);
        let ordinal = is_number(word)
            && ["st", "nd", "rd", "th"]
                .iter()
                .any(|end| word.ends_with(end));
        WORDS.contains(word) || WEEK.contains(&day) || ordinal
    };
    words.iter().any(one) || words.windows(2).any(pair)
}
