use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::candidates::ScheduleRank;

/// The effect of a change that was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeEffect {
    /// There are fewer problem days, and nothing else became worse.
    Improve,
    /// There are fewer problem days, and something else became worse.
    PartialImprove,
    /// There are as many problem days, but different ones.
    Shift,
    /// The problem days are the same.
    NoGain,
    /// There are more problem days.
    Regress,
    /// Nothing is changed: the effect of the choice to change nothing.
    Close,
}

impl ChangeEffect {
    /// Compares a schedule before and after a change.
    pub(super) fn of(before: &ScheduleRank, after: &ScheduleRank) -> Self {
        let is_worse = after.totals.max_switches > before.totals.max_switches
            || after.totals.same_type_ratio() < before.totals.same_type_ratio();
        match after.problems.len().cmp(&before.problems.len()) {
            Ordering::Less if is_worse => Self::PartialImprove,
            Ordering::Less => Self::Improve,
            Ordering::Greater => Self::Regress,
            Ordering::Equal if before.problems == after.problems => Self::NoGain,
            Ordering::Equal => Self::Shift,
        }
    }

    /// Returns true if the change is worth offering.
    pub const fn helps(self) -> bool {
        matches!(self, Self::Improve | Self::PartialImprove)
    }
}
