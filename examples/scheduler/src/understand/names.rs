//! References to items, classes and courses by name or by a part of it.
use std::collections::BTreeSet;

use fugato::words::NameIndex;

use crate::schedule::{EventType, ScheduleState};

/// The things that a name can mean.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ref {
    /// Items and errands, by id.
    pub(super) items: BTreeSet<u32>,
    /// Classes, by id.
    pub(super) classes: BTreeSet<u32>,
    /// Courses, by id.
    pub(super) courses: BTreeSet<u32>,
    /// True if the whole name was said.
    pub(super) exact: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thing {
    Item(u32),
    Class(u32),
    Course(u32),
}

impl Ref {
    pub(super) fn of(things: impl IntoIterator<Item = Thing>, exact: bool) -> Self {
        let mut found = Self {
            exact,
            ..Self::default()
        };
        for thing in things {
            match thing {
                Thing::Item(id) => found.items.insert(id),
                Thing::Class(id) => found.classes.insert(id),
                Thing::Course(id) => found.courses.insert(id),
            };
        }
        found
    }
}

/// Returns the names of a schedule.
pub(super) fn names(schedule: &ScheduleState) -> NameIndex<Thing> {
    let classes = schedule.task_classes.iter();
    let classes = classes.map(|class| (Thing::Class(class.id), &class.name));
    let tasks = schedule.tasks.iter().map(|task| {
        let thing = match task.event_type {
            EventType::Course => Thing::Course(task.state_id),
            EventType::Task => Thing::Item(task.state_id),
        };
        (thing, &task.name)
    });
    NameIndex::new(tasks.chain(classes))
}

/// Returns the ids of the items of a class.
pub(super) fn items_of(schedule: &ScheduleState, class: u32) -> impl Iterator<Item = u32> {
    let tasks = schedule.tasks.iter();
    let of = tasks.filter(move |task| {
        task.task_class_id == Some(class) && task.event_type == EventType::Task
    });
    of.map(|task| task.state_id)
}
