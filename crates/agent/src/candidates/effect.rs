use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

/// What became better or worse when a change was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// There are fewer problems, and nothing else became worse.
    Improve,
    /// There are fewer problems, and something else became worse.
    PartialImprove,
    /// There are as many problems, but others.
    Shift,
    /// The problems are the same.
    NoGain,
    /// There are more problems.
    Regress,
    /// Nothing changes any more.
    Close,
}

impl Effect {
    /// Judges by what was wrong before and what would be after; `worse` says whether anything else
    /// would be worse. The order of the problems does not matter.
    pub fn of<P: Ord>(mut before: Vec<P>, mut after: Vec<P>, worse: bool) -> Self {
        match after.len().cmp(&before.len()) {
            Ordering::Less if worse => return Self::PartialImprove,
            Ordering::Less => return Self::Improve,
            Ordering::Greater => return Self::Regress,
            Ordering::Equal => {}
        }
        before.sort();
        after.sort();
        if before == after {
            Self::NoGain
        } else {
            Self::Shift
        }
    }

    /// Whether it is worth offering.
    pub const fn helps(self) -> bool {
        matches!(self, Self::Improve | Self::PartialImprove)
    }
}
