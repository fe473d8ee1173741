//! The quality of a schedule as one number.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::health::{demands_much, series};
use super::objective::{DayWishes, bunching};
use super::{Board, SECTIONS, ScheduleState, ScheduleTask, Source, Strategy};

/// The disadvantages of a schedule for the person. Less is better, and zero is best.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quality {
    /// The number of days on which two demanding subjects are adjacent.
    pub heavy_adjacent_days: u32,
    /// Switches between subjects beyond the first of each day.
    pub extra_switches: u32,
    /// Sections beyond an even share of the days, over all days. Items that are wanted as early as
    /// possible do not count, because even days are not requested for them.
    pub imbalance: u32,
    /// The cost of the hours and days that the preferences would rather have free.
    #[serde(default)]
    pub discomfort: u32,
    /// The cost of items of evenly spread classes that are close together.
    #[serde(default)]
    pub bunching: u32,
}

impl Quality {
    /// Computes the quality of a schedule.
    pub fn of(state: &ScheduleState) -> Self {
        let board = Board::new(state);
        let kinds = Kinds::of(state);
        let days: Vec<Cells> = state
            .window
            .days
            .iter()
            .map(|day| kinds.cells(&board, day.day_index))
            .collect();
        let share = even_share(&days);
        let wishes = DayWishes::of(state, &board);
        let of_days = days.iter().zip(&wishes);
        let none = Self {
            bunching: bunching(state),
            ..Self::default()
        };
        of_days.fold(none, |sum, (day, wishes)| {
            sum.plus(of_day(day, share, wishes))
        })
    }

    /// Returns the parts as one number: a heavy day weighs 1000, a switch 20, a section 1, and what
    /// the preferences would rather not have as much as they say.
    pub const fn score(&self) -> u32 {
        self.heavy_adjacent_days * 1000
            + self.extra_switches * 20
            + self.imbalance
            + self.discomfort
            + self.bunching
    }

    const fn plus(self, other: Self) -> Self {
        Self {
            heavy_adjacent_days: self.heavy_adjacent_days + other.heavy_adjacent_days,
            extra_switches: self.extra_switches + other.extra_switches,
            imbalance: self.imbalance + other.imbalance,
            discomfort: self.discomfort + other.discomfort,
            bunching: self.bunching + other.bunching,
        }
    }
}

/// The properties of a task that count: its subject, whether that is demanding, whether it is to be
/// spread, and whether it is an item of a class, for which the preferences are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind {
    category: u16,
    demanding: bool,
    spread: bool,
    item: bool,
}

/// The kind of the task in each section of a day, courses left out.
pub(super) type Cells = [Option<Kind>; SECTIONS as usize];

/// The kinds of all tasks of a schedule.
pub(super) struct Kinds(BTreeMap<u32, Kind>);

impl Kinds {
    pub(super) fn of(state: &ScheduleState) -> Self {
        let mut categories: BTreeMap<&str, u16> = BTreeMap::new();
        let mut kinds = BTreeMap::new();
        for task in &state.tasks {
            let next = u16::try_from(categories.len()).unwrap_or(u16::MAX);
            let category = *categories.entry(&task.category).or_insert(next);
            let rapid = |class: &super::TaskClass| class.strategy == Strategy::Rapid;
            let kind = Kind {
                category,
                demanding: demands_much(state, task),
                spread: !state.class_of(task).is_some_and(rapid),
                item: task.source == Source::TaskItem,
            };
            kinds.insert(task.state_id, kind);
        }
        Self(kinds)
    }

    pub(super) fn kind(&self, task: &ScheduleTask) -> Option<Kind> {
        self.0.get(&task.state_id).copied()
    }

    /// Returns the number of sections of a day that items take.
    pub(super) fn items(day: &Cells) -> u32 {
        day.iter().flatten().map(|kind| u32::from(kind.item)).sum()
    }

    pub(super) fn cells(&self, board: &Board<'_>, day: u16) -> Cells {
        let series = series(board, day);
        std::array::from_fn(|index| self.kind(series.get(index).copied().flatten()?))
    }
}

/// Returns the number of sections per day if all days have the same, in whole blocks of two.
pub(super) fn even_share(days: &[Cells]) -> u32 {
    let sections: u32 = days.iter().map(load).sum();
    let days = u32::try_from(days.len()).unwrap_or(u32::MAX).max(1);
    sections.div_ceil(days).next_multiple_of(2)
}

fn load(day: &Cells) -> u32 {
    day.iter()
        .flatten()
        .map(|kind| u32::from(kind.spread))
        .sum()
}

/// Returns the part of the quality that comes from one day.
pub(super) fn of_day(day: &Cells, share: u32, wishes: &DayWishes) -> Quality {
    let (mut switches, mut heavy) = (0u32, false);
    let (mut items, mut run, mut discomfort) = (0, 0, 0);
    let mut last: Option<Kind> = None;
    for (kind, cost) in day.iter().zip(&wishes.sections) {
        let is_item = kind.is_some_and(|kind| kind.item);
        if is_item {
            items += 1;
            run += 1;
            discomfort += cost;
        } else {
            discomfort += wishes.run(run);
            run = 0;
        }
        let Some(kind) = kind else { continue };
        if let Some(last) = last
            && last.category != kind.category
        {
            switches += 1;
            heavy |= last.demanding && kind.demanding;
        }
        last = Some(*kind);
    }
    Quality {
        heavy_adjacent_days: u32::from(heavy),
        extra_switches: switches.saturating_sub(1),
        imbalance: load(day).saturating_sub(share),
        discomfort: discomfort + wishes.run(run) + wishes.load(items),
        bunching: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{course, heavy, state, suggested};
    use super::super::{Slot, SubjectType};
    use super::*;

    #[test]
    fn the_parts_of_the_quality_by_hand() {
        let mut now = state(
            2,
            vec![
                course(1, "Physics", 1, 3, 4),
                suggested(2, 1, 1, Slot::new(1, 1, 2)),
                suggested(3, 2, 1, Slot::new(1, 5, 6)),
                suggested(4, 3, 1, Slot::new(1, 7, 8)),
                suggested(5, 1, 2, Slot::new(1, 9, 10)),
                suggested(6, 3, 2, Slot::new(2, 1, 2)),
            ],
        );
        now.task_classes[0] = heavy(1, SubjectType::Quantitative);
        now.task_classes[1] = heavy(2, SubjectType::Memory);
        // Ten sections on two days are six a day in whole blocks; the course counts nowhere.
        let expected = Quality {
            heavy_adjacent_days: 1,
            extra_switches: 2,
            imbalance: 2,
            ..Quality::default()
        };
        assert_eq!(Quality::of(&now), expected);
        assert_eq!(expected.score(), 1042);
        // Items that are wanted as early as possible need not be even.
        now.task_classes[0].strategy = Strategy::Rapid;
        assert_eq!(
            Quality::of(&now),
            Quality {
                imbalance: 0,
                ..expected
            }
        );
    }

    #[test]
    fn an_empty_schedule_is_perfect() {
        assert_eq!(Quality::of(&state(0, vec![])).score(), 0);
        assert_eq!(Quality::of(&state(7, vec![])).score(), 0);
    }
}
