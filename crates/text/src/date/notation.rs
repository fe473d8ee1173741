//! The ways in which a single day is written.
use jiff::civil::Date;

use super::TO;
use crate::{
    calendar::month,
    number::{is_digit, number},
    word::{after_word, before_word, is_inside, tail},
};

/// Reads 2026-03-02, 2026年3月2日.
pub(super) fn full(here: &str) -> Option<(Date, &str)> {
    let (year, rest) = digits(here, 4).filter(|(year, _)| *year >= 1000)?;
    let rest = rest.trim_start().strip_prefix(['-', '/', '.', '年'])?;
    let (month, rest) = number(rest.trim_start())?;
    let rest = rest.trim_start().strip_prefix(['-', '/', '.', '月'])?;
    let (day, rest) = number(rest.trim_start())?;
    let (month, day) = (i8::try_from(month).ok()?, i8::try_from(day).ok()?);
    Some((
        Date::new(year, month, day).ok()?,
        of_day(rest).unwrap_or(rest),
    ))
}

/// Reads `2.3.2026`, and `2.3.` where no price can be meant.
pub(super) fn dotted<'a>(before: &str, here: &'a str) -> Option<(i8, i8, &'a str)> {
    if is_inside(before) || before.ends_with(['.', ',']) {
        return None;
    }
    let (day, rest) = digits(here, 2)?;
    let (month, rest) = digits(rest.strip_prefix('.')?.trim_start(), 2)?;
    let rest = rest.strip_prefix('.')?;
    let is_day = is_meant_as_day(before, rest);
    is_day.then_some((i8::try_from(month).ok()?, i8::try_from(day).ok()?, rest))
}

/// Reads `12/14` and `14/12/2026` where no part of something can be meant. Of two numbers that may
/// both be a month, nobody knows which one is.
pub(super) fn slashed<'a>(before: &str, here: &'a str) -> Option<(i8, i8, &'a str)> {
    if is_inside(before) || before.ends_with(['/', '.', ',']) {
        return None;
    }
    let (first, rest) = digits(here, 2)?;
    let (second, rest) = digits(rest.strip_prefix('/')?, 2)?;
    let is_year = |rest: &&str| digits(rest, 4).is_some_and(|(year, _)| year >= 1000);
    let rest = rest.strip_prefix('/').filter(is_year).unwrap_or(rest);
    let (month, day) = match (first > 12, second > 12) {
        // Around the clock.
        _ if (first, second) == (24, 7) => return None,
        (true, false) => (second, first),
        (false, true) => (first, second),
        (false, false) if first == second => (first, second),
        _ => return None,
    };
    let is_day = !rest.starts_with('/') && is_meant_as_day(before, rest);
    is_day.then_some((i8::try_from(month).ok()?, i8::try_from(day).ok()?, rest))
}

/// Returns true if a day that is written with numbers alone has a year behind it, stands behind a
/// word for a day, or is a part of a period.
fn is_meant_as_day(before: &str, rest: &str) -> bool {
    const LEADS: [&str; 8] = ["on", "from", "since", "until", "till", "til", "by", "of"];
    let has_year = digits(rest, 4).is_some_and(|(year, _)| year >= 1000);
    let lead = tail(before).trim_end();
    let is_led = before_word(lead, &LEADS).is_some() || before_word(lead, &TO).is_some();
    let is_first = || after_word(rest.trim_start(), &TO).is_some();
    let ends = has_year || !rest.starts_with(|c: char| c.is_ascii_alphanumeric());
    ends && (has_year || is_led || is_first())
}

/// Returns true if a text ends with a day such as `2.3.`.
pub(crate) fn ends_dotted(text: &str) -> bool {
    let day = text.trim_end_matches(|c| is_digit(c) || c == '.');
    let found = text.get(day.len()..).and_then(|here| dotted(day, here));
    found.is_some_and(|(_, _, rest)| rest.is_empty())
}

/// Reads 3月2日, 三月二号, 3月2.
pub(super) fn chinese(here: &str) -> Option<(i8, i8, &str)> {
    let (month, rest) = number(here)?;
    let (day, rest) = number(rest.trim_start().strip_prefix('月')?.trim_start())?;
    let counts =
        rest.starts_with(|c: char| is_digit(c) || "人天次张个位份晚间件小分年点%".contains(c));
    let rest = of_day(rest).or((!counts).then_some(rest))?;
    Some((month.try_into().ok()?, day.try_into().ok()?, rest))
}

/// Reads `March 2nd`, `2nd of March`.
pub(super) fn english(here: &str) -> Option<(i8, i8, &str)> {
    if let Some((month, rest)) = month(here) {
        let (day, rest) = ordinal(rest.strip_prefix(' ')?.trim_start())?;
        return Some((month, day, rest));
    }
    day_first(here)
}

/// Reads `2nd of March`.
pub(super) fn day_first(here: &str) -> Option<(i8, i8, &str)> {
    let (day, rest) = ordinal(here)?;
    let rest = rest.strip_prefix(' ')?.trim_start();
    let (month, rest) = month(rest.strip_prefix("of ").unwrap_or(rest))?;
    Some((month, day, rest))
}

/// Reads `2`, `2nd`.
pub(super) fn ordinal(text: &str) -> Option<(i8, &str)> {
    let (day, rest) = digits(text, 2)?;
    let rest = after_word(rest, &["st", "nd", "rd", "th"]).unwrap_or(rest);
    let goes_on = rest.starts_with(|c: char| c.is_alphanumeric());
    (!goes_on).then_some((day.try_into().ok()?, rest))
}

/// Reads a year after a day.
pub(super) fn year(rest: &str) -> Option<(i16, &str)> {
    let rest = rest.strip_prefix(',').unwrap_or(rest).strip_prefix(' ')?;
    let (year, rest) = digits(rest.trim_start(), 4)?;
    (year >= 1000 && !rest.starts_with(|c: char| c.is_alphanumeric())).then_some((year, rest))
}

/// Skips 日 or 号 after a number.
pub(super) fn of_day(rest: &str) -> Option<&str> {
    rest.trim_start().strip_prefix(['日', '号'])
}

pub(super) fn digits(text: &str, most: usize) -> Option<(i16, &str)> {
    let (number, rest) = number(text).filter(|_| text.starts_with(|c: char| c.is_ascii_digit()))?;
    (text.len() - rest.len() <= most).then_some((number.try_into().ok()?, rest))
}
