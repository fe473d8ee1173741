//! Small queries on a schedule, shared by all other modules.
use super::{DayMapping, PlacementStatus, ScheduleState, ScheduleTask, Slot, Source, TaskClass};

/// A point in the schedule: a day and a section. Points compare in time order.
pub type Point = (u16, u8);

impl Slot {
    /// Returns the sections `slot_start` to `slot_end` of `day`.
    pub const fn new(day: u16, slot_start: u8, slot_end: u8) -> Self {
        Self {
            day,
            slot_start,
            slot_end,
        }
    }

    /// Returns the range of `duration` sections that begins at `slot_start`.
    pub const fn starting_at(day: u16, slot_start: u8, duration: u8) -> Self {
        let slot_end = slot_start.saturating_add(duration.saturating_sub(1));
        Self {
            day,
            slot_start,
            slot_end,
        }
    }

    /// Returns the number of its sections.
    pub const fn sections(&self) -> u8 {
        self.slot_end
            .saturating_add(1)
            .saturating_sub(self.slot_start)
    }

    /// Returns the first point.
    pub const fn start(&self) -> Point {
        (self.day, self.slot_start)
    }

    /// Returns the last point; its section is still part of the range.
    pub const fn end(&self) -> Point {
        (self.day, self.slot_end)
    }

    /// Returns true if both share a section.
    pub const fn overlaps(&self, other: &Self) -> bool {
        self.day == other.day
            && self.slot_start <= other.slot_end
            && other.slot_start <= self.slot_end
    }

    /// Returns true if the other is entirely inside.
    pub const fn contains(&self, other: &Self) -> bool {
        self.day == other.day
            && self.slot_start <= other.slot_start
            && other.slot_end <= self.slot_end
    }

    /// Sorts ranges and joins those that touch or overlap.
    pub fn compress(mut slots: Vec<Self>) -> Vec<Self> {
        slots.sort_unstable();
        let mut joined: Vec<Self> = Vec::with_capacity(slots.len());
        for slot in slots {
            match joined.last_mut() {
                Some(last)
                    if last.day == slot.day
                        && slot.slot_start <= last.slot_end.saturating_add(1) =>
                {
                    last.slot_end = last.slot_end.max(slot.slot_end);
                }
                _ => joined.push(slot),
            }
        }
        joined
    }
}

impl ScheduleTask {
    /// Returns true if it has a place.
    pub fn is_placed(&self) -> bool {
        !self.slots.is_empty()
    }

    /// Returns the first point of its place, if it has one.
    pub fn start(&self) -> Option<Point> {
        self.slots.iter().map(Slot::start).min()
    }

    /// Returns the last point of its place, if it has one.
    pub fn end(&self) -> Option<Point> {
        self.slots.iter().map(Slot::end).max()
    }

    /// Returns true if a task could be embedded into it now.
    pub fn is_open_host(&self) -> bool {
        self.can_embed && self.embedded_by.is_none() && self.embed_host.is_none()
    }

    /// Returns its class and its position in the order of that class, if it has both.
    pub fn ordered(&self) -> Option<(u32, u32)> {
        let class = self.task_class_id?;
        (self.task_order > 0).then_some((class, self.task_order))
    }

    /// Returns true if it is an item of a class and still pending.
    pub fn is_pending_item(&self) -> bool {
        self.source == Source::TaskItem
            && self.status == PlacementStatus::Pending
            && !self.marks.done
    }
}

impl ScheduleState {
    /// Returns the task with this id.
    pub fn task(&self, state_id: u32) -> Option<&ScheduleTask> {
        self.tasks.get(self.position(state_id)?)
    }

    /// Returns the class with this id.
    pub fn class(&self, id: u32) -> Option<&TaskClass> {
        self.task_classes.iter().find(|class| class.id == id)
    }

    /// Returns the class that a task belongs to.
    pub fn class_of(&self, task: &ScheduleTask) -> Option<&TaskClass> {
        self.class(task.task_class_id?)
    }

    /// Returns the date and week of a day number; none if it is outside the window.
    pub fn day(&self, day: u16) -> Option<&DayMapping> {
        let guess = self.window.days.get(usize::from(day).checked_sub(1)?);
        match guess {
            Some(found) if found.day_index == day => guess,
            _ => self.window.days.iter().find(|found| found.day_index == day),
        }
    }

    /// Returns the number of the last day, 0 if there is no window.
    pub fn last_day(&self) -> u16 {
        self.window
            .days
            .iter()
            .map(|day| day.day_index)
            .max()
            .unwrap_or(0)
    }

    /// Returns the index of an id in `tasks`. Tasks are in the order of their ids, so this is a
    /// binary search; a list in another order is searched linearly.
    pub(crate) fn position(&self, state_id: u32) -> Option<usize> {
        match self
            .tasks
            .binary_search_by_key(&state_id, |task| task.state_id)
        {
            Ok(position) => Some(position),
            Err(_) => self.tasks.iter().position(|task| task.state_id == state_id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sch_70_adjacent_sections_compress_into_ranges() {
        let slots = vec![
            Slot::new(2, 5, 5),
            Slot::new(1, 3, 4),
            Slot::new(1, 1, 2),
            Slot::new(1, 7, 8),
            Slot::new(2, 6, 6),
        ];
        assert_eq!(
            Slot::compress(slots),
            [Slot::new(1, 1, 4), Slot::new(1, 7, 8), Slot::new(2, 5, 6)]
        );
    }

    #[test]
    fn ranges_know_their_length_and_neighbours() {
        let slot = Slot::starting_at(3, 5, 2);
        assert_eq!((slot, slot.sections()), (Slot::new(3, 5, 6), 2));
        assert!(slot.overlaps(&Slot::new(3, 6, 9)));
        assert!(!slot.overlaps(&Slot::new(3, 7, 9)));
        assert!(!slot.overlaps(&Slot::new(4, 5, 6)));
        assert!(Slot::new(3, 5, 8).contains(&slot));
        assert!(!slot.contains(&Slot::new(3, 5, 8)));
    }
}
