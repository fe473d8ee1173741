//! A class with its items, written as a whole.
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Change, ScheduleState, ScheduleTask, Source, TaskClass, Terms};

/// A class and all its items, in their new form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassWrite {
    /// The class; 0 as its id makes a new one.
    pub class: TaskClass,
    /// Its items, in their order.
    pub items: Vec<ClassItem>,
    /// Items that are left out although they have a place, which they lose.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub dropped: BTreeSet<u32>,
    /// Items that were left out before and come back under their ids.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub restored: BTreeSet<u32>,
}

/// An item of a class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassItem {
    /// The task that it is; none for a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
    /// The place in the order of the class, from 1.
    pub order: u32,
    /// The text of the item.
    pub content: String,
    /// Its terms; none leaves them as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<Terms>,
}

/// A class as it was stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenClass {
    /// The class, with its id.
    pub class: TaskClass,
    /// True if it is new.
    pub created: bool,
    /// All its items.
    pub items: Vec<ScheduleTask>,
}

impl ScheduleState {
    /// Puts a class and its items in place of the old ones. Items that are missing now are removed.
    /// An item stays in its place, also if it has another length now; the next place is that long.
    pub fn put_class(&mut self, written: &WrittenClass) {
        let id = written.class.id;
        let items = self
            .tasks
            .iter()
            .filter(|task| task.task_class_id == Some(id));
        let lengths: BTreeMap<u32, Option<u16>> = items
            .map(|task| (task.state_id, self.minutes(task)))
            .collect();
        self.task_classes.retain(|class| class.id != id);
        self.task_classes.push(written.class.clone());
        self.task_classes.sort_by_key(|class| class.id);
        let kept: BTreeSet<u32> = written.items.iter().map(|item| item.state_id).collect();
        let is_item =
            |task: &ScheduleTask| task.task_class_id == Some(id) && task.source == Source::TaskItem;
        let lost = self
            .tasks
            .iter()
            .filter(|task| is_item(task) && !kept.contains(&task.state_id));
        let lost: Vec<u32> = lost.map(|task| task.state_id).collect();
        for task in &lost {
            // Its host, if it has one, is free again.
            self.apply(&Change::Unplace { task: *task });
        }
        self.tasks.retain(|task| !lost.contains(&task.state_id));
        for item in &written.items {
            let known = self
                .tasks
                .iter_mut()
                .find(|task| task.state_id == item.state_id);
            match known {
                // A class does not decide the place of its items.
                Some(known) => {
                    known.name.clone_from(&item.name);
                    known.category.clone_from(&item.category);
                    known.task_order = item.task_order;
                    known.terms.clone_from(&item.terms);
                    let minutes = item.terms.minutes.or(written.class.terms.minutes);
                    let is_as_long = lengths.get(&item.state_id) == Some(&minutes);
                    if !known.is_placed() || !is_as_long {
                        known.duration = item.duration;
                    }
                }
                None => self.tasks.push(item.clone()),
            }
        }
        self.tasks.sort_by_key(|task| task.state_id);
    }
}

impl ClassWrite {
    /// Returns a class with all its items.
    pub fn new(class: TaskClass, items: Vec<ClassItem>) -> Self {
        let (dropped, restored) = (BTreeSet::new(), BTreeSet::new());
        Self {
            class,
            items,
            dropped,
            restored,
        }
    }

    /// Returns the class in its form for this calendar.
    ///
    /// # Errors
    /// All problems with it, in words.
    pub fn resolve(&self, stored: &ScheduleState) -> Result<WrittenClass, Vec<String>> {
        let created = self.class.id == 0;
        let mut class = self.class.clone();
        if created {
            class.id = 1 + stored
                .task_classes
                .iter()
                .map(|class| class.id)
                .max()
                .unwrap_or(0);
        } else if stored.class(class.id).is_none() {
            let known = stored.task_classes.iter().map(|class| class.id.to_string());
            let known = known.collect::<Vec<_>>().join(", ");
            return Err(vec![say!(
                "there is no class {}; there are: {known}; 0 makes a new one",
                "没有类别 {}；现有：{known}；0 表示新建",
                class.id
            )]);
        }
        let mine = |task: &&ScheduleTask| {
            task.source == Source::TaskItem && task.task_class_id == Some(class.id)
        };
        let before: Vec<&ScheduleTask> = stored.tasks.iter().filter(mine).collect();
        let mut issues = Vec::new();
        let named: BTreeSet<u32> = self.items.iter().filter_map(|item| item.task).collect();
        for id in &named {
            let returns = self.restored.contains(id) && stored.task(*id).is_none();
            if !returns && !before.iter().any(|task| task.state_id == *id) {
                issues.push(say!(
                    "item {id} is not of this class",
                    "第 {id} 项不属于这个类别"
                ));
            }
        }
        for lost in before
            .iter()
            .filter(|task| task.is_placed() && !named.contains(&task.state_id))
            .filter(|task| !self.dropped.contains(&task.state_id))
        {
            issues.push(say!(
                "item {} \"{}\" has a place and cannot be left out; unplace it first",
                "第 {} 项「{}」已有位置，不能略去；请先取出",
                lost.state_id,
                lost.name
            ));
        }
        if !issues.is_empty() {
            return Err(issues);
        }
        let items = items(stored, &class, &self.items);
        Ok(WrittenClass {
            class,
            created,
            items,
        })
    }
}

fn items(stored: &ScheduleState, class: &TaskClass, wanted: &[ClassItem]) -> Vec<ScheduleTask> {
    let mut next = 1 + stored
        .tasks
        .iter()
        .map(|task| task.state_id)
        .max()
        .unwrap_or(0);
    let count = u32::try_from(wanted.len()).unwrap_or(u32::MAX).max(1);
    let sections = &stored.window.sections;
    let most = u32::from(sections.count());
    let share = u8::try_from((class.total_slots / count).clamp(1, most)).unwrap_or(2);
    let duration = |minutes: Option<u16>| {
        minutes.map_or(share, |minutes| sections.holding(minutes).unwrap_or(share))
    };
    let item = |wanted: &ClassItem| {
        let known = wanted.task.and_then(|id| stored.task(id));
        let named = known.map(|known| known.state_id).or(wanted.task);
        let state_id = named.unwrap_or_else(|| {
            next += 1;
            next - 1
        });
        let new = ScheduleTask {
            state_id,
            source_id: format!("class-{}-item-{state_id}", class.id),
            task_class_id: Some(class.id),
            ..ScheduleTask::default()
        };
        let mut item = known.cloned().unwrap_or(new);
        if let Some(terms) = &wanted.terms {
            item.terms.clone_from(terms);
        }
        item.name.clone_from(&wanted.content);
        item.category.clone_from(&class.name);
        item.task_order = wanted.order;
        let minutes = item.terms.minutes.or(class.terms.minutes);
        let is_as_long = known.is_some_and(|known| stored.minutes(known) == minutes);
        if !item.is_placed() || !is_as_long {
            item.duration = duration(minutes);
        }
        item
    };
    wanted.iter().map(item).collect()
}
