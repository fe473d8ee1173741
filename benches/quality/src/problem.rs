//! A timetable as an exact solver sees it.
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use timetable::schedule::{
    Board, DayMapping, EventType, Level, PlacementPreferences, ScheduleState, Slot, Strategy,
    TaskClass,
};

/// Which blocks are open to whom, and what lies there already.
#[derive(Serialize)]
pub(crate) struct Problem {
    /// How many sections a day has before it is uneven.
    share: usize,
    /// For each day and each of its six blocks the subjects that lie there already.
    days: Vec<[Vec<usize>; 6]>,
    /// The subjects; those of the classes come first.
    subjects: Vec<Subject>,
    classes: Vec<Class>,
    wishes: DayWishes,
}

/// The wishes for days, as costs.
#[derive(Serialize, Default)]
struct DayWishes {
    /// For each day and block what an item costs there.
    blocks: Vec<[u32; 6]>,
    /// The week of each day.
    weeks: Vec<u16>,
    daily_limit: u8,
    over_limit: u32,
    longest_run: u8,
    no_break: u32,
    bunching: u32,
}

impl DayWishes {
    fn of(state: &ScheduleState) -> Self {
        let wishes = state
            .preferences
            .clone()
            .unwrap_or_else(PlacementPreferences::neutral);
        let block = |day: &DayMapping, block: u8| {
            let section = |section: u8| {
                let from = |first: u8| first > 0 && section >= first;
                wishes.evening * u32::from(from(wishes.evening_from))
                    + wishes.late * u32::from(from(wishes.late_from))
                    + wishes.lunch * u32::from(wishes.lunch_sections.contains(&section))
                    + wishes.weekend * u32::from(day.day_of_week > 5)
                    + wishes.quiet * u32::from(wishes.quiet_days.contains(&day.day_of_week))
            };
            section(block * 2 + 1) + section(block * 2 + 2)
        };
        let days = state.window.days.iter();
        Self {
            blocks: days
                .clone()
                .map(|day| [0, 1, 2, 3, 4, 5].map(|nth| block(day, nth)))
                .collect(),
            weeks: days.map(|day| day.week).collect(),
            daily_limit: wishes.daily_limit,
            over_limit: wishes.over_limit,
            longest_run: wishes.longest_run,
            no_break: wishes.no_break,
            bunching: wishes.bunching,
        }
    }
}

#[derive(Serialize)]
struct Subject {
    demanding: bool,
    spread: bool,
}

#[derive(Serialize)]
struct Class {
    items: usize,
    /// Day and block from 0, and the course inside which it lies, or 0.
    open: Vec<(usize, usize, u32)>,
    /// The items that a week holds at no cost; none if they need not be spread.
    share: Option<usize>,
    /// The days and blocks of a plan, from which the solver begins.
    plan: Vec<(usize, usize)>,
}

impl Problem {
    /// What is wanted as early as possible may end no later than in `drafted`: that is a wish which
    /// the quality does not see.
    pub(crate) fn of(state: &ScheduleState, drafted: Option<&ScheduleState>) -> Self {
        let board = Board::new(state);
        let mut subjects: Vec<Subject> = state.task_classes.iter().map(subject).collect();
        let mut others: BTreeMap<&str, usize> = BTreeMap::new();
        let mut days: Vec<[Vec<usize>; 6]> = vec![Default::default(); state.window.days.len()];
        for task in state
            .tasks
            .iter()
            .filter(|t| t.event_type == EventType::Task)
        {
            for slot in &task.slots {
                let index = *others.entry(&task.category).or_insert_with(|| {
                    subjects.push(Subject {
                        demanding: false,
                        spread: true,
                    });
                    subjects.len() - 1
                });
                let day = days.get_mut(usize::from(slot.day) - 1);
                let block = usize::from(slot.slot_start - 1) / 2;
                if let Some(there) = day.and_then(|day| day.get_mut(block)) {
                    there.extend((0..slot.sections()).map(|_| index));
                }
            }
        }
        let classes = state.task_classes.iter().map(|class| {
            let items = state
                .tasks
                .iter()
                .filter(|task| task.task_class_id == Some(class.id));
            Class {
                items: items.count(),
                open: open(state, &board, class, drafted),
                share: share(state, class),
                plan: vec![],
            }
        });
        let classes: Vec<Class> = classes.collect();
        let spread = |index: &usize| subjects.get(*index).is_some_and(|subject| subject.spread);
        let there = days
            .iter()
            .flatten()
            .flatten()
            .filter(|index| spread(index))
            .count();
        let wanted: usize = classes
            .iter()
            .zip(&subjects)
            .filter(|(_, subject)| subject.spread)
            .map(|(class, _)| class.items * 2)
            .sum();
        Self {
            share: (there + wanted)
                .div_ceil(days.len().max(1))
                .next_multiple_of(2),
            days,
            subjects,
            classes,
            wishes: DayWishes::of(state),
        }
    }
}

impl Problem {
    /// Lets the solver begin with a plan.
    pub(crate) fn begin_with(mut self, plan: &ScheduleState) -> Self {
        for (class, shown) in plan.task_classes.iter().zip(&mut self.classes) {
            let items = plan
                .tasks
                .iter()
                .filter(|task| task.task_class_id == Some(class.id));
            let starts = items.filter_map(timetable::schedule::ScheduleTask::start);
            let block =
                |(day, section): (u16, u8)| (usize::from(day) - 1, usize::from(section - 1) / 2);
            shown.plan = starts.map(block).collect();
        }
        self
    }
}

fn share(state: &ScheduleState, class: &TaskClass) -> Option<usize> {
    let tasks = state.tasks.iter();
    let items = tasks
        .filter(|task| task.task_class_id == Some(class.id))
        .count();
    let days = state.window.days.iter();
    let open = days.filter(|day| class.admits_day(day).is_ok());
    let weeks: BTreeSet<u16> = open.map(|day| day.week).collect();
    let spread = class.strategy == Strategy::Steady;
    spread.then(|| items.div_ceil(weeks.len().max(1)))
}

fn subject(class: &TaskClass) -> Subject {
    let high = Some(Level::High);
    Subject {
        demanding: class.difficulty_level == high || class.cognitive_intensity == high,
        spread: class.strategy != Strategy::Rapid,
    }
}

fn open(
    state: &ScheduleState,
    board: &Board<'_>,
    class: &TaskClass,
    drafted: Option<&ScheduleState>,
) -> Vec<(usize, usize, u32)> {
    let last = drafted
        .filter(|_| class.strategy == Strategy::Rapid)
        .and_then(|drafted| {
            let items = drafted.tasks.iter();
            let items = items.filter(|task| task.task_class_id == Some(class.id));
            items
                .filter_map(timetable::schedule::ScheduleTask::start)
                .max()
        });
    let mut open = vec![];
    for day in &state.window.days {
        for block in 0..6u8 {
            let slot = Slot::new(day.day_index, block * 2 + 1, block * 2 + 2);
            let end = |(last, start): (u16, u8)| {
                let start = if state.preferences.is_some() {
                    12
                } else {
                    start
                };
                slot.start() <= (last, start)
            };
            if last.is_none_or(end)
                && let Ok(host) = board.spot(slot)
                && class.admits(day, &slot, host.is_some()).is_ok()
            {
                let day = usize::from(day.day_index) - 1;
                open.push((day, usize::from(block), host.unwrap_or(0)));
            }
        }
    }
    open
}
