//! Times that a person wants kept free: they hold for all later requests of the conversation.
use std::collections::BTreeSet;

use fugato::state::say;

use super::{Facts, when::When, words::Words};
use crate::agent::FreeTime;

/// Returns the days and times of the window that are to be kept free.
pub(super) fn kept_free(times: &[FreeTime], facts: &Facts<'_>) -> Vec<When> {
    let times = times.iter().map(|time| When {
        days: Some(time.days(facts.schedule).map(|day| day.day_index).collect()),
        starts: (!time.sections.is_empty()).then(|| time.sections.clone()),
        ..When::default()
    });
    times.collect()
}

/// Returns the times that are kept free together with further ones; none if that changes nothing.
/// Days without dates cannot be recognised later, and are left out.
pub(super) fn with(known: &[FreeTime], facts: &Facts<'_>, more: &[When]) -> Option<Vec<FreeTime>> {
    let mut times = known.to_vec();
    for when in more {
        // "Nothing after nine" is about every day.
        let every = when.starts.is_some() && more.iter().all(|when| when.days.is_none());
        let every = every.then(|| ahead(facts));
        let time = FreeTime {
            dates: every.unwrap_or_else(|| dates(facts, when)),
            sections: when.starts.clone().unwrap_or_default(),
        };
        let none = when.starts.as_ref().is_some_and(BTreeSet::is_empty);
        if !none && !time.dates.is_empty() && !times.contains(&time) {
            times.push(time);
        }
    }
    (times.len() > known.len()).then_some(times)
}

/// Returns the times that are kept free without the named ones; none if that changes nothing.
pub(super) fn without(facts: &Facts<'_>, whens: &[When]) -> Option<Vec<FreeTime>> {
    let mut times = facts.free_times.to_vec();
    for when in whens {
        let all = when.days.is_none() && when.starts.is_none();
        let dates = dates(facts, when);
        let part = when.starts.as_ref().filter(|_| when.days.is_none());
        for time in &mut times {
            let is_part =
                !time.sections.is_empty() && part.is_some_and(|part| time.sections.is_subset(part));
            // A part of a day that is taken back ends what was said of the day.
            time.dates
                .retain(|date| !all && !is_part && !dates.contains(date));
        }
    }
    times.retain(|time| !time.dates.is_empty());
    (times != facts.free_times).then_some(times)
}

/// Returns the dates of the window from today on.
fn ahead(facts: &Facts<'_>) -> BTreeSet<String> {
    let dates = facts.days_ahead().map(|day| day.date.clone());
    dates.filter(|date| !date.is_empty()).collect()
}

fn dates(facts: &Facts<'_>, when: &When) -> BTreeSet<String> {
    let days = when.days.iter().flatten();
    let dates = days.filter_map(|day| Some(facts.schedule.day(*day)?.date.clone()));
    dates.filter(|date| !date.is_empty()).collect()
}

/// Returns the times that are kept free in words, a line for each.
pub(super) fn listed(times: &[FreeTime], facts: &Facts<'_>) -> Vec<String> {
    let words = Words::of(facts);
    let lines = times.iter().map(|time| {
        let days = time.days(facts.schedule);
        let days: Vec<_> = days.filter_map(|day| words.day(day.day_index)).collect();
        let hours = words.times(&time.sections);
        let is_every = !hours.is_empty() && days.len() > 7 && ahead(facts).is_subset(&time.dates);
        let days = if is_every {
            say!("every day", "每天")
        } else {
            days.join(&say!(", ", "、"))
        };
        if hours.is_empty() {
            days
        } else {
            format!("{days} {hours}")
        }
    });
    lines.filter(|line| !line.is_empty()).collect()
}
