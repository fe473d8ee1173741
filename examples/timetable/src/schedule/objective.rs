//! The wishes of a person for the times of items, as costs of places and days.
//!
//! Placing, the local search and the explanation of a place share these costs. Without preferences
//! every place costs nothing, and only the rules of the specification count.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Board, EventType, SECTIONS, ScheduleState, Slot, Source};

/// The wishes of a person for the times of items. Costs are points of [`Quality`](super::Quality):
/// two demanding subjects side by side cost 1000, a switch between subjects 20, a section beyond
/// an even share of the days 1.
///
/// A wish whose cost is 0 does not count, so [`PlacementPreferences::neutral`] has no wish at all. The
/// default is that of most people: no late evenings, free weekends if there is room elsewhere, and
/// no day that is full from morning to night.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PlacementPreferences {
    /// The first section of the evening; 0 if there is none.
    pub evening_from: u8,
    /// The cost of a section in the evening.
    pub evening: u32,
    /// The first section of the late evening; 0 if there is none.
    pub late_from: u8,
    /// The cost of a section in the late evening, besides that of the evening.
    pub late: u32,
    /// The sections in which one eats.
    pub lunch_sections: Vec<u8>,
    /// The cost of a section in which one eats.
    pub lunch: u32,
    /// The cost of a section on a Saturday or Sunday.
    pub weekend: u32,
    /// Days of the week that are to be quiet; Monday is 1.
    pub quiet_days: Vec<u8>,
    /// The cost of a section on a quiet day.
    pub quiet: u32,
    /// The sections that items may take on a day at no cost; 0 for any number.
    pub daily_limit: u8,
    /// The cost of each section beyond them.
    pub over_limit: u32,
    /// The sections that items may take without a break at no cost; 0 for any number.
    pub longest_run: u8,
    /// The cost of each section beyond them.
    pub no_break: u32,
    /// The cost of a section of an item right before or after a course.
    pub buffer: u32,
    /// The cost of each item of an evenly spread class beyond its even share of a week.
    pub bunching: u32,
    /// The cost of moving an item that was agreed to.
    pub stability: u32,
    /// Times on days of the week that cost something besides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub times: Vec<CostlyTime>,
}

/// A time on some days of the week that the person would rather not use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CostlyTime {
    /// The days of the week; Monday is 1, and none are all days.
    #[serde(default)]
    pub days_of_week: Vec<u8>,
    /// The sections.
    pub sections: Vec<u8>,
    /// The cost of each of these sections.
    pub points: u32,
}

impl CostlyTime {
    fn touches(&self, day_of_week: u8, section: u8) -> bool {
        let on = &self.days_of_week;
        (on.is_empty() || on.contains(&day_of_week)) && self.sections.contains(&section)
    }
}

impl Default for PlacementPreferences {
    /// Returns the wishes of most people, for twelve sections from 08:00 to 22:30.
    fn default() -> Self {
        Self {
            evening_from: 9,
            evening: 2,
            late_from: 11,
            late: 10,
            lunch_sections: vec![],
            lunch: 4,
            weekend: 3,
            quiet_days: vec![],
            quiet: 12,
            daily_limit: 6,
            over_limit: 8,
            longest_run: 4,
            no_break: 4,
            buffer: 0,
            bunching: 12,
            stability: 40,
            times: vec![],
        }
    }
}

impl PlacementPreferences {
    /// Returns no wishes.
    pub const fn neutral() -> Self {
        Self {
            evening_from: 0,
            evening: 0,
            late_from: 0,
            late: 0,
            lunch_sections: vec![],
            lunch: 0,
            weekend: 0,
            quiet_days: vec![],
            quiet: 0,
            daily_limit: 0,
            over_limit: 0,
            longest_run: 0,
            no_break: 0,
            buffer: 0,
            bunching: 0,
            stability: 0,
            times: vec![],
        }
    }

    /// Returns the cost of a section of a day of the week for an item, in points of
    /// [`Quality`](super::Quality), apart from what else lies on the day.
    pub fn cost(&self, day_of_week: u8, section: u8) -> u32 {
        let wishes = self.section(day_of_week, section);
        wishes.map(|wish| wish.points).sum()
    }

    /// Returns the wishes for a section of a day of the week that a place there does not meet, each
    /// with its cost.
    pub(super) fn section(&self, day_of_week: u8, section: u8) -> impl Iterator<Item = Discomfort> {
        let from = |first: u8| first > 0 && section >= first;
        let cost = |is_met: bool, wish, points| {
            (!is_met && points > 0).then_some(Discomfort { wish, points })
        };
        [
            cost(
                !from(self.evening_from),
                ObjectiveTerm::Evening,
                self.evening,
            ),
            cost(!from(self.late_from), ObjectiveTerm::Late, self.late),
            cost(
                !self.lunch_sections.contains(&section),
                ObjectiveTerm::Lunch,
                self.lunch,
            ),
            cost(day_of_week < 6, ObjectiveTerm::Weekend, self.weekend),
            cost(
                !self.quiet_days.contains(&day_of_week),
                ObjectiveTerm::QuietDay,
                self.quiet,
            ),
        ]
        .into_iter()
        .flatten()
        .chain(self.times.iter().filter_map(move |time| {
            let points = time.points;
            let touched = points > 0 && time.touches(day_of_week, section);
            touched.then_some(Discomfort {
                wish: ObjectiveTerm::Time,
                points,
            })
        }))
    }
}

/// A wish that a place does not meet, and its cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Discomfort {
    /// The wish.
    pub wish: ObjectiveTerm,
    /// The cost, in points of [`Quality`](super::Quality).
    pub points: u32,
}

/// The things that cost something.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "PlaceWish")]
pub enum ObjectiveTerm {
    /// Two demanding subjects are not side by side.
    CalmNeighbours,
    /// A day has few switches between subjects.
    FewSwitches,
    /// No day has much more than an even share.
    EvenDays,
    /// The evening is free.
    Evening,
    /// The late evening is free.
    Late,
    /// The time to eat is free.
    Lunch,
    /// The weekend is free.
    Weekend,
    /// A day is quiet.
    QuietDay,
    /// A time on a day of the week is free.
    Time,
    /// A day has no more than its limit.
    DailyLimit,
    /// There is a break after some sections.
    Break,
    /// There is time before and after a course.
    Buffer,
    /// The items of a class are spread over the weeks.
    EvenWeeks,
    /// Items that were agreed to stay where they are.
    Stability,
}

/// The costs of the sections of a day for an item, and the limits of the day.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DayWishes {
    /// The cost of an item in each section.
    pub(super) sections: [u32; SECTIONS as usize],
    daily_limit: u32,
    over_limit: u32,
    longest_run: u32,
    no_break: u32,
}

impl DayWishes {
    /// Returns the wishes for all days of a schedule, in the order of its window.
    pub(super) fn of(state: &ScheduleState, board: &Board<'_>) -> Vec<Self> {
        let Some(wishes) = &state.preferences else {
            return vec![Self::default(); state.window.days.len()];
        };
        let of_day = |day: &super::DayMapping| {
            let mut sections = [0; SECTIONS as usize];
            let courses = courses(board, day.day_index);
            for (cell, section) in sections.iter_mut().zip(1..) {
                *cell = wishes.cost(day.day_of_week, section);
            }
            for (cell, section) in sections.iter_mut().zip(1..) {
                *cell += wishes.buffer * u32::from(is_beside(courses, section));
            }
            Self {
                sections,
                daily_limit: u32::from(wishes.daily_limit),
                over_limit: wishes.over_limit,
                longest_run: u32::from(wishes.longest_run),
                no_break: wishes.no_break,
            }
        };
        state.window.days.iter().map(of_day).collect()
    }

    /// Returns the cost of a range for an item, without the limits of the day.
    pub(super) fn range(&self, slot: Slot) -> u32 {
        let first = usize::from(slot.slot_start.saturating_sub(1));
        let length = usize::from(slot.sections());
        self.sections.iter().skip(first).take(length).sum()
    }

    /// Returns the cost of so many sections of items on the day.
    pub(super) fn load(&self, sections: u32) -> u32 {
        if self.daily_limit == 0 {
            return 0;
        }
        sections.saturating_sub(self.daily_limit) * self.over_limit
    }

    /// Returns the cost of a run of so many sections without a break.
    pub(super) fn run(&self, sections: u32) -> u32 {
        if self.longest_run == 0 {
            return 0;
        }
        sections.saturating_sub(self.longest_run) * self.no_break
    }
}

/// Returns the sections of a day that courses take; bit 1 is section 1.
fn courses(board: &Board<'_>, day: u16) -> u64 {
    let there = board
        .on_day(day)
        .filter(|task| task.event_type == EventType::Course);
    let slots = there
        .flat_map(|task| &task.slots)
        .filter(|slot| slot.day == day);
    slots.fold(0, |bits, slot| bits | super::board::mask(*slot))
}

/// Returns true if a section is right before or after a course, and not inside one.
fn is_beside(courses: u64, section: u8) -> bool {
    let at = |section: u8| courses & (1 << section) != 0;
    !at(section) && (at(section - 1) || at(section + 1))
}

/// Returns the number of items of an evenly spread class that a week holds if all weeks hold as
/// many as they can evenly; the weeks are those with a day that the class allows.
pub(super) fn weekly_share(state: &ScheduleState, class: &super::TaskClass, items: u32) -> u32 {
    let open = state.window.days.iter();
    let mut weeks: Vec<u16> = open
        .filter(|day| class.admits_day(day).is_ok())
        .map(|day| day.week)
        .collect();
    weeks.dedup();
    items.div_ceil(u32::try_from(weeks.len()).unwrap_or(u32::MAX).max(1))
}

/// Returns the cost of the items of evenly spread classes beyond their share of each week.
pub(super) fn bunching(state: &ScheduleState) -> u32 {
    let Some(cost) = state.preferences.as_ref().map(|wishes| wishes.bunching) else {
        return 0;
    };
    let spread = |class: &&super::TaskClass| class.strategy == super::Strategy::Steady;
    let classes = state.task_classes.iter().filter(spread);
    let over = classes.map(|class| {
        let mut weeks: Vec<u16> = items(state, class.id)
            .filter_map(|(day, _)| Some(state.day(day)?.week))
            .collect();
        weeks.sort_unstable();
        let share = weekly_share(state, class, u32::try_from(weeks.len()).unwrap_or(u32::MAX));
        let counts = weeks.chunk_by(|a, b| a == b).map(<[u16]>::len);
        let counts = counts.map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        counts.map(|count| count.saturating_sub(share)).sum::<u32>()
    });
    over.sum::<u32>() * cost
}

/// Returns the starts of the placed items of a class.
fn items(state: &ScheduleState, class: u32) -> impl Iterator<Item = super::Point> {
    let tasks = state.tasks.iter();
    let mine = tasks
        .filter(move |task| task.task_class_id == Some(class) && task.source == Source::TaskItem);
    mine.filter_map(super::ScheduleTask::start)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{course, item, state, suggested};
    use super::super::rough_build::rough_build;
    use super::super::{Change, PlacementStatus, Quality, Strategy, WriteOptions, local_search};
    use super::*;

    /// Returns three weeks with courses on weekdays from 08:00 to 17:40, and ten items.
    fn term(strategy: Strategy) -> ScheduleState {
        let days = (1..=21u16).filter(|day| (1..=5).contains(&(day % 7)));
        let courses = days.map(|day| course(100 + u32::from(day), "Lecture", day, 1, 8));
        let items = (1..=10).map(|order| item(order, 1, order));
        let mut now = state(21, items.chain(courses).collect());
        now.task_classes[0].strategy = strategy;
        now
    }

    fn planned(mut state: ScheduleState) -> Vec<Slot> {
        let built = rough_build(&state, &[1]).unwrap();
        for change in &built.changes {
            state.apply(change);
        }
        let better = local_search(&state, &WriteOptions::default());
        for change in &better {
            state.apply(change);
        }
        let items = state
            .tasks
            .iter()
            .filter(|task| task.task_class_id.is_some());
        items.map(|task| task.slots[0]).collect()
    }

    fn is_weekend(slot: Slot) -> bool {
        (slot.day - 1) % 7 > 4
    }

    #[test]
    fn evenings_and_weekends_are_used_last() {
        let mut now = term(Strategy::Steady);
        let neutral = planned(now.clone());
        now.preferences = Some(PlacementPreferences::default());
        let slots = planned(now);
        let late = |slots: &[Slot]| slots.iter().filter(|slot| slot.slot_start > 10).count();
        let weekends = |slots: &[Slot]| slots.iter().filter(|slot| is_weekend(**slot)).count();
        assert!(weekends(&neutral) > 5, "{neutral:?}");
        assert_eq!((late(&slots), weekends(&slots)), (0, 0), "{slots:?}");
        let mut weeks = slots.chunk_by(|a, b| (a.day - 1) / 7 == (b.day - 1) / 7);
        assert!(weeks.all(|week| week.len() <= 4), "{slots:?}");
    }

    #[test]
    fn what_is_wanted_early_does_not_fill_a_day() {
        let mut now = term(Strategy::Rapid);
        now.tasks
            .retain(|task| task.event_type != EventType::Course);
        let days = |slots: &[Slot], day| slots.iter().filter(|slot| slot.day == day).count();
        assert_eq!(days(&planned(now.clone()), 1), 6);
        now.preferences = Some(PlacementPreferences::default());
        let slots = planned(now);
        // Ten blocks in as few days as four a day need, none of them late.
        assert_eq!(
            [1, 2, 3].map(|day| days(&slots, day)),
            [4, 3, 3],
            "{slots:?}"
        );
        assert!(slots.iter().all(|slot| slot.slot_start < 11), "{slots:?}");
    }

    #[test]
    fn the_cost_of_a_day_by_hand() {
        // Monday: eight sections in a row, the last two in the evening, beside a course; Saturday:
        // two sections late.
        let mut now = state(
            7,
            vec![
                suggested(1, 1, 1, Slot::new(1, 3, 6)),
                suggested(2, 1, 2, Slot::new(1, 7, 10)),
                suggested(3, 1, 3, Slot::new(6, 11, 12)),
                course(4, "Lecture", 1, 1, 2),
            ],
        );
        let wishes = PlacementPreferences {
            lunch_sections: vec![5],
            buffer: 7,
            ..PlacementPreferences::default()
        };
        now.preferences = Some(wishes);
        let monday = 2 * 2 + 4 + 7 + 2 * 8 + 4 * 4;
        let saturday = 2 * (2 + 10 + 3);
        let quality = Quality::of(&now);
        assert_eq!(quality.discomfort, monday + saturday);
        // Three items in one week are their even share.
        assert_eq!(quality.bunching, 0);
        now.preferences = Some(PlacementPreferences::neutral());
        assert_eq!(Quality::of(&now).discomfort, 0);
    }

    #[test]
    fn items_beyond_the_share_of_a_week_cost() {
        let mut now = state(
            14,
            vec![
                suggested(1, 1, 1, Slot::new(1, 1, 2)),
                suggested(2, 1, 2, Slot::new(3, 1, 2)),
                suggested(3, 1, 3, Slot::new(5, 1, 2)),
            ],
        );
        now.preferences = Some(PlacementPreferences::default());
        assert_eq!(Quality::of(&now).bunching, 12);
        now.apply(&Change::Place {
            task: 3,
            slots: vec![Slot::new(9, 1, 2)],
            host: None,
            status: PlacementStatus::Suggested,
        });
        assert_eq!(Quality::of(&now).bunching, 0);
    }
}
