//! The way from one state of a schedule to another, without the parts that are the same in both.
use serde::{Deserialize, Serialize};

use super::{
    Change, Marks, PlacementPreferences, PlacementStatus, ScheduleState, ScheduleTask, Source,
    WrittenClass,
};

/// The differences between two states of a schedule: a few entries, where a state has hundreds. A class
/// that only the first of them has stays.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SchedulePatch {
    /// The classes that differ, each with all its items.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<WrittenClass>,
    /// The places and marks that differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// All preferences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferences: Option<PlacementPreferences>,
}

impl SchedulePatch {
    /// Returns the patch that makes the second state of the first.
    pub fn between(before: &ScheduleState, after: &ScheduleState) -> Self {
        let mut patch = Self {
            preferences: after.preferences.clone(),
            ..Self::default()
        };
        let mut work = before.clone();
        for class in &after.task_classes {
            let written = WrittenClass {
                class: class.clone(),
                created: false,
                items: items(after, class.id),
            };
            if before.class(class.id) != Some(class) || items(before, class.id) != written.items {
                work.put_class(&written);
                patch.classes.push(written);
            }
        }
        for task in &after.tasks {
            let Some(known) = work.task(task.state_id) else {
                continue;
            };
            let place = |task: &ScheduleTask| (task.slots.clone(), task.embed_host, task.status);
            if place(known) != place(task) {
                patch.changes.push(Change::restoring(task));
            }
            if known.marks != task.marks {
                patch.changes.push(Change::Mark {
                    task: task.state_id,
                    marks: task.marks.clone(),
                });
            }
        }
        patch
    }

    /// Makes the second state of the first.
    pub fn apply(&self, schedule: &mut ScheduleState) {
        schedule.preferences.clone_from(&self.preferences);
        for class in &self.classes {
            schedule.put_class(class);
        }
        for change in &self.changes {
            schedule.apply(change);
        }
    }
}

/// Returns the items of a class, without their places and marks.
fn items(schedule: &ScheduleState, class: u32) -> Vec<ScheduleTask> {
    let tasks = schedule.tasks.iter();
    let mine =
        tasks.filter(|task| task.task_class_id == Some(class) && task.source == Source::TaskItem);
    let bare = mine.map(|task| ScheduleTask {
        slots: vec![],
        status: PlacementStatus::Pending,
        embed_host: None,
        embedded_by: None,
        marks: Marks::default(),
        ..task.clone()
    });
    bare.collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Slot, fixture};
    use super::*;

    #[test]
    fn a_patch_makes_one_state_of_the_other_and_has_nothing_that_is_the_same() {
        let mut before = fixture::state(
            7,
            vec![
                fixture::item(1, 1, 1),
                fixture::item(2, 1, 2),
                fixture::item(3, 2, 1),
            ],
        );
        before.apply(&Change::Place {
            task: 1,
            slots: vec![Slot::new(1, 1, 2)],
            host: None,
            status: PlacementStatus::Existing,
        });
        let mut after = before.clone();
        after.apply(&Change::Place {
            task: 1,
            slots: vec![Slot::new(2, 1, 2)],
            host: None,
            status: PlacementStatus::Existing,
        });
        let marks = Marks {
            done: true,
            ..Marks::default()
        };
        after.apply(&Change::Mark { task: 3, marks });
        after.tasks.retain(|task| task.state_id != 2);
        after.preferences = Some(PlacementPreferences::default());
        for (from, to) in [(&before, &after), (&after, &before)] {
            let patch = SchedulePatch::between(from, to);
            let mut made = from.clone();
            patch.apply(&mut made);
            assert_eq!(made, *to);
            let touched: Vec<u32> = patch.changes.iter().map(Change::task).collect();
            assert_eq!((touched, patch.classes.len()), (vec![1, 3], 1));
        }
        let none = SchedulePatch::between(&before, &before);
        assert_eq!(none, SchedulePatch::default());
    }
}
