//! The feasibility of a schedule, and the completeness of the facts about its classes.
use serde::{Deserialize, Serialize};

use crate::schedule::{Board, PlacementStatus, TaskClass};

/// The comparison of free and needed sections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feasibility {
    /// True if the free sections suffice for everything that is pending.
    pub is_feasible: bool,
    /// The number of missing sections.
    pub capacity_gap: u32,
    /// The same as a word.
    pub reason_code: Reason,
}

/// The feasibility as a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Everything fits.
    EnoughCapacity,
    /// Not everything fits.
    CapacityInsufficient,
}

impl Feasibility {
    pub(super) fn of(board: &Board<'_>) -> Self {
        let pending = board.state().tasks.iter();
        let pending = pending.filter(|task| task.status == PlacementStatus::Pending);
        let wanted: u32 = pending.map(|task| u32::from(task.duration)).sum();
        let days = board.state().window.days.iter();
        let of = u32::from(board.state().window.sections.count());
        let free: u32 = days
            .map(|day| of.saturating_sub(board.taken(day.day_index).count_ones()))
            .sum();
        let capacity_gap = wanted.saturating_sub(free);
        let is_feasible = capacity_gap == 0;
        let reason_code = if is_feasible {
            Reason::EnoughCapacity
        } else {
            Reason::CapacityInsufficient
        };
        Self {
            is_feasible,
            capacity_gap,
            reason_code,
        }
    }
}

/// The known and missing facts about the classes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassProfile {
    /// Classes without a type of subject.
    pub missing_subject_type: u32,
    /// Classes without a difficulty.
    pub missing_difficulty_level: u32,
    /// Classes without an intensity.
    pub missing_cognitive_intensity: u32,
    /// Classes of which everything is known.
    pub complete: u32,
}

impl ClassProfile {
    pub(super) fn of(classes: &[TaskClass]) -> Self {
        classes.iter().fold(Self::default(), |sum, class| {
            let missing = [
                class.subject_type.is_none(),
                class.difficulty_level.is_none(),
                class.cognitive_intensity.is_none(),
            ];
            let [subject, difficulty, intensity] = missing.map(u32::from);
            Self {
                missing_subject_type: sum.missing_subject_type + subject,
                missing_difficulty_level: sum.missing_difficulty_level + difficulty,
                missing_cognitive_intensity: sum.missing_cognitive_intensity + intensity,
                complete: sum.complete + u32::from(missing == [false; 3]),
            }
        })
    }

    /// Returns the number of missing facts.
    pub const fn missing(&self) -> u32 {
        self.missing_subject_type + self.missing_difficulty_level + self.missing_cognitive_intensity
    }
}
