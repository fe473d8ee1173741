//! The distance of plans from the best ones that an exact solver finds in its time.
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde::Serialize;
use timetable::schedule::rough_build::build_what_fits;
use timetable::schedule::{
    Board, Change, Quality, ScheduleState, ScheduleTask, Slot, Source, WriteOptions, explain,
    fewest_moves, local_search, refine,
};

use crate::case::{Case, crowded};
use crate::problem::Problem;
use crate::{ROUNDS, Solver, say};

/// A plan, the schedule before its search, and the time that it took.
struct RefinedPlan {
    state: ScheduleState,
    drafted: ScheduleState,
    left: usize,
    took: Duration,
}

impl RefinedPlan {
    fn of(state: &ScheduleState) -> Result<Self> {
        let begun = Instant::now();
        let classes: Vec<u32> = state.task_classes.iter().map(|class| class.id).collect();
        let options = WriteOptions::default();
        let fits = build_what_fits(state, &classes, &options)?;
        let mut state = state.clone();
        for change in &fits.built.changes {
            state.apply(change);
        }
        let drafted = state.clone();
        for change in local_search(&state, &options) {
            state.apply(&change);
        }
        refine(&mut state, ROUNDS, &options);
        Ok(Self {
            state,
            drafted,
            left: fits.items_left(),
            took: begun.elapsed(),
        })
    }

    /// Plans without preferences, as every plan was made before there were any.
    fn neutral(state: &ScheduleState) -> Result<Self> {
        let mut bare = state.clone();
        bare.preferences = None;
        let mut planned = Self::of(&bare)?;
        planned.state.preferences.clone_from(&state.preferences);
        Ok(planned)
    }

    fn slots(&self) -> impl Iterator<Item = Slot> {
        let items = self
            .state
            .tasks
            .iter()
            .filter(|task| task.source == Source::TaskItem);
        items.flat_map(|task| task.slots.iter().copied())
    }

    /// Returns the number of items late or at weekends that could lie at a cheaper place now, or of
    /// whose place nothing says why it is not cheaper.
    fn unforced(&self) -> usize {
        let options = WriteOptions::default();
        let is_odd = |task: &&ScheduleTask| {
            let start = task.start().filter(|_| task.source == Source::TaskItem);
            start.is_some_and(|(day, section)| section > 10 || (day - 1) % 7 > 4)
        };
        let odd = self.state.tasks.iter().filter(is_odd);
        let unforced = odd.filter(|task| {
            let Some(reason) = explain(&self.state, task.state_id, &options) else {
                return true;
            };
            reason.others.iter().any(|other| other.cost < reason.cost)
                || reason.cost > 0 && reason.unmet.is_empty()
        });
        unforced.count()
    }

    /// Returns the numbers of items in the last block of a day and at weekends, and of all.
    fn odd(&self) -> [usize; 3] {
        let late = self.slots().filter(|slot| slot.slot_start > 10).count();
        let weekend = self.slots().filter(|slot| (slot.day - 1) % 7 > 4).count();
        [late, weekend, self.slots().count()]
    }
}

/// Plans each case, and prints how far the plans are from the best that the solver finds.
pub(crate) fn measure(cases: &[Case], mut solver: Option<&mut Solver>, each: bool) -> Result<()> {
    let (mut gaps, mut before_gaps) = (vec![], vec![]);
    let (mut odd, mut odd_before) = ([0; 3], [0; 3]);
    let (mut slowest, mut proved, mut unforced) = ((Duration::ZERO, String::new()), 0, 0);
    let mut moved = MovedItems::default();
    for case in cases {
        let planned = RefinedPlan::of(&case.state)?;
        let before = RefinedPlan::neutral(&case.state)?;
        add(&mut odd, planned.odd());
        unforced += planned.unforced();
        add(&mut odd_before, before.odd());
        let (ours, was) = (Quality::of(&planned.state), Quality::of(&before.state));
        if planned.took > slowest.0 {
            slowest = (planned.took, case.name.clone());
        }
        let problem = Problem::of(&case.state, Some(&planned.drafted)).begin_with(&planned.state);
        let optimum = match solver.as_deref_mut().filter(|_| planned.left == 0) {
            Some(solver) => Some(solver.solve(&problem)?),
            None => None,
        };
        if let Some(deadline) = MovedDeadline::of(&planned.state) {
            let fewest = solver.as_deref_mut().map(|solver| solver.moves(&deadline));
            moved.add(&deadline, fewest.transpose()?.flatten());
        }
        let found = optimum.and_then(|optimum| optimum.best.zip(optimum.bound));
        if let Some((best, bound)) = found {
            let gap = |score: u32| (f64::from(score) - f64::from(best)) / f64::from(best.max(1));
            gaps.push(gap(ours.score()));
            before_gaps.push(gap(was.score()));
            proved += u32::from(best == bound);
        }
        if each {
            say(&format!(
                "{}: {} ({} before) against {found:?}; {} left, {:.0} ms; {ours:?}",
                case.name,
                ours.score(),
                was.score(),
                planned.left,
                planned.took.as_secs_f64() * 1e3,
            ));
        }
    }
    say(&format!(
        "{} timetables; {} compared with the solver, which proved {proved} optima",
        cases.len(),
        gaps.len()
    ));
    print_gaps("with preferences", gaps, odd);
    say(&moved.say());
    print_gaps("without, before", before_gaps, odd_before);
    say(&format!(
        "{unforced} of the late and weekend places could be cheaper by a move that is open"
    ));
    let big = crowded();
    let planned = RefinedPlan::of(&big.state)?;
    say(&format!(
        "{}: {} kept, {} without a place, {:.0} ms",
        big.name,
        planned.slots().count(),
        planned.left,
        planned.took.as_secs_f64() * 1e3,
    ));
    say(&format!(
        "slowest plan: {:.0} ms, {}; memory of the whole run at most {}",
        slowest.0.as_secs_f64() * 1e3,
        slowest.1,
        peak()
    ));
    Ok(())
}

/// A kept plan in which a class has to end earlier, as the exact solver sees it.
#[derive(Serialize)]
struct MovedDeadline {
    /// The blocks of the class that are free or taken by an item, in the order of time.
    places: Vec<MovePlace>,
    /// The index of the block of each item of the class, in their order.
    items: Vec<usize>,
    #[serde(skip)]
    ours: usize,
}

#[derive(Serialize)]
struct MovePlace {
    /// True if it is before the deadline.
    open: bool,
    /// True if an item of another class is there, which would have to move.
    taken: bool,
}

impl MovedDeadline {
    /// Moves the end of the first class to three quarters of the weeks; none if that is impossible
    /// or changes nothing.
    fn of(plan: &ScheduleState) -> Option<Self> {
        let class = plan.task_classes.first()?;
        let last = plan.last_day() * 3 / 4;
        let changes = fewest_moves(
            plan,
            class.id,
            |_, slot| slot.day <= last,
            &WriteOptions::default().existing_may_move(true),
        )?;
        let is_place = |change: &&Change| matches!(change, Change::Place { .. });
        let ours = changes.iter().filter(is_place).count();
        let board = Board::new(plan);
        let mut places = vec![];
        let mut items = BTreeMap::new();
        for day in &plan.window.days {
            for block in 0..6u8 {
                let slot = Slot::new(day.day_index, block * 2 + 1, block * 2 + 2);
                let there = board.spot(slot).err();
                let item = there.filter(|task| task.source == Source::TaskItem);
                let own = item.filter(|task| task.task_class_id == Some(class.id));
                if class.admits(day, &slot, false).is_err() || there.is_some() != item.is_some() {
                    continue;
                }
                if let Some(task) = own {
                    items.insert(task.task_order, places.len());
                }
                places.push(MovePlace {
                    open: day.day_index <= last,
                    taken: item.is_some() && own.is_none(),
                });
            }
        }
        (ours > 0).then(|| Self {
            places,
            items: items.into_values().collect(),
            ours,
        })
    }
}

/// The items that moved, over all cases.
#[derive(Default)]
struct MovedItems {
    cases: usize,
    ours: usize,
    compared: usize,
    most: usize,
}

impl MovedItems {
    fn add(&mut self, deadline: &MovedDeadline, fewest: Option<usize>) {
        self.cases += 1;
        self.ours += deadline.ours;
        if let Some(fewest) = fewest {
            self.compared += 1;
            self.most = self.most.max(deadline.ours.saturating_sub(fewest));
        }
    }

    fn say(&self) -> String {
        format!(
            "one moved deadline: {} cases, {} items moved; in {} compared cases at most {} more than the exact solver",
            self.cases, self.ours, self.compared, self.most
        )
    }
}

fn print_gaps(name: &str, mut gaps: Vec<f64>, [late, weekend, all]: [usize; 3]) {
    gaps.sort_by(f64::total_cmp);
    let at = |index: usize| gaps.get(index).copied().unwrap_or(f64::NAN) * 100.0;
    let share = |part: usize| part * 100 / all.max(1);
    say(&format!(
        "{name:>17}: gap {:.1} % in the median, {:.1} % at worst; {} % in the last block, {} % at weekends",
        at(gaps.len() / 2),
        at(gaps.len().saturating_sub(1)),
        share(late),
        share(weekend),
    ));
}

fn add(sum: &mut [usize; 3], more: [usize; 3]) {
    for (sum, more) in sum.iter_mut().zip(more) {
        *sum += more;
    }
}

/// Returns the most memory that the process had, as the system says it.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "unknown".to_owned(), |line| line.trim().to_owned())
}
