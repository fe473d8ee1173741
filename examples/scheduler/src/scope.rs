//! The days that a step of a plan is about, read from its text.
//!
//! `第3天`, `下周三`, `周末`, `days 3-5` and `Wednesday of next week` all limit the days that the writes
//! of a step may touch. A text that names no day limits nothing. A text that names only the
//! destination (`move it to Friday`) limits only the days to which tasks move.
use std::collections::BTreeSet;

use fugato::words::{DayMention, DayReference, day_mentions};

use crate::schedule::{DayMapping, Window, scope::DayScope};

/// Reads the scope of a step; none if its text names no day. `today` is the number of the
/// current day, from which `tomorrow` and `next week` count; it may be outside the window.
pub(crate) fn day_scope(text: &str, window: &Window, today: i32) -> Option<DayScope> {
    let mut spoken = day_mentions(&text.to_lowercase());
    // Nothing can be placed in the past.
    spoken.retain(|day| !matches!(day.days, DayReference::FromToday(..0)));
    if spoken.is_empty() {
        return None;
    }
    let calendar = NamedDays { window, today };
    let (excluded, named): (Vec<_>, Vec<_>) = spoken.into_iter().partition(|day| day.is_excluded);
    let mut days = if named.is_empty() {
        window.days.iter().map(|day| day.day_index).collect()
    } else {
        calendar.resolve(&named)
    };
    for day in calendar.resolve(&excluded) {
        days.remove(&day);
    }
    // Naming the source as well ("from Monday to Friday" apart) leaves a mention that no
    // word of direction precedes, and then both ends count. Days that are only excluded may be
    // left.
    let targets_only = named.iter().all(|mention| mention.is_target);
    Some(DayScope { days, targets_only })
}

/// The days of a window, as somebody names them who speaks on a day.
pub(crate) struct NamedDays<'a> {
    pub(crate) window: &'a Window,
    /// The number of that day, which may be outside the window.
    pub(crate) today: i32,
}

impl NamedDays<'_> {
    /// Returns the named days. An adjacent week and weekday belong together (`下周三`); separate weeks
    /// and weekdays narrow each other (`next week, on the weekend`).
    fn resolve(&self, spoken: &[DayMention]) -> BTreeSet<u16> {
        let mut days = BTreeSet::new();
        let (mut weeks, mut weekdays) = (BTreeSet::new(), BTreeSet::new());
        let mut names_week = false;
        let mut rest = spoken;
        while let Some((first, tail)) = rest.split_first() {
            rest = tail;
            if let Some((second, tail)) = tail.split_first()
                && second.joined
                && let Some((week, names)) = pair(&first.days, &second.days)
            {
                days.extend(self.days(&self.weeks(week), names));
                rest = tail;
                continue;
            }
            match &first.days {
                DayReference::Weekdays(names) => weekdays.extend(names.iter().copied()),
                week @ (DayReference::Weeks(..) | DayReference::NextWeek(_)) => {
                    names_week = true;
                    weeks.extend(self.weeks(week));
                }
                single => days.extend(self.single(single)),
            }
        }
        if weekdays.is_empty() && weeks.is_empty() {
            return days;
        }
        let every: BTreeSet<u8> = (1..=7).collect();
        let names = if weekdays.is_empty() {
            &every
        } else {
            &weekdays
        };
        if !names_week {
            weeks = self.every_week().collect();
        }
        days.extend(self.days(&weeks, names));
        days
    }

    /// Returns the days of these names in these weeks.
    pub(crate) fn days(
        &self,
        weeks: &BTreeSet<i32>,
        names: &BTreeSet<u8>,
    ) -> impl Iterator<Item = u16> {
        let there = self.window.days.iter();
        there
            .filter(|day| weeks.contains(&i32::from(day.week)) && names.contains(&day.day_of_week))
            .map(|day| day.day_index)
    }

    /// Returns the days of a reference that names no weeks and no weekdays.
    pub(crate) fn single(&self, reference: &DayReference) -> BTreeSet<u16> {
        if let DayReference::Span(from, to) = reference {
            return self.span(from, to).unwrap_or_default();
        }
        let dated = |day: &DayMapping, month: Option<i8>, of_month: i8| {
            let date: Option<jiff::civil::Date> = day.date.parse().ok();
            date.is_some_and(|date| {
                date.day() == of_month && month.is_none_or(|month| date.month() == month)
            })
        };
        let is_meant = |day: &&DayMapping| {
            let index = i32::from(day.day_index);
            match reference {
                DayReference::Days(from, to) => (*from..=*to).contains(&index),
                DayReference::FromToday(offset) => index == self.today + offset,
                DayReference::Date(month, of_month) => dated(day, *month, *of_month),
                _ => false,
            }
        };
        let days = self.window.days.iter().filter(is_meant);
        days.map(|day| day.day_index).collect()
    }

    /// Returns the days of a span as far as the window reaches; none if it has none of them, or ends
    /// before it begins.
    fn span(&self, from: &[DayReference], to: &[DayReference]) -> Option<BTreeSet<u16>> {
        let ahead = |day: &u16| i32::from(*day) > self.today;
        let (from, to) = (self.ends(from), self.ends(to));
        let begin = from.iter().find(|day| ahead(day)).or_else(|| from.last());
        let end = to
            .iter()
            .find(|day| begin.is_none_or(|begin| *day >= begin));
        let is_meant = |day: &u16| match (begin, end) {
            (Some(begin), Some(end)) => (begin..=end).contains(&day),
            // The window ends within the span, or begins there.
            (Some(begin), None) => to.is_empty() && day >= begin,
            (None, Some(end)) => day <= end,
            (None, None) => false,
        };
        let days = self.window.days.iter().map(|day| day.day_index);
        let days: BTreeSet<u16> = days.filter(is_meant).collect();
        (!days.is_empty()).then_some(days)
    }

    /// Returns the days that an end of a span can be.
    fn ends(&self, end: &[DayReference]) -> BTreeSet<u16> {
        match end {
            [week, DayReference::Weekdays(names)] => self.days(&self.weeks(week), names).collect(),
            [DayReference::Weekdays(names)] => {
                self.days(&self.every_week().collect(), names).collect()
            }
            [week @ (DayReference::NextWeek(_) | DayReference::Weeks(..))] => {
                let all = (1..=7).collect();
                self.days(&self.weeks(week), &all).collect()
            }
            [day, ..] => self.single(day),
            [] => BTreeSet::new(),
        }
    }

    fn every_week(&self) -> impl Iterator<Item = i32> {
        self.window.days.iter().map(|day| i32::from(day.week))
    }

    /// Returns the weeks of a reference that names weeks.
    pub(crate) fn weeks(&self, mention: &DayReference) -> BTreeSet<i32> {
        match mention {
            DayReference::Weeks(from, to) => self
                .every_week()
                .filter(|week| (from..=to).contains(&week))
                .collect(),
            DayReference::NextWeek(offset) => BTreeSet::from([self.this_week() + offset]),
            _ => BTreeSet::new(),
        }
    }

    /// Returns the week of today. Before and after the window it is counted from its first day.
    fn this_week(&self) -> i32 {
        let days = &self.window.days;
        if let Some(day) = days
            .iter()
            .find(|day| i32::from(day.day_index) == self.today)
        {
            return i32::from(day.week);
        }
        let Some(first) = days.first() else { return 0 };
        let since_monday =
            self.today - i32::from(first.day_index) + i32::from(first.day_of_week) - 1;
        i32::from(first.week) + since_monday.div_euclid(7)
    }
}

/// Returns a week and names of days, given in either order.
fn pair<'m>(
    a: &'m DayReference,
    b: &'m DayReference,
) -> Option<(&'m DayReference, &'m BTreeSet<u8>)> {
    match (a, b) {
        (
            week @ (DayReference::Weeks(..) | DayReference::NextWeek(_)),
            DayReference::Weekdays(names),
        )
        | (
            DayReference::Weekdays(names),
            week @ (DayReference::Weeks(..) | DayReference::NextWeek(_)),
        ) => Some((week, names)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
