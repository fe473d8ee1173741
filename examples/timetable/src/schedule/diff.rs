//! The differences between two schedules, in the terms of the calendar that they came from.
use serde::{Deserialize, Serialize};

use super::{EventType, Marks, PlacementStatus, ScheduleState, ScheduleTask, Slot, Source};

/// A task whose place differs between two schedules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The task in both schedules.
    pub task: u32,
    /// The source of the task.
    pub source: Source,
    /// Its id there.
    pub source_id: String,
    /// Its name.
    pub name: String,
    /// The kind of event.
    pub event_type: EventType,
    /// The current status.
    pub status: PlacementStatus,
    /// The change of its place.
    #[serde(flatten)]
    pub step: PlaceChange,
}

/// The change of the place of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum PlaceChange {
    /// It got its first place.
    Place {
        /// The new place.
        to: Location,
    },
    /// It moved: the old place is given up, then the new one is taken.
    Move {
        /// The old place.
        from: Location,
        /// The new place.
        to: Location,
    },
    /// It lost its place.
    Unplace {
        /// The old place.
        from: Location,
    },
    /// Its marks changed, and perhaps its place.
    Mark {
        /// The old place, if it had one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<Location>,
        /// The new place, if it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<Location>,
        /// The old marks.
        before: Marks,
        /// The new marks.
        after: Marks,
    },
}

impl PlaceChange {
    /// Returns the old place of the task, if there is one.
    pub const fn from(&self) -> Option<&Location> {
        match self {
            Self::Place { .. } => None,
            Self::Move { from, .. } | Self::Unplace { from } => Some(from),
            Self::Mark { from, .. } => from.as_ref(),
        }
    }

    /// Returns the new place of the task, if there is one.
    pub const fn to(&self) -> Option<&Location> {
        match self {
            Self::Place { to } | Self::Move { to, .. } => Some(to),
            Self::Unplace { .. } => None,
            Self::Mark { to, .. } => to.as_ref(),
        }
    }
}

/// A place in the terms of the calendar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// Every section that it takes.
    pub sections: Vec<Coordinate>,
    /// The id of the calendar entry that contains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_event: Option<String>,
}

/// One section of one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coordinate {
    /// The number of the day.
    pub day: u16,
    /// The week, from 1; 0 if the day is outside the window.
    pub week: u16,
    /// Monday is 1; 0 if the day is outside the window.
    pub day_of_week: u8,
    /// The date; empty if the window is not tied to a calendar.
    pub date: String,
    /// The section, 1 to 12.
    pub section: u8,
}

/// Returns the changes from the original schedule to the current one, in the order of task ids.
///
/// To carry them out, give up every old place first: tasks may have exchanged places.
pub fn differences(original: &ScheduleState, current: &ScheduleState) -> Vec<Difference> {
    let mut found: Vec<Difference> = current
        .tasks
        .iter()
        .filter_map(|task| {
            let before = original.task(task.state_id);
            let from = before.and_then(|before| locate(original, before));
            let marks = before
                .map(|before| before.marks.clone())
                .unwrap_or_default();
            let step = match (from, locate(current, task)) {
                (from, to) if marks != task.marks => PlaceChange::Mark {
                    from,
                    to,
                    before: marks,
                    after: task.marks.clone(),
                },
                (None, Some(to)) => PlaceChange::Place { to },
                (Some(from), None) => PlaceChange::Unplace { from },
                (Some(from), Some(to)) if from != to => PlaceChange::Move { from, to },
                _ => return None,
            };
            Some(Difference {
                task: task.state_id,
                source: task.source,
                source_id: task.source_id.clone(),
                name: task.name.clone(),
                event_type: task.event_type,
                status: task.status,
                step,
            })
        })
        .collect();
    found.sort_by_key(|difference| difference.task);
    found
}

/// Returns the place of a task in the terms of the calendar; none if it has no place.
pub fn locate(state: &ScheduleState, task: &ScheduleTask) -> Option<Location> {
    if !task.is_placed() {
        return None;
    }
    let mut sections = Vec::new();
    for Slot {
        day,
        slot_start,
        slot_end,
    } in Slot::compress(task.slots.clone())
    {
        let known = state.day(day);
        sections.extend((slot_start..=slot_end).map(|section| Coordinate {
            day,
            week: known.map_or(0, |known| known.week),
            day_of_week: known.map_or(0, |known| known.day_of_week),
            date: known.map(|known| known.date.clone()).unwrap_or_default(),
            section,
        }));
    }
    let host = task.embed_host.and_then(|host| state.task(host));
    Some(Location {
        sections,
        host_event: host.map(|host| host.source_id.clone()),
    })
}

#[cfg(test)]
mod tests {
    use super::super::Change;
    use super::super::fixture::{errand, host, item, state, suggested};
    use super::*;

    fn place(task: u32, slot: Slot, host: Option<u32>) -> Change {
        Change::Place {
            task,
            slots: vec![slot],
            host,
            status: PlacementStatus::Suggested,
        }
    }

    #[test]
    fn sch_129_place_move_and_unplace_with_coordinates_and_hosts() {
        let original = state(
            8,
            vec![
                host(1, "Physics", 2, 1, 2),
                item(2, 1, 1),
                suggested(3, 1, 2, Slot::new(8, 1, 1)),
                errand(4, "Gym", 3, 5, 5),
                errand(5, "Choir", 3, 7, 7),
            ],
        );
        let mut current = original.clone();
        for change in [
            place(2, Slot::new(2, 1, 2), Some(1)),
            place(3, Slot::new(8, 3, 3), None),
            Change::Unplace { task: 4 },
        ] {
            current.apply(&change);
        }
        let at = |day: u16, week, day_of_week, date: &str, section| Coordinate {
            day,
            week,
            day_of_week,
            date: date.into(),
            section,
        };
        let alone = |place| Location {
            sections: vec![place],
            host_event: None,
        };
        let steps: Vec<_> = differences(&original, &current)
            .into_iter()
            .map(|d| (d.source_id, d.step))
            .collect();
        assert_eq!(
            steps,
            [
                (
                    "item-2".to_owned(),
                    PlaceChange::Place {
                        to: Location {
                            sections: vec![
                                at(2, 1, 2, "2026-09-15", 1),
                                at(2, 1, 2, "2026-09-15", 2)
                            ],
                            host_event: Some("event-1".into()),
                        }
                    }
                ),
                (
                    "item-3".to_owned(),
                    PlaceChange::Move {
                        from: alone(at(8, 2, 1, "2026-09-21", 1)),
                        to: alone(at(8, 2, 1, "2026-09-21", 3)),
                    }
                ),
                (
                    "event-4".to_owned(),
                    PlaceChange::Unplace {
                        from: alone(at(3, 1, 3, "2026-09-16", 5))
                    }
                ),
            ]
        );
    }

    #[test]
    fn sch_129_going_back_leaves_no_difference() {
        let original = state(8, vec![item(2, 1, 1)]);
        let mut current = original.clone();
        current.apply(&place(2, Slot::new(2, 1, 2), None));
        assert_eq!(differences(&original, &current).len(), 1);
        current.apply(&Change::Unplace { task: 2 });
        assert_eq!(differences(&original, &current), []);
    }
}
