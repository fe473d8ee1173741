use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

/// The effect of a change that was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeEffect {
    /// There are fewer problems, and nothing else became worse.
    Improve,
    /// There are fewer problems, and something else became worse.
    PartialImprove,
    /// There are as many problems, but different ones.
    Shift,
    /// The problems are the same.
    NoGain,
    /// There are more problems.
    Regress,
    /// Nothing is changed: the effect of the choice to change nothing.
    Close,
}

impl ChangeEffect {
    /// Compares the problems before and after, in any order; `worse` is true if anything else would
    /// be worse.
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

    /// Returns true if the change is worth offering.
    pub const fn helps(self) -> bool {
        matches!(self, Self::Improve | Self::PartialImprove)
    }
}
