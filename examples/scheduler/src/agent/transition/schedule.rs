//! The schedule of the conversation: as it is, as it is stored, and as others changed it.
use std::sync::Arc;

use jiff::civil::DateTime;

use super::ROUGH_BUILD_DONE;
use crate::{
    agent::{AgentState, ContextHook, Mode, Moment, Timeline, Upserts},
    schedule::{
        Change, Difference, PlacementPreferences, PlacementStatus, ScheduleState, differences,
    },
    store::{WrittenClass, decided},
};

impl AgentState {
    pub(in crate::agent) fn reschedule(&mut self, changes: &[Change]) {
        if let Some(schedule) = &mut self.schedule {
            let schedule = Arc::make_mut(schedule);
            for change in changes {
                if let Some(task) = schedule.task(change.task()) {
                    let before = || task.slots.clone();
                    self.run.places.entry(task.state_id).or_insert_with(before);
                }
                schedule.apply(change);
            }
            self.run.has_schedule_changes |= !changes.is_empty();
            // The diagnosis is out of date.
            self.health.checked = false;
        }
    }

    pub(in crate::agent) fn rough_built(&mut self, refine: bool, left: Option<String>) {
        self.run.needs_rough_build = false;
        self.run.unsaved |= self.is_draft();
        if left.is_some() {
            // What does not fit is for the person to decide, with what fits in view.
            self.run.left = left;
            self.close();
            return;
        }
        if self.run.mode != Mode::GlobalReopt {
            self.pin(
                ROUGH_BUILD_DONE,
                "every pending item was placed by rule".into(),
            );
        }
        if refine {
            self.run.optimize_only = true;
            self.run.needs_refine = false;
            if self.run.mode == Mode::LocalAdjust {
                self.run.mode = Mode::FirstFull;
            }
            self.hook = Some(ContextHook::schedule("rough_build_post_refine"));
        } else {
            self.done();
        }
    }

    /// Returns true if a task is in another place than the stored one.
    fn is_draft(&self) -> bool {
        let stored = self.stored.as_ref().or(self.original.as_ref());
        let both = stored.zip(self.schedule.as_ref());
        both.is_some_and(|(stored, now)| !differences(stored, now).is_empty())
    }

    /// Marks changes as stored, so that the next changes are compared with them.
    pub(in crate::agent) fn store(&mut self, changes: &[Difference]) {
        let Some(original) = &self.original else {
            return;
        };
        let before = self.stored.as_ref().unwrap_or(original).clone();
        if !changes.is_empty() {
            self.remember();
        }
        let Some(schedule) = &self.schedule else {
            return;
        };
        let mut stored = (*before).clone();
        let now = changes
            .iter()
            .filter_map(|change| schedule.task(change.task));
        for task in now {
            stored.apply(&Change::restoring(task));
            stored.apply(&Change::Mark {
                task: task.state_id,
                marks: task.marks.clone(),
            });
        }
        self.run.stored += changes.len() as u64;
        self.agreed = !decided(&stored, schedule).is_empty();
        self.stored = Some(stored.into());
    }

    /// Returns the stored state of the plan.
    fn moment(&self) -> Moment {
        let stored = self.stored.as_deref().or(self.original.as_deref());
        Moment {
            schedule: stored.cloned(),
            free_times: self.free_times.clone(),
        }
    }

    fn has_changed_nothing(&self) -> bool {
        let run = &self.run;
        run.stored == 0 && run.upserts.stored == 0 && !run.has_changed
    }

    fn settled(&self, now: &Moment) -> Timeline {
        let free_times = self.previous_free_times.as_deref();
        self.timeline
            .settled(self.previous.as_deref(), free_times, now)
    }

    /// Returns the schedule to which the planned calls lead back; else the one before the last change.
    pub(crate) fn destination(&self) -> Option<ScheduleState> {
        if self.run.travels == 0 {
            return self.previous.as_deref().cloned();
        }
        let now = self.moment();
        let (timeline, from) = if self.has_changed_nothing() {
            (self.settled(&now), now)
        } else {
            let schedule = self.previous.as_deref().cloned();
            (self.timeline.clone(), Moment { schedule, ..now })
        };
        timeline.reached(self.run.travels, from).schedule
    }

    /// Remembers the state before the first change of a run, so that it can be undone.
    pub(in crate::agent) fn remember(&mut self) {
        let is_first = self.has_changed_nothing();
        if is_first {
            let now = self.moment();
            self.timeline = self.settled(&now);
            // What is changed by hand under a card goes nowhere.
            self.timeline.went = self.run.travels * i32::from(self.run.hand.is_none());
            self.timeline.date = self.now.map(DateTime::date);
            self.previous_free_times = Some(now.free_times);
        }
        // The calendar may be loaded between the first change and the second.
        if is_first || self.previous.is_none() {
            self.previous = self.stored.clone().or_else(|| self.original.clone());
        }
    }

    /// Changes what the person prefers in each schedule that the conversation holds.
    pub(in crate::agent) fn prefer(&mut self, wishes: Option<&PlacementPreferences>) {
        self.remember();
        let known = [&mut self.schedule, &mut self.original, &mut self.stored];
        for schedule in known.into_iter().flatten() {
            Arc::make_mut(schedule).preferences = wishes.cloned();
        }
        self.run.stored += 1;
        self.health.checked = false;
    }

    /// Adds the class and its items to each schedule that the conversation holds.
    pub(in crate::agent) fn put_class(&mut self, written: &WrittenClass) {
        self.remember();
        let known = [&mut self.schedule, &mut self.original, &mut self.stored];
        for schedule in known.into_iter().flatten() {
            Arc::make_mut(schedule).put_class(written);
        }
        if !self.task_class_ids.contains(&written.class.id) {
            self.task_class_ids.push(written.class.id);
        }
        self.health.checked = false;
        self.run.upserts = Upserts {
            stored: self.run.upserts.stored + 1,
            last_tried: true,
            last_success: true,
            ..Upserts::default()
        };
    }

    pub(in crate::agent) fn miss_class(&mut self, issues: Vec<String>) {
        self.run.upserts = Upserts {
            stored: self.run.upserts.stored,
            last_tried: true,
            last_success: false,
            last_issues: issues,
            consecutive_failures: self.run.upserts.consecutive_failures + 1,
        };
    }

    /// Replaces the schedule by a newer calendar, and drops all suggestions on the old one. What others
    /// changed is never undone.
    pub(in crate::agent) fn overtaken(&mut self, schedule: Arc<ScheduleState>) {
        self.original = Some(schedule.clone());
        self.schedule = Some(schedule);
        (self.stored, self.previous) = (None, None);
        self.timeline = Timeline::default();
        self.agreed = false;
        self.run.unsaved = false;
        self.health.checked = false;
        self.unpin(ROUGH_BUILD_DONE);
    }

    /// Makes suggested places part of the calendar.
    pub fn keep(&mut self) {
        self.run.unsaved = false;
        self.agreed = true;
        if let Some(schedule) = &mut self.schedule {
            for task in &mut Arc::make_mut(schedule).tasks {
                if task.status == PlacementStatus::Suggested {
                    task.status = PlacementStatus::Existing;
                }
            }
        }
    }
}
