//! Times as people say them. A text that is only understood in part is not accepted.
mod recurrence;

use crate::{
    calendar::near_day,
    time::{self, Time},
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
}

impl TimeReference {
    /// Reads the time of a task: every day or on certain days, today, tomorrow or after a while. `None`
    /// if there is no time, more than one, or a part that is not understood.
    pub fn of(text: &str) -> Option<Self> {
        let text = &text.to_lowercase();
        let (wait, clock) = (time::wait(text), time::find(text));
        if let Some((at, seconds)) = wait {
            let first = clock.is_none_or(|(clock, _)| at < clock);
            return first.then_some(Self::In(seconds));
        }
        let (at, time) = clock?;
        Some(match recurrence::read(text, at).ok()? {
            Some(days) => Self::Again(days, time),
            None => Self::Once(day(text, at), time),
        })
    }
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
