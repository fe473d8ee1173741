//! One item after another, for items that have lengths, times or predecessors of their own.
//!
//! Items are taken in the order of the latest place that they, and all that has to follow them, can
//! still take. Three ways are tried, until one places everything: spread by the strategies, as early
//! as possible, and the important ones first. If none does, the one counts that leaves out the
//! fewest and least important items.
use std::collections::{BTreeMap, BTreeSet};

use super::demand::Job;
use super::partial::{ItemsLeft, NoRoom, PartialBuild};
use super::spread::{Candidate, DISCOMFORT, target};
use super::{PlacementMethod, RoughBuildError, from_slots};
use crate::schedule::lookup::Point;
use crate::schedule::objective::DayWishes;
use crate::schedule::{
    Board, Change, Level, PlacementStatus, SECTIONS, ScheduleState, ScheduleTask, Slot, Source,
    Strategy, Terms, WriteOptions, order,
};

/// Added to the score of a place that takes one half of a free pair of sections.
const SPOILED_PAIR: i64 = 30;

/// Returns true if an item has terms, or the day sections, that aligned blocks cannot express.
pub(super) fn applies(state: &ScheduleState, jobs: &[Job<'_>]) -> bool {
    if state.window.sections.count() != SECTIONS {
        return true;
    }
    let mut items = jobs.iter().flat_map(|job| &job.items);
    items.any(|item| {
        state
            .task(item.id)
            .is_some_and(|task| state.has_terms(task))
    })
}

/// Places as many items as it can within their terms, and says which term leaves out the others.
pub(super) fn build(
    state: &ScheduleState,
    jobs: &[Job<'_>],
    options: &WriteOptions,
) -> Result<PartialBuild, RoughBuildError> {
    let seekers = seekers(state, jobs, options);
    let mut best: Option<(u64, Attempt<'_>)> = None;
    for way in [Way::Spread, Way::Early, Way::Important] {
        let mut attempt = Attempt::new(state, options, way);
        attempt.run(&seekers);
        let cost = attempt.cost(&seekers);
        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
            best = Some((cost, attempt));
        }
        if cost == 0 {
            break;
        }
    }
    let Some((_, attempt)) = best else {
        return Err(RoughBuildError::WindowMissing);
    };
    let left = attempt.account(jobs, &seekers);
    let built = from_slots(state, jobs, attempt.placed, PlacementMethod::OneByOne)?;
    Ok(PartialBuild { built, left })
}

/// A pending item, and the places that its terms allow.
struct Seeker {
    id: u32,
    job: usize,
    nth: usize,
    of: usize,
    length: u8,
    strategy: Strategy,
    fillers: bool,
    priority: Level,
    /// In the order of time.
    places: Vec<Slot>,
    /// The indices of the seekers that have to come later.
    later: Vec<usize>,
    /// The last point at which it can begin so that all that comes later still has a place.
    latest: Option<Point>,
}

fn seekers(state: &ScheduleState, jobs: &[Job<'_>], options: &WriteOptions) -> Vec<Seeker> {
    let board = Board::new(state);
    let mut seekers: Vec<Seeker> = Vec::new();
    for (job, wanted) in jobs.iter().enumerate() {
        for (nth, item) in wanted.items.iter().enumerate() {
            let Some(task) = state.task(item.id) else {
                continue;
            };
            // Without a length of its own, an item takes a block, whatever its class says.
            let length = state.minutes(task).map_or(2, |_| task.duration);
            seekers.push(Seeker {
                id: item.id,
                job,
                nth,
                of: wanted.items.len(),
                length,
                strategy: wanted.class.strategy,
                fillers: wanted.class.allow_filler_course,
                priority: state.priority(task),
                places: places(&board, task, length, options),
                later: vec![],
                latest: None,
            });
        }
    }
    link(state, &mut seekers);
    for index in sorted(&seekers, |_| 0).into_iter().rev() {
        let Some(seeker) = seekers.get(index) else {
            continue;
        };
        let limit = limit(&seekers, seeker);
        let bounds = state
            .task(seeker.id)
            .map(|task| order::bounds(&board, task));
        let fits = |slot: &&Slot| {
            limit.is_none_or(|limit| slot.end() < limit)
                && bounds.is_none_or(|bounds| bounds.admit(slot.start(), slot.end()))
                && is_free(&board, seeker, **slot)
        };
        let latest = seeker.places.iter().rev().find(fits).map(Slot::start);
        if let Some(seeker) = seekers.get_mut(index) {
            seeker.latest = latest;
        }
    }
    seekers
}

/// Returns the places that the terms and the class of a task allow, whatever is there now.
fn places(board: &Board<'_>, task: &ScheduleTask, length: u8, options: &WriteOptions) -> Vec<Slot> {
    let state = board.state();
    let sections = &state.window.sections;
    let starts = if task.terms.at.is_some() {
        (1..=(sections.count() + 1).saturating_sub(length)).collect()
    } else {
        sections.starts(length)
    };
    let mut days: Vec<u16> = state.window.days.iter().map(|day| day.day_index).collect();
    days.sort_unstable();
    let slots = days.iter().flat_map(|day| {
        let slot = |start: &u8| Slot::starting_at(*day, *start, length);
        starts.iter().map(slot)
    });
    slots
        .filter(|slot| options.is_open(slot))
        .filter(|slot| board.check_class(task, *slot, false).is_ok())
        .collect()
}

/// Finds the items that have to come after each other: the next one of the same class, and those
/// that name it.
fn link(state: &ScheduleState, seekers: &mut [Seeker]) {
    let index: BTreeMap<u32, usize> = seekers.iter().map(|seeker| seeker.id).zip(0..).collect();
    let mut links: Vec<(usize, usize)> = Vec::new();
    let mut last: Option<(usize, usize)> = None;
    for (at, seeker) in seekers.iter().enumerate() {
        let Some(task) = state.task(seeker.id) else {
            continue;
        };
        if task.task_order > 0 {
            links.extend(
                last.filter(|(job, _)| *job == seeker.job)
                    .map(|(_, before)| (before, at)),
            );
            last = Some((seeker.job, at));
        }
        links.extend(
            task.terms
                .after
                .iter()
                .filter_map(|id| Some((*index.get(id)?, at))),
        );
    }
    for (before, later) in links {
        if let Some(seeker) = seekers.get_mut(before) {
            seeker.later.push(later);
        }
    }
}

/// Returns the seekers in an order in which each comes before those that have to come later, and the
/// one with the lowest key first. In a circle the order of the list decides.
fn sorted<K: Ord>(seekers: &[Seeker], key: impl Fn(&Seeker) -> K) -> Vec<usize> {
    let mut waits = vec![0_usize; seekers.len()];
    for later in seekers.iter().flat_map(|seeker| &seeker.later) {
        if let Some(waits) = waits.get_mut(*later) {
            *waits += 1;
        }
    }
    let keyed = |index: usize| seekers.get(index).map(|seeker| (key(seeker), index));
    let mut ready: BTreeSet<(K, usize)> = (0..seekers.len())
        .filter(|index| waits.get(*index) == Some(&0))
        .filter_map(keyed)
        .collect();
    let mut order = Vec::with_capacity(seekers.len());
    while let Some((_, index)) = ready.pop_first() {
        order.push(index);
        for later in seekers
            .get(index)
            .map(|seeker| &seeker.later)
            .into_iter()
            .flatten()
        {
            if let Some(waits) = waits.get_mut(*later) {
                *waits -= 1;
                if *waits == 0 {
                    ready.extend(keyed(*later));
                }
            }
        }
    }
    let known: BTreeSet<usize> = order.iter().copied().collect();
    order.extend((0..seekers.len()).filter(|index| !known.contains(index)));
    order
}

/// Returns the point before which a seeker has to end so that what comes later still has a place.
fn limit(seekers: &[Seeker], seeker: &Seeker) -> Option<Point> {
    let later = seeker.later.iter().filter_map(|index| seekers.get(*index));
    later.filter_map(|later| later.latest).min()
}

fn is_free(board: &Board<'_>, seeker: &Seeker, slot: Slot) -> bool {
    match board.spot(slot) {
        Ok(None) => true,
        Ok(Some(_)) => seeker.fillers,
        Err(_) => false,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Each by the strategy of its class.
    Spread,
    /// Each as early as possible.
    Early,
    /// The same, the important ones first.
    Important,
}

struct Attempt<'s> {
    board: Board<'s>,
    options: &'s WriteOptions,
    way: Way,
    placed: Vec<(u32, Slot)>,
    left: Vec<usize>,
    wishes: BTreeMap<u16, DayWishes>,
    /// The days that hold an item of each class.
    held: BTreeMap<usize, Vec<u16>>,
}

impl<'s> Attempt<'s> {
    fn new(state: &'s ScheduleState, options: &'s WriteOptions, way: Way) -> Self {
        let board = Board::new(state);
        let days = state.window.days.iter().map(|day| day.day_index);
        Self {
            wishes: days.zip(DayWishes::of(state, &board)).collect(),
            board,
            options,
            way,
            placed: vec![],
            left: vec![],
            held: BTreeMap::new(),
        }
    }

    fn run(&mut self, seekers: &[Seeker]) {
        let key = |seeker: &Seeker| {
            let important = (self.way == Way::Important).then_some(seeker.priority);
            // What has one place only must not lose it to what has many.
            let few = seeker.places.len().min(seeker.of);
            let few = if few < seeker.of { few } else { usize::MAX };
            (
                std::cmp::Reverse(important),
                few,
                seeker.latest,
                seeker.job,
                seeker.nth,
            )
        };
        for index in sorted(seekers, key) {
            let Some(seeker) = seekers.get(index) else {
                continue;
            };
            let Some(slot) = self.choose(seekers, seeker) else {
                self.left.push(index);
                continue;
            };
            let host = self.board.spot(slot).ok().flatten();
            self.board.apply(&Change::Place {
                task: seeker.id,
                slots: vec![slot],
                host,
                status: PlacementStatus::Suggested,
            });
            self.held.entry(seeker.job).or_default().push(slot.day);
            self.placed.push((seeker.id, slot));
        }
    }

    fn choose(&self, seekers: &[Seeker], seeker: &Seeker) -> Option<Slot> {
        let task = self.board.state().task(seeker.id)?;
        let bounds = order::bounds(&self.board, task);
        let fits = |slot: &Slot| {
            bounds.admit(slot.start(), slot.end()) && is_free(&self.board, seeker, *slot)
        };
        let limit = limit(seekers, seeker);
        let in_time = |slot: &Slot| limit.is_none_or(|limit| slot.end() < limit);
        let places = || seeker.places.iter().zip(0_usize..);
        let chosen = |in_time: &dyn Fn(&Slot) -> bool| {
            let mut open = places().filter(|(slot, _)| in_time(slot) && fits(slot));
            if self.way != Way::Spread {
                return open.next().map(|(slot, _)| *slot);
            }
            if seeker.strategy == Strategy::Rapid {
                // A place that is a little later may be better.
                let late =
                    |(nth, (slot, _)): &(i64, (&Slot, usize))| 2 * nth + self.discomfort(**slot);
                return (0..).zip(open).min_by_key(late).map(|(_, (slot, _))| *slot);
            }
            let wish = target(seeker.nth, seeker.of, seeker.places.len());
            let score = |(slot, index): &(&Slot, usize)| self.score(seeker, **slot, *index, wish);
            open.min_by_key(score).map(|(slot, _)| *slot)
        };
        chosen(&in_time).or_else(|| chosen(&|_| true))
    }

    fn score(&self, seeker: &Seeker, slot: Slot, index: usize, target: usize) -> i64 {
        let taken = self.board.taken(slot.day);
        let occupied = i64::from(taken.count_ones());
        let open = i64::from(self.board.state().window.sections.count()) - occupied;
        let candidate = Candidate {
            index,
            target,
            occupied,
            remaining: open - i64::from(seeker.length),
            day: slot.day,
        };
        let held = self.held.get(&seeker.job).map_or(&[][..], Vec::as_slice);
        let free = |section: u8| taken & (1 << section) == 0;
        let before = slot.slot_start.is_multiple_of(2) && free(slot.slot_start - 1);
        let after = slot.slot_end % 2 == 1 && free(slot.slot_end + 1);
        let spoiled = i64::from(before) + i64::from(after);
        candidate.score(held) + spoiled * SPOILED_PAIR + self.discomfort(slot) * DISCOMFORT
    }

    /// Returns the cost of an item in a place by the preferences.
    fn discomfort(&self, slot: Slot) -> i64 {
        let Some(wishes) = self.wishes.get(&slot.day) else {
            return 0;
        };
        let items = self
            .board
            .on_day(slot.day)
            .filter(|task| task.source == Source::TaskItem);
        let items = items
            .flat_map(|task| &task.slots)
            .filter(|there| there.day == slot.day);
        let items: u32 = items.map(|there| u32::from(there.sections())).sum();
        let limit = wishes.load(items + u32::from(slot.sections())) - wishes.load(items);
        i64::from(wishes.range(slot) + limit)
    }

    /// Returns how bad it is to leave out what has no place; 0 if everything has one.
    fn cost(&self, seekers: &[Seeker]) -> u64 {
        let left = self.left.iter().filter_map(|index| seekers.get(*index));
        left.map(|seeker| match seeker.priority {
            Level::Low => 1,
            Level::Medium => 1_000,
            Level::High => 1_000_000,
        })
        .sum()
    }

    /// Returns the items without a place by class and reason.
    fn account(&self, jobs: &[Job<'_>], seekers: &[Seeker]) -> Vec<ItemsLeft> {
        let mut accounts: Vec<ItemsLeft> = vec![];
        let mut left = self.left.clone();
        left.sort_unstable();
        for seeker in left.iter().filter_map(|index| seekers.get(*index)) {
            let Some(job) = jobs.get(seeker.job) else {
                continue;
            };
            let why = self.reason(seeker);
            let same = |known: &&mut ItemsLeft| known.class == job.class.id && known.why == why;
            match accounts.iter_mut().find(same) {
                Some(known) => known.items.push(seeker.id),
                None => accounts.push(ItemsLeft {
                    class: job.class.id,
                    name: job.class.name.clone(),
                    items: vec![seeker.id],
                    of: seeker.of,
                    why,
                }),
            }
        }
        accounts
    }

    /// Returns the term without which the item would have a place.
    fn reason(&self, seeker: &Seeker) -> NoRoom {
        let state = self.board.state();
        let taken = NoRoom::Taken {
            open: 0,
            wanted: 1,
            rivals: vec![],
        };
        let Some(task) = state.task(seeker.id) else {
            return taken;
        };
        let any = |task: &ScheduleTask, bounded: bool| {
            let bounds = order::bounds(&self.board, task);
            let within = |slot: &Slot| !bounded || bounds.admit(slot.start(), slot.end());
            let places = places(&self.board, task, seeker.length, self.options);
            places
                .iter()
                .any(|slot| within(slot) && is_free(&self.board, seeker, *slot))
        };
        let without = |change: &dyn Fn(&mut ScheduleTask)| {
            let mut task = task.clone();
            change(&mut task);
            any(&task, true)
        };
        if let Some(at) = &task.terms.at {
            return NoRoom::Fixed { at: at.clone() };
        }
        if let Some(date) = &task.marks.deadline
            && without(&|task| task.marks.deadline = None)
        {
            return NoRoom::Deadline { date: date.clone() };
        }
        if !task.terms.not.is_empty() && without(&|task| task.terms.not.clear()) {
            return NoRoom::Closed {
                times: task.terms.not.clone(),
            };
        }
        if let Some(date) = &task.terms.earliest
            && without(&|task| task.terms.earliest = None)
        {
            return NoRoom::Earliest { date: date.clone() };
        }
        let before: Vec<String> = self
            .board
            .before(task.state_id)
            .map(|it| it.name.clone())
            .collect();
        if !before.is_empty() && any(task, false) {
            return NoRoom::After { names: before };
        }
        if without(&|task| {
            task.terms = Terms::default();
            task.marks.deadline = None;
        }) {
            // Only together do its terms leave nothing.
            let closed = task.terms.not.clone();
            return match &task.marks.deadline {
                Some(date) => NoRoom::Deadline { date: date.clone() },
                None => NoRoom::Closed { times: closed },
            };
        }
        let long = |day: &u16| {
            let free = self.board.free(*day);
            free.iter().any(|slot| slot.sections() >= seeker.length)
        };
        let mut days = state.window.days.iter().map(|day| day.day_index);
        if days.any(|day| long(&day)) {
            return taken;
        }
        NoRoom::Long {
            sections: seeker.length,
        }
    }
}
