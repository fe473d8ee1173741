//! A schedule with an index of its tasks by day, so that many proposals can be tried quickly.
use std::borrow::Cow;

use super::change::host_contains;
use super::{Change, ScheduleState, ScheduleTask, Slot};

/// A schedule and an index that stay consistent. It borrows the schedule until the first change;
/// trying a proposal and undoing it touches only the days concerned.
#[derive(Debug, Clone)]
pub struct Board<'a> {
    state: Cow<'a, ScheduleState>,
    /// The positions of the tasks on each day, in the order of tasks.
    by_day: Vec<Vec<usize>>,
    /// The positions of the items of each class that have a place in its order.
    by_class: Vec<(u32, Vec<usize>)>,
    /// The tasks that have to lie after others, each with one of those.
    links: Vec<(u32, u32)>,
}

impl<'a> Board<'a> {
    /// Indexes a schedule.
    pub fn new(state: &'a ScheduleState) -> Self {
        let last = state
            .tasks
            .iter()
            .flat_map(|task| &task.slots)
            .map(|slot| slot.day)
            .max();
        let days = usize::from(last.unwrap_or(0).max(state.last_day()));
        let mut board = Self {
            state: Cow::Borrowed(state),
            by_day: vec![Vec::new(); days],
            by_class: Vec::new(),
            links: links(state),
        };
        for (position, task) in state.tasks.iter().enumerate() {
            for slot in &task.slots {
                board.enter(slot.day, position);
            }
            if let Some((class, _)) = task.ordered() {
                match board.by_class.iter_mut().find(|(known, _)| *known == class) {
                    Some((_, items)) => items.push(position),
                    None => board.by_class.push((class, vec![position])),
                }
            }
        }
        board
    }

    /// Returns the schedule with the changes so far.
    pub fn state(&self) -> &ScheduleState {
        &self.state
    }

    /// Returns the schedule with the changes so far.
    pub fn into_state(self) -> ScheduleState {
        self.state.into_owned()
    }

    /// Returns the tasks that a task has to lie after.
    pub(crate) fn before(&self, task: u32) -> impl Iterator<Item = &ScheduleTask> {
        let links = self.links.iter().filter(move |(later, _)| *later == task);
        links.filter_map(|(_, before)| self.state.task(*before))
    }

    /// Returns the tasks that have to lie after a task.
    pub(crate) fn after(&self, task: u32) -> impl Iterator<Item = &ScheduleTask> {
        let links = self.links.iter().filter(move |(_, before)| *before == task);
        links.filter_map(|(later, _)| self.state.task(*later))
    }

    /// Returns the tasks on a day, in the order of their ids.
    pub fn on_day(&self, day: u16) -> impl Iterator<Item = &ScheduleTask> {
        let positions = usize::from(day)
            .checked_sub(1)
            .and_then(|day| self.by_day.get(day));
        positions
            .into_iter()
            .flatten()
            .filter_map(|position| self.state.tasks.get(*position))
    }

    /// Returns the items of a class that have a place in its order, on any day.
    pub fn siblings(&self, class: u32) -> impl Iterator<Item = &ScheduleTask> {
        let known = self.by_class.iter().find(|(known, _)| *known == class);
        let positions = known.map(|(_, positions)| positions);
        positions
            .into_iter()
            .flatten()
            .filter_map(|position| self.state.tasks.get(*position))
    }

    /// Returns the tasks in a section; a host and its guest can share one.
    pub fn at(&self, day: u16, section: u8) -> impl Iterator<Item = &ScheduleTask> {
        self.overlapping(Slot::new(day, section, section))
    }

    /// Returns the tasks that share a section with a range.
    pub fn overlapping(&self, slot: Slot) -> impl Iterator<Item = &ScheduleTask> {
        let meets =
            move |task: &&ScheduleTask| task.slots.iter().any(|range| range.overlaps(&slot));
        self.on_day(slot.day).filter(meets)
    }

    /// Returns the taken sections of a day; bit 1 is section 1.
    pub fn taken(&self, day: u16) -> u64 {
        self.on_day(day)
            .flat_map(|task| &task.slots)
            .filter(|slot| slot.day == day)
            .fold(0, |taken, slot| taken | mask(*slot))
    }

    /// Returns the free ranges of a day, from the morning on.
    pub fn free(&self, day: u16) -> Vec<Slot> {
        let taken = self.taken(day);
        let sections = self.state.window.sections.count();
        let open = (1..=sections).filter(|section| taken & (1 << section) == 0);
        Slot::compress(
            open.map(|section| Slot::new(day, section, section))
                .collect(),
        )
    }

    /// Returns the tasks of a day that a guest could still be embedded into, with their ranges
    /// there.
    pub fn open_hosts(&self, day: u16) -> impl Iterator<Item = (&ScheduleTask, Slot)> {
        self.on_day(day)
            .filter(|task| task.is_open_host())
            .flat_map(move |task| {
                task.slots
                    .iter()
                    .filter(move |slot| slot.day == day)
                    .map(move |slot| (task, *slot))
            })
    }

    /// Returns the host inside which a new task in this range would be; none if the range is free.
    ///
    /// # Errors
    /// The task that is in the way.
    pub fn spot(&self, slot: Slot) -> Result<Option<u32>, &ScheduleTask> {
        let mut there = self.overlapping(slot);
        match (there.next(), there.next()) {
            (None, _) => Ok(None),
            (Some(host), None) if host.is_open_host() && host_contains(host, slot) => {
                Ok(Some(host.state_id))
            }
            // Of a host with a guest, the guest is the one in the way.
            (Some(host), Some(guest)) if guest.embed_host == Some(host.state_id) => Err(guest),
            (Some(task), _) => Err(task),
        }
    }

    /// Carries out a change.
    pub fn apply(&mut self, change: &Change) {
        let Some(position) = self.state.position(change.task()) else {
            return;
        };
        self.reindex(position, Self::leave);
        self.state.to_mut().apply(change);
        self.reindex(position, Self::enter);
    }

    fn reindex(&mut self, position: usize, how: fn(&mut Self, u16, usize)) {
        let slots = self
            .state
            .tasks
            .get(position)
            .map(|task| task.slots.clone());
        for slot in slots.unwrap_or_default() {
            how(self, slot.day, position);
        }
    }

    fn enter(&mut self, day: u16, position: usize) {
        let Some(index) = usize::from(day).checked_sub(1) else {
            return;
        };
        if self.by_day.len() <= index {
            self.by_day.resize(index + 1, Vec::new());
        }
        if let Some(there) = self.by_day.get_mut(index)
            && let Err(place) = there.binary_search(&position)
        {
            there.insert(place, position);
        }
    }

    fn leave(&mut self, day: u16, position: usize) {
        let index = usize::from(day).checked_sub(1);
        if let Some(there) = index.and_then(|index| self.by_day.get_mut(index)) {
            there.retain(|other| *other != position);
        }
    }
}

fn links(state: &ScheduleState) -> Vec<(u32, u32)> {
    let tasks = state.tasks.iter();
    tasks
        .flat_map(|task| {
            task.terms
                .after
                .iter()
                .map(|before| (task.state_id, *before))
        })
        .collect()
}

/// Returns the sections of a range as bits; bit 1 is section 1.
pub(crate) fn mask(slot: Slot) -> u64 {
    (slot.slot_start..=slot.slot_end.min(63)).fold(0, |bits, section| bits | (1 << section))
}

#[cfg(test)]
mod tests {
    use super::super::PlacementStatus;
    use super::super::fixture::{course, errand, host, item, state, suggested};
    use super::*;

    fn ids<'t>(tasks: impl Iterator<Item = &'t ScheduleTask>) -> Vec<u32> {
        tasks.map(|task| task.state_id).collect()
    }

    #[test]
    fn it_answers_who_lies_where_and_follows_changes() {
        let now = state(
            3,
            vec![
                course(1, "Physics", 1, 1, 2),
                errand(2, "Gym", 1, 5, 6),
                item(3, 1, 1),
            ],
        );
        let mut board = Board::new(&now);
        assert_eq!(ids(board.at(1, 2)), [1]);
        assert_eq!(board.free(1), [Slot::new(1, 3, 4), Slot::new(1, 7, 12)]);
        board.apply(&Change::Place {
            task: 3,
            slots: vec![Slot::new(1, 3, 4)],
            host: None,
            status: PlacementStatus::Suggested,
        });
        board.apply(&Change::Unplace { task: 2 });
        assert_eq!(ids(board.on_day(1)), [1, 3]);
        assert_eq!(board.free(1), [Slot::new(1, 5, 12)]);
        assert_eq!(
            board.spot(Slot::new(1, 4, 5)).map_err(|task| task.state_id),
            Err(3)
        );
        assert_eq!(now.task(3).unwrap().slots, []);
    }

    #[test]
    fn sch_77_a_spot_inside_an_open_host_is_found_and_half_inside_is_not() {
        let mut tasks = vec![host(1, "Physics", 1, 1, 4), host(2, "Chemistry", 1, 5, 6)];
        tasks.push(suggested(3, 1, 1, Slot::new(1, 5, 6)));
        tasks[1].embedded_by = Some(3);
        tasks[2].embed_host = Some(2);
        let now = state(1, tasks);
        let board = Board::new(&now);
        assert_eq!(
            board.spot(Slot::new(1, 2, 3)).map_err(|task| task.state_id),
            Ok(Some(1))
        );
        assert_eq!(
            board.spot(Slot::new(1, 4, 5)).map_err(|task| task.state_id),
            Err(1)
        );
        assert_eq!(
            board.spot(Slot::new(1, 5, 6)).map_err(|task| task.state_id),
            Err(3)
        );
        let open: Vec<_> = board
            .open_hosts(1)
            .map(|(task, slot)| (task.state_id, slot))
            .collect();
        assert_eq!(open, [(1, Slot::new(1, 1, 4))]);
    }
}
