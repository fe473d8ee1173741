//! Times as people say them. A text that is only understood in part is not accepted.
mod recurrence;

use crate::{
    calendar::near_day,
    time::{self, Time},
    word::before_word,
};

pub use recurrence::Recurrence;

/// A time in the words of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimeReference {
    /// In so many seconds.
    In(i64),
    /// At this time, on the day at this distance in days if one is named.
    Once(Option<i64>, Time),
    /// Repeatedly at this time, on these days.
    Again(Recurrence, Time),
    /// Repeatedly, so many minutes apart, of which an hour or a day has a whole number.
    Every(u32),
}

/// The error for words about a time that are not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnclearTime {
    /// The words, in lower case.
    pub(crate) part: String,
    /// True if they are a time themselves, beside another one.
    pub(crate) is_another: bool,
}

impl UnclearTime {
    pub(crate) fn new(part: impl Into<String>) -> Self {
        let (part, is_another) = (part.into(), false);
        Self { part, is_another }
    }

    pub(crate) fn another(part: impl Into<String>) -> Self {
        let (part, is_another) = (part.into(), true);
        Self { part, is_another }
    }
}

impl TimeReference {
    /// Reads the time of a task: every day or on certain days, today, tomorrow or after a while. `None`
    /// if there is no time, more than one, or a part that is not understood.
    pub fn of(text: &str) -> Option<Self> {
        Self::read(text).ok().flatten()
    }

    /// Reads the time of a task; `None` if there is no time of the day and no wait.
    pub(crate) fn read(text: &str) -> Result<Option<Self>, UnclearTime> {
        let text = &text.to_lowercase();
        let (wait, clock) = (time::wait(text)?, time::find(text)?);
        if let Some((minutes, said)) = recurrence::interval(text)? {
            return match (wait, clock) {
                (None, None) => Ok(Some(Self::Every(minutes))),
                _ => Err(UnclearTime::another(said)),
            };
        }
        if let Some((at, seconds)) = wait {
            return match clock {
                Some((clock, _)) if clock < at || is_joined(text.get(at..clock)) => {
                    let other = text.get(clock.max(at)..).unwrap_or_default();
                    Err(UnclearTime::another(other))
                }
                _ => Ok(Some(Self::In(seconds))),
            };
        }
        let Some((at, time)) = clock else {
            return Ok(None);
        };
        Ok(Some(match recurrence::read(text, at)? {
            Some(days) => Self::Again(days, time),
            None => Self::Once(day(text, at), time),
        }))
    }

    /// Returns true if a text names days on which something repeats, and nothing that is unclear.
    pub(crate) fn repeats(text: &str) -> Result<bool, UnclearTime> {
        let text = &text.to_lowercase();
        recurrence::read(text, text.len()).map(|days| days.is_some())
    }
}

/// Returns true if what stands between two times makes the second one as good as the first: "… and
/// at 15:00".
fn is_joined(between: Option<&str>) -> bool {
    let between = between.unwrap_or_default().trim_end();
    let between = before_word(between, &["at"]).unwrap_or(between).trim_end();
    before_word(
        between,
        &["and", "then", "和", "并", "再", "以及", "还有", "、"],
    )
    .is_some()
}

/// Returns true if a text names a day, or a part of one such as tonight.
pub(crate) fn names_day(text: &str) -> bool {
    day(&text.to_lowercase(), text.len()).is_some()
}

/// Returns the day that is named before the time, or else after it.
fn day(text: &str, clock: usize) -> Option<i64> {
    // Parts of a day that also name the day.
    const PARTS: [(&str, i64); 9] = [
        ("明早", 1),
        ("明晚", 1),
        ("明晨", 1),
        ("今早", 0),
        ("今晚", 0),
        ("tonight", 0),
        ("this morning", 0),
        ("this afternoon", 0),
        ("this evening", 0),
    ];
    let (mut before, mut end) = (None, 0);
    for (at, _) in text.char_indices().filter(|(at, _)| *at != clock) {
        let Some(here) = text.get(at..).filter(|_| at >= end) else {
            continue;
        };
        let mut parts = PARTS.into_iter();
        let part = || parts.find_map(|(word, days)| Some((days, here.strip_prefix(word)?)));
        let Some((days, rest)) = near_day(here).or_else(part) else {
            continue;
        };
        end = text.len() - rest.len();
        if end > clock {
            return before.or(Some(days));
        }
        before = Some(days);
    }
    before
}
