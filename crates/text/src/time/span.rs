//! Hours from one to another: `between 2 and 4 pm`, `14:00-18:00`, 两点到四点.
use super::{ClockTime, PARTS, clock_time, hour_of};
use crate::{
    day_reference::{TO, is_moved},
    number::number,
    word::after_word,
};

/// The words for what is counted; a number before them is no hour.
const UNITS: [&str; 22] = [
    "hours", "hour", "h", "minutes", "minute", "mins", "min", "days", "day", "weeks", "week",
    "months", "month", "sections", "section", "periods", "period", "parts", "part", "items",
    "tasks", "times",
];

/// Reads the hours with which a text in lower case begins, with the word that leads to them, and
/// returns the rest of it. What moves from one time to another names two, and no hours between them.
///
/// A number alone is an hour where `between` or `from` leads to it, behind a time of day, in `2-4 pm`, and
/// where it is to be free: in `book 2 - 14:00` it is the end of a name.
pub(crate) fn hours<'t>(text: &'t str, before: &str) -> Option<(ClockTime, ClockTime, &'t str)> {
    let between = after_word(text, &["between"]);
    let led = between.or_else(|| after_word(text, &["from", "从"]));
    let here = led.unwrap_or(text).trim_start();
    let clock = clock_time(here);
    let is_said = clock.is_some() || led.is_some();
    let (mut from, rest) = clock.or_else(|| bare(here))?;
    let is_tight = rest.starts_with('-');
    let joined = rest.trim_start();
    let words: &[&str] = if between.is_some() { &["and", "&"] } else { TO };
    let word = words
        .iter()
        .find(|word| after_word(joined, &[**word]).is_some())?;
    let end = joined.strip_prefix(word)?.trim_start();
    let (to, tail) = of_part(end)
        .or_else(|| clock_time(end))
        .or_else(|| bare(end))?;
    let said = end.get(..end.len() - tail.len())?;
    let half = said.contains('m');
    let is_free = after_word(tail.trim_start(), &["free", "clear", "off"]).is_some();
    if !(is_said || is_free || is_tight && half) || tail.starts_with('-') {
        return None;
    }
    // "2 to 4 pm" begins in the afternoon, "11 to 1 pm" does not.
    let hour = from.hour + if to.hour < 12 { 0 } else { 12 };
    if half && !from.is_certain && from.hour < 12 && (hour, from.minute) < (to.hour, to.minute) {
        (from.hour, from.is_certain) = (hour, true);
    }
    let is_range = between.is_some() || *word == "-" || !is_moved(before, tail, &[]);
    is_range.then_some((from, to, tail))
}

/// Reads a number that can be an hour.
fn bare(text: &str) -> Option<(ClockTime, &str)> {
    let (hour, rest) = number(text).filter(|_| text.starts_with(|c: char| c.is_ascii_digit()))?;
    let goes_on = |c: char| c.is_alphanumeric() || ":./".contains(c) && !rest.ends_with(c);
    let counts = after_word(rest.trim_start(), &UNITS).is_some();
    let hour = i8::try_from(hour).ok().filter(|it| (1..24).contains(it))?;
    let time = ClockTime {
        hour,
        minute: 0,
        is_certain: false,
    };
    (!counts && !rest.starts_with(goes_on)).then_some((time, rest))
}

/// Reads a time of day behind the part of the day in which it is: 晚上八点.
fn of_part(text: &str) -> Option<(ClockTime, &str)> {
    let mut parts = PARTS.into_iter().filter(|(word, _)| !word.is_ascii());
    let (rest, part) = parts.find_map(|(word, part)| Some((text.strip_prefix(word)?, part)))?;
    let (time, rest) = clock_time(rest.strip_prefix('上').unwrap_or(rest))?;
    let (hour, next_day) = hour_of(Some(part), time.hour.into())?;
    let time = ClockTime {
        hour: hour.try_into().ok().filter(|_| !next_day)?,
        is_certain: true,
        ..time
    };
    Some((time, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(String, &str)> {
        let (from, to, rest) = hours(text, "keep ")?;
        let said = |time: ClockTime| {
            let open = if time.is_certain { "" } else { "?" };
            format!("{}:{:02}{open}", time.hour, time.minute)
        };
        Some((format!("{}-{}", said(from), said(to)), rest))
    }

    #[test]
    fn hours_from_one_to_another_are_read_with_their_lead() {
        for (text, expected, rest) in [
            ("between 2 and 4 pm free", "14:00-16:00", " free"),
            ("between 11 and 1 pm", "11:00?-13:00", ""),
            ("between 9 and 12, please", "9:00?-12:00?", ", please"),
            (
                "between 14:00 and 18:00 on friday",
                "14:00-18:00",
                " on friday",
            ),
            ("from 12 to 1", "12:00?-1:00?", ""),
            ("from 3 to 4.", "3:00?-4:00?", "."),
            ("14:00-18:00", "14:00-18:00", ""),
            ("14:00 - 18:00", "14:00-18:00", ""),
            ("2-4 pm", "14:00-16:00", ""),
            ("12 to 1 free", "12:00?-1:00?", " free"),
            ("9-11am", "9:00-11:00", ""),
            ("3 pm to 5", "15:00-5:00?", ""),
            ("两点到四点空着", "2:00?-4:00?", "空着"),
            ("从十二点到一点半", "12:00?-1:30?", ""),
            ("两点至晚上八点", "2:00?-20:00", ""),
            ("九点到下午五点", "9:00?-17:00", ""),
        ] {
            assert_eq!(read(text), Some((expected.into(), rest)), "{text}");
        }
    }

    #[test]
    fn what_counts_or_ends_a_name_is_no_hour() {
        for text in [
            "2 - 14:00",
            "2-14:00",
            "9-12",
            "3 to 4",
            "between 2 and 3 hours",
            "between 2 and 16 items",
            "from 2 to 3 sections",
            "from 3 to 4-5",
            "从3到4号",
            "between 14:00",
            "between 2 and friday",
            "2 and 4 pm",
            "24:00-25:00",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(hours("from 2 pm to 4 pm", "move it "), None);
        assert_eq!(hours("两点到四点", "挪到"), None);
        assert!(hours("between 2 and 4 pm", "move it to friday ").is_some());
        assert!(hours("14:00-16:00", "move it to friday, ").is_some());
    }
}
