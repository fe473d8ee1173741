//! The vocabulary of changes to a schedule.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Marks, PlacementStatus, ScheduleState, ScheduleTask, Slot};

/// A change to a schedule. It says where a task lies afterwards, never how it got there, so a
/// sequence of changes can be stored, replayed and applied twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "change", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Change {
    /// A task gets a place, its first or another one.
    Place {
        /// The task.
        task: u32,
        /// Where it lies afterwards. Their length becomes its duration.
        slots: Vec<Slot>,
        /// The task inside which it lies.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<u32>,
        /// How it stands afterwards.
        status: PlacementStatus,
    },
    /// A task loses its place and wants one again; it keeps its duration.
    Unplace {
        /// The task.
        task: u32,
    },
    /// Somebody confirmed the place of a task.
    Confirm {
        /// The task.
        task: u32,
    },
    /// Somebody marked a task; its place stays.
    Mark {
        /// The task.
        task: u32,
        /// Its marks afterwards.
        marks: Marks,
    },
}

impl Change {
    /// Returns the task that changes.
    pub const fn task(&self) -> u32 {
        match self {
            Self::Place { task, .. }
            | Self::Unplace { task }
            | Self::Confirm { task }
            | Self::Mark { task, .. } => *task,
        }
    }

    /// Returns the change that brings a task back to its current place.
    pub fn restoring(task: &ScheduleTask) -> Self {
        if task.is_placed() {
            Self::Place {
                task: task.state_id,
                slots: task.slots.clone(),
                host: task.embed_host,
                status: task.status,
            }
        } else {
            Self::Unplace {
                task: task.state_id,
            }
        }
    }
}

impl ScheduleState {
    /// Carries out a change. It cannot fail: changes are checked when they are made, and a change
    /// to an unknown task does nothing. Links between hosts and guests stay mutual.
    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::Place {
                task,
                slots,
                host,
                status,
            } => {
                self.put(*task, slots, *host, *status);
            }
            Change::Unplace { task } => self.put(*task, &[], None, PlacementStatus::Pending),
            Change::Mark { task, marks } => self.edit(*task, |task| task.marks = marks.clone()),
            Change::Confirm { task } => self.edit(*task, |task| {
                if task.is_placed() {
                    task.status = PlacementStatus::Existing;
                }
            }),
        }
    }

    fn put(&mut self, id: u32, slots: &[Slot], host: Option<u32>, status: PlacementStatus) {
        let Some(task) = self.task(id) else { return };
        let (old_host, guest) = (task.embed_host, task.embedded_by);
        if let Some(old) = old_host {
            self.edit(old, |old| {
                if old.embedded_by == Some(id) {
                    old.embedded_by = None;
                }
            });
        }
        let host = host.filter(|host| *host != id && self.task(*host).is_some());
        if let Some(host) = host {
            self.edit(host, |host| host.embedded_by = Some(id));
        }
        let slots = Slot::compress(slots.to_vec());
        self.edit(id, |task| {
            if !slots.is_empty() {
                let sections = slots.iter().map(Slot::sections);
                task.duration = sections.fold(0, u8::saturating_add);
            }
            task.slots = slots;
            task.embed_host = host;
            task.status = status;
        });
        if let Some(guest) = guest {
            self.part_if_outside(id, guest);
        }
    }

    /// Unlinks a guest whose host moved away from it.
    fn part_if_outside(&mut self, host: u32, guest: u32) {
        let inside = match (self.task(host), self.task(guest)) {
            (Some(host), Some(guest)) => guest.slots.iter().all(|slot| host_contains(host, *slot)),
            _ => false,
        };
        if !inside {
            self.edit(host, |host| host.embedded_by = None);
            self.edit(guest, |guest| {
                if guest.embed_host == Some(host) {
                    guest.embed_host = None;
                }
            });
        }
    }

    fn edit(&mut self, id: u32, how: impl FnOnce(&mut ScheduleTask)) {
        if let Some(task) = self
            .position(id)
            .and_then(|position| self.tasks.get_mut(position))
        {
            how(task);
        }
    }
}

/// Returns true if a range is entirely inside one range of a host.
pub(crate) fn host_contains(host: &ScheduleTask, slot: Slot) -> bool {
    host.slots.iter().any(|range| range.contains(&slot))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{course, host, item, state};
    use super::*;

    #[test]
    fn a_place_links_host_and_guest_and_leaving_unlinks_them() {
        let mut now = state(7, vec![host(1, "Physics", 2, 1, 4), item(2, 1, 1)]);
        let before = now.clone();
        let inside = Change::Place {
            task: 2,
            slots: vec![Slot::new(2, 1, 2)],
            host: Some(1),
            status: PlacementStatus::Suggested,
        };
        now.apply(&inside);
        let (physics, guest) = (now.task(1).unwrap(), now.task(2).unwrap());
        assert_eq!((physics.embedded_by, guest.embed_host), (Some(2), Some(1)));
        assert_eq!(guest.slots, [Slot::new(2, 1, 2)]);
        now.apply(&Change::Unplace { task: 2 });
        assert_eq!(now, before);
    }

    #[test]
    fn two_guests_change_places_in_either_order_of_changes() {
        let mut now = state(
            7,
            vec![
                host(1, "Physics", 1, 1, 2),
                host(2, "Chemistry", 2, 1, 2),
                item(3, 1, 1),
                item(4, 2, 1),
            ],
        );
        let into = |task, day, host| Change::Place {
            task,
            slots: vec![Slot::new(day, 1, 2)],
            host: Some(host),
            status: PlacementStatus::Suggested,
        };
        now.apply(&into(3, 1, 1));
        now.apply(&into(4, 2, 2));
        let mut other = now.clone();
        now.apply(&into(3, 2, 2));
        now.apply(&into(4, 1, 1));
        other.apply(&into(4, 1, 1));
        other.apply(&into(3, 2, 2));
        assert_eq!(now, other);
        let links: Vec<_> = now
            .tasks
            .iter()
            .map(|t| (t.embedded_by, t.embed_host))
            .collect();
        assert_eq!(
            links,
            [
                (Some(4), None),
                (Some(3), None),
                (None, Some(2)),
                (None, Some(1))
            ]
        );
    }

    #[test]
    fn a_placed_length_becomes_the_duration_and_stays_after_leaving() {
        let mut now = state(7, vec![item(1, 1, 1)]);
        now.apply(&Change::Place {
            task: 1,
            slots: vec![Slot::new(1, 4, 4), Slot::new(1, 3, 3), Slot::new(1, 5, 5)],
            host: None,
            status: PlacementStatus::Suggested,
        });
        assert_eq!(now.task(1).unwrap().slots, [Slot::new(1, 3, 5)]);
        now.apply(&Change::Unplace { task: 1 });
        let task = now.task(1).unwrap();
        assert_eq!((task.duration, task.status), (3, PlacementStatus::Pending));
    }

    #[test]
    fn changes_to_strangers_do_nothing_and_confirming_needs_a_place() {
        let mut now = state(7, vec![course(1, "Physics", 1, 1, 2), item(2, 1, 1)]);
        let before = now.clone();
        now.apply(&Change::Unplace { task: 9 });
        now.apply(&Change::Confirm { task: 2 });
        assert_eq!(now, before);
    }

    #[test]
    fn changes_survive_a_round_trip() {
        let change = Change::Place {
            task: 2,
            slots: vec![Slot::new(1, 3, 4)],
            host: None,
            status: PlacementStatus::Suggested,
        };
        let json = serde_json::to_value(&change).unwrap();
        assert_eq!(
            json,
            serde_json::json!({"change": "place", "task": 2, "status": "suggested",
                "slots": [{"day": 1, "slot_start": 3, "slot_end": 4}]})
        );
        assert_eq!(serde_json::from_value::<Change>(json).unwrap(), change);
    }
}
