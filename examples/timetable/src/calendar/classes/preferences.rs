//! The table `[preferences]`: wishes by the clock, as wishes for sections.
use jiff::civil::Time;
use serde::Deserialize;

use crate::schedule::{PlacementPreferences, Sections, clock, range};

use super::raw::RawWeekday;

/// The wishes as the file says them. Costs are points, and 0 switches a wish off; what is left out
/// is as most people like it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawPreferences {
    /// True to begin without any wish, so that only those that are named count.
    neutral: bool,
    evening_from: Option<String>,
    evening: Option<u32>,
    late_from: Option<String>,
    late: Option<u32>,
    lunch_time: Option<String>,
    lunch: Option<u32>,
    weekend: Option<u32>,
    quiet_days: Option<Vec<RawWeekday>>,
    quiet: Option<u32>,
    daily_limit: Option<u8>,
    over_limit: Option<u32>,
    longest_run: Option<u8>,
    no_break: Option<u32>,
    buffer: Option<u32>,
    bunching: Option<u32>,
    stability: Option<u32>,
}

/// The highest cost: that of ten days on which two demanding subjects are side by side.
const MOST: u32 = 10_000;
/// The evening, the late evening and the time to eat of most people.
const EVENING: Time = Time::constant(18, 0, 0, 0);
const LATE: Time = Time::constant(20, 0, 0, 0);
const LUNCH: (Time, Time) = (Time::constant(12, 0, 0, 0), Time::constant(13, 0, 0, 0));

impl RawPreferences {
    /// Returns the wishes for these sections; otherwise the key and what is wrong with it.
    pub(super) fn resolve(
        self,
        sections: &Sections,
    ) -> Result<PlacementPreferences, (&'static str, String)> {
        let usual = if self.neutral {
            PlacementPreferences::neutral()
        } else {
            PlacementPreferences::default()
        };
        let time = |key, text: Option<String>, usual: Time| match text {
            Some(text) => clock(&text).ok_or((
                key,
                format!("is `{text}`; allowed are times such as \"18:00\""),
            )),
            None => Ok(usual),
        };
        let cost = |key, cost: Option<u32>, usual| match cost {
            Some(cost) if cost > MOST => Err((key, format!("is {cost}; allowed are 0 to {MOST}"))),
            cost => Ok(cost.unwrap_or(usual)),
        };
        let evening = time("evening_from", self.evening_from, EVENING)?;
        let late = time("late_from", self.late_from, LATE)?;
        let lunch = match self.lunch_time {
            Some(text) => range(&text).filter(|(from, to)| from < to).ok_or((
                "lunch_time",
                format!("is `{text}`; allowed are times such as \"12:00-13:00\""),
            ))?,
            None => LUNCH,
        };
        let quiet_days = self.quiet_days.unwrap_or_default();
        let quiet_days: Vec<u8> = quiet_days.iter().map(|day| day.0).collect();
        if let Some(day) = quiet_days.iter().find(|day| !(1..=7).contains(*day)) {
            return Err(("quiet_days", format!("has {day}; allowed are 1 to 7")));
        }
        Ok(PlacementPreferences {
            evening_from: first(sections, evening),
            evening: cost("evening", self.evening, usual.evening)?,
            late_from: first(sections, late),
            late: cost("late", self.late, usual.late)?,
            lunch_sections: sections.touching(lunch.0, lunch.1),
            lunch: cost("lunch", self.lunch, usual.lunch)?,
            weekend: cost("weekend", self.weekend, usual.weekend)?,
            quiet_days,
            quiet: cost("quiet", self.quiet, usual.quiet)?,
            daily_limit: self.daily_limit.unwrap_or(usual.daily_limit),
            over_limit: cost("over_limit", self.over_limit, usual.over_limit)?,
            longest_run: self.longest_run.unwrap_or(usual.longest_run),
            no_break: cost("no_break", self.no_break, usual.no_break)?,
            buffer: cost("buffer", self.buffer, usual.buffer)?,
            bunching: cost("bunching", self.bunching, usual.bunching)?,
            stability: cost("stability", self.stability, usual.stability)?,
            times: vec![],
        })
    }
}

/// Returns the first section that begins at a time or later; 0 if there is none.
fn first(sections: &Sections, from: Time) -> u8 {
    let begins = sections.begin().zip(1..);
    let mut after = begins.filter(|(begin, _)| *begin >= from);
    after.next().map_or(0, |(_, section)| section)
}
