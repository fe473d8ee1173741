//! References to items, classes and courses by name or by a part of it.
use std::collections::BTreeSet;

use fugato::words::{NameIndex, normalize};

use super::{Facts, wish::expand};
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

    /// Returns true if only courses are meant.
    pub(super) fn is_course(&self) -> bool {
        !self.courses.is_empty() && self.items.is_empty() && self.classes.is_empty()
    }

    /// Returns the item, if nothing else is meant.
    pub(super) fn only_item(&self) -> Option<u32> {
        let is_one = self.items.len() == 1 && self.classes.is_empty();
        self.items.first().copied().filter(|_| is_one)
    }

    /// Adds the classes, or else the items, whose names go on where the name of a course ends: with
    /// a course "Algebra", "algebra" may mean the class "Algebra revision".
    pub(super) fn or_longer(mut self, schedule: &ScheduleState) -> Self {
        if !self.is_course() {
            return self;
        }
        let tasks = self.courses.iter().filter_map(|id| schedule.task(*id));
        let courses: BTreeSet<String> = tasks.map(|task| normalize(&task.name)).collect();
        let goes_on = |name: &str| {
            let name = normalize(name);
            courses
                .iter()
                .any(|course| name.starts_with(course) && name != *course)
        };
        let classes = schedule
            .task_classes
            .iter()
            .filter(|class| goes_on(&class.name));
        self.classes.extend(classes.map(|class| class.id));
        if self.classes.is_empty() {
            let items = schedule
                .tasks
                .iter()
                .filter(|task| task.event_type == EventType::Task && goes_on(&task.name));
            self.items.extend(items.map(|task| task.state_id));
        }
        self
    }

    /// Returns the items that both names can mean; none if there are none.
    pub(super) fn narrowed(&self, other: &Self, facts: &Facts<'_>) -> Option<Self> {
        let (mine, theirs) = (expand(self, facts), expand(other, facts));
        let both: BTreeSet<u32> = mine.intersection(&theirs).copied().collect();
        (!both.is_empty()).then(|| Self {
            items: both,
            exact: self.exact || other.exact,
            ..Self::default()
        })
    }

    /// Returns the item that comes at this place in the order of the only class that is meant.
    pub(super) fn nth(&self, nth: u8, schedule: &ScheduleState) -> Option<Self> {
        let class = self.classes.first().filter(|_| self.classes.len() == 1)?;
        let mut items: Vec<u32> = items_of(schedule, *class).collect();
        items.sort_by_key(|id| schedule.task(*id).map(|task| task.task_order));
        let item = items.get(usize::from(nth).checked_sub(1)?)?;
        Some(Self {
            items: BTreeSet::from([*item]),
            exact: true,
            ..Self::default()
        })
    }
}

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

/// The most items that a refusal lists.
const MOST_LISTED: usize = 30;

/// Says what the classes are called, and their items if they are few.
pub(super) fn known(facts: &Facts<'_>) -> String {
    let (schedule, lang) = (facts.schedule, facts.lang);
    let between = lang.pick(", ", "、");
    let of = |class: u32| items_of(schedule, class).filter_map(|id| schedule.task(id));
    let classes = schedule.task_classes.iter();
    let few = classes.clone().flat_map(|class| of(class.id)).count() <= MOST_LISTED;
    let classes = classes.map(|class| {
        let items = of(class.id).map(|task| task.name.as_str());
        let (name, items) = (&class.name, items.collect::<Vec<_>>().join(between));
        if few {
            lang.pick(
                format!("“{name}” ({items})"),
                format!("《{name}》（{items}）"),
            )
        } else {
            lang.pick(format!("“{name}”"), format!("《{name}》"))
        }
    });
    let classes = classes.collect::<Vec<_>>().join(between);
    if classes.is_empty() {
        return String::new();
    }
    lang.pick(
        format!(" If it is a name: there are {classes}."),
        format!("如果是名称：现有{classes}。"),
    )
}

/// Returns the ids of the items of a class.
pub(super) fn items_of(schedule: &ScheduleState, class: u32) -> impl Iterator<Item = u32> {
    let tasks = schedule.tasks.iter();
    let of = tasks.filter(move |task| {
        task.task_class_id == Some(class) && task.event_type == EventType::Task
    });
    of.map(|task| task.state_id)
}
