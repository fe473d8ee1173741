//! The earlier states of the plan, to which the person can go back and forth again.
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::FreeTime;
use crate::schedule::{SchedulePatch, ScheduleState};

/// The most requests that can be undone; older ones are forgotten.
const MOST: usize = 20;

/// A state of the plan.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Moment {
    /// The stored schedule, if there is one.
    pub schedule: Option<ScheduleState>,
    /// The times that are kept free.
    pub free_times: Vec<FreeTime>,
}

/// The differences from another state of the plan: whole calendars would be as large as the log.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Step {
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<SchedulePatch>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    free_times: Vec<FreeTime>,
    /// The date of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    date: Option<Date>,
}

/// The requests that can be undone, and those that can be made again.
///
/// The changes of the last one are known only when the next one begins; until then the state before
/// it is kept as a whole.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Timeline {
    /// The steps back, the nearest one last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    past: Vec<Step>,
    /// The steps forth, the nearest one last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    future: Vec<Step>,
    /// The steps that the last request went: back if it is negative, and none for a change.
    pub(super) went: i32,
    /// The date of the last request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) date: Option<Date>,
}

impl Step {
    fn between(from: &Moment, to: &Moment) -> Self {
        let before = from.schedule.as_ref();
        let after = to.schedule.as_ref().or(before);
        let both = before.zip(after);
        Self {
            patch: both.map(|(before, after)| SchedulePatch::between(before, after)),
            free_times: to.free_times.clone(),
            date: None,
        }
    }

    fn apply(&self, moment: &mut Moment) {
        moment.free_times.clone_from(&self.free_times);
        if let (Some(schedule), Some(patch)) = (&mut moment.schedule, &self.patch) {
            patch.apply(schedule);
        }
    }

    /// Returns true if nothing differs in the state to which it leads.
    fn is_none(&self, from: &Moment) -> bool {
        let mut to = from.clone();
        self.apply(&mut to);
        to == *from
    }
}

impl Timeline {
    /// Takes in what the last request made of the state before it.
    fn settle(&mut self, before: Moment, now: &Moment) {
        let mut reached = before;
        for _ in 0..self.went.unsigned_abs() {
            let (from, to) = if self.went < 0 {
                (&mut self.past, &mut self.future)
            } else {
                (&mut self.future, &mut self.past)
            };
            let Some(step) = from.pop() else { break };
            let left = reached.clone();
            step.apply(&mut reached);
            to.push(Step {
                date: step.date,
                ..Step::between(&reached, &left)
            });
        }
        // Of what was shown, a part was refused: the rest of the way is still to go.
        let step = Step {
            date: self.date,
            ..Step::between(now, &reached)
        };
        if self.went == 0 {
            self.future.clear();
        }
        if !step.is_none(now) {
            if self.went > 0 {
                self.future.push(step);
            } else {
                self.past.push(step);
            }
        }
        let oldest = self.past.len().saturating_sub(MOST);
        self.past.drain(..oldest);
        (self.went, self.date) = (0, None);
    }

    /// Returns the timeline with what the last request did, which began with this schedule and these
    /// free times.
    pub(crate) fn settled(
        &self,
        schedule: Option<&ScheduleState>,
        free_times: Option<&[FreeTime]>,
        now: &Moment,
    ) -> Self {
        let mut settled = self.clone();
        if schedule.is_some() || free_times.is_some() {
            let before = Moment {
                schedule: schedule.cloned(),
                free_times: free_times.unwrap_or(&now.free_times).to_vec(),
            };
            settled.settle(before, now);
        }
        settled
    }

    /// Returns true if nothing happened yet.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the number of steps that can be gone back, and forth.
    pub(crate) fn steps(&self) -> (usize, usize) {
        (self.past.len(), self.future.len())
    }

    /// Returns the number of steps back that requests of a date made.
    pub(crate) fn steps_of(&self, date: Date) -> usize {
        let back = self.past.iter().rev();
        back.take_while(|step| step.date == Some(date)).count()
    }

    /// Returns the state that lies some steps from this one: back if they are negative.
    pub(crate) fn reached(&self, steps: i32, mut now: Moment) -> Moment {
        let way = if steps < 0 { &self.past } else { &self.future };
        let count = steps.unsigned_abs() as usize;
        way.iter()
            .rev()
            .take(count)
            .for_each(|step| step.apply(&mut now));
        now
    }
}
