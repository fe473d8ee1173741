//! The days that writes may touch.
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::WriteRefusal;

/// The days that writes may touch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayScope {
    /// The numbers of the days. Empty if the text names only days outside the window.
    pub days: BTreeSet<u16>,
    /// True if only the days to which tasks move are limited, not those that they leave.
    pub targets_only: bool,
}

impl DayScope {
    /// Limits every day that is touched.
    pub fn new(days: impl IntoIterator<Item = u16>) -> Self {
        Self {
            days: days.into_iter().collect(),
            targets_only: false,
        }
    }

    /// Checks a day to which a task moves.
    ///
    /// # Errors
    /// [`WriteRefusal::OutsideScope`] names the days that may be touched.
    pub fn check_target(&self, day: u16) -> Result<(), WriteRefusal> {
        if self.days.contains(&day) {
            return Ok(());
        }
        Err(WriteRefusal::OutsideScope {
            day,
            allowed: self.days.iter().copied().collect(),
        })
    }

    /// Checks a day that a task leaves.
    ///
    /// # Errors
    /// [`WriteRefusal::OutsideScope`] names the days that may be touched.
    pub fn check_source(&self, day: u16) -> Result<(), WriteRefusal> {
        if self.targets_only {
            Ok(())
        } else {
            self.check_target(day)
        }
    }
}
