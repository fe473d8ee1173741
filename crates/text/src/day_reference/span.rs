//! Spans of days: `dec 3 to dec 5`, 下周一到下周三.
use super::{BREAKS, DayReference, TO, date, english_day, has_start, name, single};
use crate::{
    number::number as any_number,
    word::{after_word, before_word},
};

/// The words of a wish to move something: "from Friday to Sunday" then names two days, and no span.
const MOVES: [&str; 19] = [
    "move",
    "moves",
    "moving",
    "shift",
    "bring",
    "push",
    "postpone",
    "delay",
    "reschedule",
    "change",
    "switch",
    "swap",
    "挪",
    "移",
    "改",
    "调",
    "推",
    "换",
    "搬",
];

/// The words of a wish that something goes anywhere within a span.
const WITHIN: [&str; 4] = ["somewhere", "sometime", "some time", "any time"];

/// Returns true if something is moved, by one of these words too, in the thought in which days or hours
/// lie.
pub(crate) fn is_moved(before: &str, tail: &str, also: &[&str]) -> bool {
    let said = BREAKS.iter().filter_map(|at| before.rfind(at)).max();
    let ends = BREAKS.iter().filter_map(|at| tail.find(at)).min();
    let said = [
        before.get(said.unwrap_or(0)..),
        tail.get(..ends.unwrap_or(tail.len())),
    ];
    let has = |text: &str, words: &[&str]| words.iter().any(|word| has_start(text, word));
    let within = said.into_iter().flatten().any(|text| has(text, &WITHIN));
    let moves = |text: &str| has(text, &MOVES) || has(text, also);
    !within && said.into_iter().flatten().any(moves)
}

/// Reads `dec 3 to dec 5`, `dec 3-5`, `3 to 5 december`, `from tomorrow until friday`, `between friday
/// and sunday`, `3号到5号`, `下周一到下周三`.
pub(super) fn span<'t>(rest: &'t str, before: &str) -> Option<(DayReference, &'t str)> {
    let between = after_word(rest, &["between"]).map(str::trim_start);
    let (rest, before) = between.map_or((rest, before), |rest| (rest, "between"));
    let begin = endpoint(rest, before).or_else(|| month_later(rest, before));
    let (mut first, tail) = begin?;
    let joined = tail.trim_start();
    let is_between = before_word(before.trim_end(), &["between"]).is_some();
    let words: &[&str] = if is_between { &["and"] } else { TO };
    let word = words.iter().find(|word| joined.starts_with(**word))?;
    let end = joined.strip_prefix(word)?.trim_start();
    let (last, tail) = match (first.as_slice(), endpoint(end, "")) {
        ([DayReference::Date(Some(month), from)], None) => day_of(*month, *from, end)?,
        (_, last) => last?,
    };
    if let ([DayReference::Date(month, _)], [DayReference::Date(named, _)]) =
        (first.as_mut_slice(), last.as_slice())
        && month.is_none()
    {
        *month = *named;
    }
    let is_date = |days: &[DayReference]| matches!(days, [DayReference::Date(..)]);
    let from = before.trim_end();
    let from = from.ends_with("from") || from.ends_with('从');
    let sure = *word != "to" || from || is_date(&first) && is_date(&last);
    let is_span = sure && !is_moved(before, tail, &["put"]);
    is_span.then_some((DayReference::Span(first, last), tail))
}

/// Reads one day, which a week may precede.
fn endpoint<'t>(rest: &'t str, before: &str) -> Option<(Vec<DayReference>, &'t str)> {
    let (day, tail) = single(rest, before)?;
    let of_week = matches!(day, DayReference::NextWeek(_));
    match name(tail.trim_start(), "").filter(|_| of_week) {
        Some((name, tail)) => Some((vec![day, DayReference::Weekdays([name].into())], tail)),
        None => Some((vec![day], tail)),
    }
}

/// Reads the first day of a span whose month stands at its end: the 3 of `3 to 5 december`, `3到5号`.
fn month_later<'t>(rest: &'t str, before: &str) -> Option<(Vec<DayReference>, &'t str)> {
    if before.ends_with(|c: char| c.is_ascii_digit() || "第.:/-".contains(c)) {
        return None;
    }
    let (day, tail) = english_day(rest).or_else(|| any_number(rest))?;
    let end = tail.trim_start();
    let end = TO.iter().find_map(|word| end.strip_prefix(word))?;
    let (last, _) = date(end.trim_start(), "")?;
    let day = i8::try_from(day).ok().filter(|day| *day > 0)?;
    let follows = matches!(last, DayReference::Date(_, last) if day < last);
    follows.then(|| (vec![DayReference::Date(None, day)], tail))
}

/// Reads the last day of a span within a month: the 5 of `dec 3-5`.
fn day_of(month: i8, from: i8, end: &str) -> Option<(Vec<DayReference>, &str)> {
    const UNITS: [&str; 10] = [
        "am", "pm", "a.m.", "p.m.", "o'clock", "hours", "hour", "h", "minutes", "min",
    ];
    let chinese = || {
        let (day, tail) = any_number(end)?;
        Some((day, tail.strip_prefix(['日', '号'])?))
    };
    let english = english_day(end.strip_prefix("the ").unwrap_or(end));
    let (day, tail) = english.or_else(chinese)?;
    let day = i8::try_from(day)
        .ok()
        .filter(|day| (from..=31).contains(day))?;
    let counts = tail.starts_with([':', '.']) && !tail.trim_end().ends_with('.')
        || after_word(tail.trim_start(), &UNITS).is_some();
    (!counts).then(|| (vec![DayReference::Date(Some(month), day)], tail))
}
