//! Going back to an earlier state of the plan, and forth again.
use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    super::{
        Facts, Understanding, free_times,
        travel::{Count, Direction, Travel},
    },
    Limits, PlanResult, Planner, call,
};
use crate::{
    agent::FreeTime,
    schedule::{
        Change, Difference, PlaceChange, PlacementStatus, ScheduleState, ScheduleTask, Source,
        TaskClass, Terms, differences,
    },
    tools::{EDIT_TASK_CLASS, MARK_TASK, PreferenceArgs, SET_PREFERENCES, TermsEdit},
};

/// Plans the way to an earlier state, or back from there.
pub(in super::super) fn travelled(travel: Travel, facts: &Facts<'_>) -> Understanding {
    let mut desk = Planner::new(facts, Limits::default());
    match desk.travel(travel) {
        Ok(()) => desk.finish(),
        Err(refusal) => refusal,
    }
}

impl Planner<'_> {
    /// Returns true if the last change gave places to what had none, and did nothing else.
    fn gave_first_places(&self) -> bool {
        let now = self.facts.schedule;
        let Some(previous) = self.facts.previous else {
            return false;
        };
        let changes = differences(previous, now);
        let is_first = |change: &Difference| matches!(change.step, PlaceChange::Place { .. });
        let same = (&previous.preferences, &previous.task_classes)
            == (&now.preferences, &now.task_classes);
        same && !changes.is_empty() && changes.iter().all(is_first)
    }

    /// Goes back, or forth.
    pub(super) fn travel(&mut self, travel: Travel) -> PlanResult {
        let (now, timeline) = self.facts.timeline();
        let (past, future) = timeline.steps();
        let forth = match travel.direction {
            Direction::Back => false,
            Direction::Forth => true,
            // What was undone is put back by making it again.
            Direction::PutBack => future > 0,
        };
        if travel.direction == Direction::PutBack && !forth && self.gave_first_places() {
            return Err(self.refuse(
                "The last change gave items their first places, so there is no place to go back to, and nothing was changed. “Undo” takes these places away again.",
                "上一次改动是第一次安排，没有可以恢复的位置，没有改动任何内容。要取消这些安排，请说“撤销”。",
            ));
        }
        let most = if forth { future } else { past };
        let count = match travel.count {
            Count::Number(count) => count,
            Count::Today => self
                .facts
                .now
                .map_or(most, |now| timeline.steps_of(now.date())),
            Count::All => most,
        };
        if count == 0 || count > most {
            return Err(self.no_way(forth, most, future));
        }
        let steps = i32::try_from(count).unwrap_or(i32::MAX);
        self.travels = if forth { steps } else { -steps };
        let target = timeline.reached(self.travels, now);
        if let Some(schedule) = &target.schedule {
            self.restore(schedule);
        }
        self.restore_free_times(target.free_times);
        if count > 1 {
            self.say.push(if forth {
                self.pick(
                    format!("This makes {count} changes again that were undone."),
                    format!("这会重做 {count} 次已撤销的改动。"),
                )
            } else {
                self.pick(
                    format!("This takes back the last {count} changes."),
                    format!("这会撤销最近 {count} 次改动。"),
                )
            });
        }
        Ok(())
    }

    /// Says that there are fewer changes than that, or none.
    fn no_way(&self, forth: bool, most: usize, future: usize) -> Understanding {
        match (forth, most) {
            (true, 0) => self.refuse(
                "There is no undone change that could be made again. Nothing was changed.",
                "没有可以重做的改动。没有改动任何内容。",
            ),
            (true, _) => self.refuse(
                format!("Only {most} of the undone changes can be made again. Nothing was changed."),
                format!("只有 {most} 次改动可以重做。没有改动任何内容。"),
            ),
            (false, 0) if future > 0 => self.refuse(
                "There is no earlier change that could be undone. Nothing was changed. “Redo” makes again what was undone.",
                "没有更早的改动可以撤销。没有改动任何内容。要恢复刚才撤销的改动，请说“重做”。",
            ),
            (false, 0) => self.refuse(
                "There is no change that could be undone. Nothing was changed.",
                "没有可以撤销的改动。没有改动任何内容。",
            ),
            (false, _) => self.refuse(
                format!("Only {most} changes can be undone. Nothing was changed."),
                format!("只有 {most} 次改动可以撤销。没有改动任何内容。"),
            ),
        }
    }

    /// Plans what brings the schedule to another state.
    fn restore(&mut self, previous: &ScheduleState) {
        let now = self.facts.schedule;
        if previous.preferences != now.preferences {
            let before = previous.preferences.clone();
            let args = PreferenceArgs {
                none: before.is_none(),
                before: before.map(Box::new),
                ..PreferenceArgs::default()
            };
            self.before.push(call(SET_PREFERENCES, json!(args)));
        }
        for class in &previous.task_classes {
            self.restore_class(previous, class);
        }
        for task in &previous.tasks {
            let Some(known) = self.work.task(task.state_id) else {
                continue;
            };
            if known.marks.done != task.marks.done {
                self.before.push(call(
                    MARK_TASK,
                    json!({ "task_ids": [task.state_id], "done": task.marks.done }),
                ));
            }
            if known.marks.deadline != task.marks.deadline {
                let date = task.marks.deadline.clone().unwrap_or_default();
                // What moves back into an earlier date moves first.
                let is_earlier =
                    task.marks.deadline.is_some() && known.marks.deadline > task.marks.deadline;
                let args = json!({ "task_ids": [task.state_id], "deadline": date });
                let call = call(MARK_TASK, args);
                if is_earlier {
                    self.after.push(call);
                } else {
                    self.before.push(call);
                }
            }
            if known.slots != task.slots {
                self.work.apply(&Change::restoring(task));
            }
        }
    }

    /// Brings the times that were kept free back.
    fn restore_free_times(&mut self, before: Vec<FreeTime>) {
        if before == self.facts.free_times {
            return;
        }
        let told = free_times::listed(&before, self.facts).join(self.pick("; ", "；").as_str());
        self.say.push(if told.is_empty() {
            self.pick(
                "Undone: no time is kept free now.",
                "已撤销：现在没有要空着的时间。",
            )
        } else {
            self.pick(
                format!("Undone: kept free are now {told}."),
                format!("已撤销：现在空着的是{told}。"),
            )
        });
        self.free_before = Some(before);
    }

    /// Brings a class and its items back.
    fn restore_class(&mut self, previous: &ScheduleState, class: &TaskClass) {
        let now = self.facts.schedule;
        let of = |state: &ScheduleState| -> BTreeSet<u32> {
            let tasks = state.tasks.iter().filter(|task| {
                task.task_class_id == Some(class.id) && task.source == Source::TaskItem
            });
            tasks.map(|task| task.state_id).collect()
        };
        let (was, is) = (of(previous), of(now));
        let terms = terms_before(previous, now, class.id);
        if now.class(class.id) == Some(class) && was == is && terms.is_empty() {
            return;
        }
        let restore: Vec<Value> = was
            .difference(&is)
            .filter_map(|id| {
                let task = previous.task(*id)?;
                let (name, order) = (&task.name, task.task_order);
                Some(if task.terms.is_none() {
                    json!({ "id": id, "content": name, "order": order })
                } else {
                    json!({ "id": id, "content": name, "order": order, "terms": task.terms })
                })
            })
            .collect();
        let remove: Vec<u32> = is.difference(&was).copied().collect();
        let mut args = json!({
            "class_id": class.id,
            "restore": restore,
            "remove": remove,
            "total_slots": class.total_slots,
            "end_date": class.end_date.clone().unwrap_or_default(),
        });
        if let (false, Some(args)) = (terms.is_empty(), args.as_object_mut()) {
            args.insert("terms".to_owned(), json!(terms));
        }
        let only_end = was == is && terms_before(previous, now, class.id).is_empty();
        let end = now
            .class(class.id)
            .and_then(|class| class.end_date.as_ref());
        let call = call(EDIT_TASK_CLASS, args);
        // What moves back into an earlier date moves first.
        if only_end && class.end_date.is_some() && end > class.end_date.as_ref() {
            self.after.push(call);
        } else {
            self.before.push(call);
        }
        for id in remove {
            self.work.tasks.retain(|task| task.state_id != id);
        }
        for id in was.difference(&is) {
            if let Some(task) = previous.task(*id) {
                let bare = ScheduleTask {
                    slots: vec![],
                    status: PlacementStatus::Pending,
                    embed_host: None,
                    embedded_by: None,
                    ..task.clone()
                };
                self.work.tasks.push(bare);
            }
        }
        self.work.tasks.sort_by_key(|task| task.state_id);
    }
}

/// Returns the edits that bring the terms of a class and its items back.
fn terms_before(previous: &ScheduleState, now: &ScheduleState, class: u32) -> Vec<TermsEdit> {
    let edit = |task_id, before: &Terms| TermsEdit {
        task_id,
        before: Some(before.clone()),
        ..TermsEdit::default()
    };
    let (old, new) = (previous.class(class), now.class(class));
    let changed = old.zip(new).filter(|(old, new)| old.terms != new.terms);
    let mut edits: Vec<_> = changed
        .iter()
        .map(|(old, _)| edit(None, &old.terms))
        .collect();
    let items = previous.tasks.iter();
    let items = items.filter(|task| {
        let known = now.task(task.state_id);
        task.task_class_id == Some(class) && known.is_some_and(|it| it.terms != task.terms)
    });
    edits.extend(items.map(|task| edit(Some(task.state_id), &task.terms)));
    edits
}
