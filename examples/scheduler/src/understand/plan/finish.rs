//! The end of a planning: what differs becomes calls, and what is kept free is remembered.
use serde_json::json;

use super::{
    super::{Beside, Understanding, free_times},
    Planner, call,
};
use crate::{
    agent::FreeTime,
    contract::Call,
    schedule::{
        ScheduleState, differences,
        tools::{ArrangeArgs, Arrangement, PartStart, SwapArgs, arrange, swap},
    },
    tools::ARRANGE,
};

impl Planner<'_> {
    /// Lets the times that are kept free from now on be remembered with a reply.
    fn remembering(&self, reply: Understanding) -> Understanding {
        let before = self.free_before.as_deref();
        let known = before.unwrap_or(self.facts.free_times);
        let Some(times) = free_times::with(known, self.facts, &self.free) else {
            let free_times = before.map(<[FreeTime]>::to_vec);
            return self.with(free_times, reply);
        };
        let new = times.get(known.len()..).unwrap_or_default();
        let new = free_times::listed(new, self.facts).join(self.facts.lang.pick("; ", "；"));
        let told = self.pick(
            format!(
                "I keep {new} free for later requests too, until you say that it can be used again."
            ),
            format!("以后的安排也会空出{new}，直到你说可以安排为止。"),
        );
        let agreed = self.pick(
            format!(
                "If you agree, I keep {new} free for later requests too, until you say that it can be used again."
            ),
            format!("如果你同意，以后的安排也会空出{new}，直到你说可以安排为止。"),
        );
        let join = |text: String, told: &str| match text.as_str() {
            "" => told.to_owned(),
            text => format!("{text}\n{told}"),
        };
        let reply = match reply {
            Understanding::Calls { say, calls } => Understanding::Calls {
                say: join(say, &agreed),
                calls,
            },
            // Nothing moves, and yet something is kept.
            Understanding::Answer(_) => Understanding::Answer(join(self.say.join("\n"), &told)),
            refusal => return refusal,
        };
        self.with(Some(times), reply)
    }

    /// Returns a reply with what holds then.
    fn with(&self, free_times: Option<Vec<FreeTime>>, reply: Understanding) -> Understanding {
        let travels = self.travels;
        if free_times.is_none() && travels == 0 {
            return reply;
        }
        let beside = Beside {
            free_times,
            travels,
        };
        Understanding::With(beside, Box::new(reply))
    }

    /// Ends the planning: the differences become a call, and a refusal of it keeps nothing free.
    pub(super) fn finish(self) -> Understanding {
        let planned = self.planned();
        self.remembering(planned)
    }

    fn planned(&self) -> Understanding {
        let base = &self.facts.schedule;
        let tasks = arrangements(base, &self.work);
        let mut calls = self.before.clone();
        let swapped = self.swapped(&tasks);
        if let Some(call) = swapped {
            calls.push(call);
        } else if !tasks.is_empty() {
            let args = ArrangeArgs { tasks };
            if self.before.is_empty()
                && let Err(refused) = arrange(base, &args, &self.options)
            {
                return self.unchanged(&self.words.refusal(&refused));
            }
            calls.push(call(ARRANGE, json!(args)));
        }
        calls.extend(self.after.clone());
        let mut say = self.say.clone();
        if calls.len() > 1 {
            let several = calls.len();
            say.push(self.pick(
                format!("These are {several} changes. I ask about one after the other; a no ends the rest, too."),
                format!("一共 {several} 处改动，逐个问你；拒绝一处，后面的也不再做。"),
            ));
        }
        let say = say.join("\n");
        if calls.is_empty() {
            let same = self.pick("Nothing was changed.", "没有改动任何内容。");
            return Understanding::Answer(match (say.is_empty(), &self.free_before) {
                (true, _) => self.pick("There is nothing to change.", "没有需要改动的内容。"),
                (false, Some(_)) => say,
                (false, None) if say.contains('\n') => format!("{say}\n{same}"),
                (false, None) => self.pick(format!("{say} {same}"), format!("{say}{same}")),
            });
        }
        Understanding::Calls { say, calls }
    }

    /// Returns two tasks that change places as the call that says so.
    fn swapped(&self, tasks: &[Arrangement]) -> Option<Call> {
        let [a, b] = tasks else { return None };
        let start = |id| self.facts.schedule.task(id)?.start();
        let to = |it: &Arrangement| it.day.zip(it.slot_start);
        let crossed =
            start(a.task_id).is_some() && start(a.task_id) == to(b) && start(b.task_id) == to(a);
        let args = SwapArgs {
            task_a: a.task_id,
            task_b: b.task_id,
        };
        let fits = crossed && swap(self.facts.schedule, &args, &self.options).is_ok();
        fits.then(|| call("swap", json!(args)))
    }
}

/// Returns the new places of what lies elsewhere than before.
fn arrangements(before: &ScheduleState, after: &ScheduleState) -> Vec<Arrangement> {
    let changed = differences(before, after)
        .into_iter()
        .filter(|difference| difference.step.from() != difference.step.to());
    let arranged = changed.map(|difference| {
        let slots = after.task(difference.task).map(|task| task.slots.clone());
        let mut starts = slots.into_iter().flatten().map(|slot| slot.start());
        let (at, rest) = (starts.next(), starts.next());
        Arrangement {
            task_id: difference.task,
            day: at.map(|at| at.0),
            slot_start: at.map(|at| at.1),
            rest: rest.map(|(day, slot_start)| PartStart { day, slot_start }),
        }
    });
    arranged.collect()
}

/// Returns the call that gives everything its new place; none if nothing moved.
pub(super) fn arrangement(before: &ScheduleState, after: &ScheduleState) -> Option<Call> {
    let tasks = arrangements(before, after);
    (!tasks.is_empty()).then(|| call(ARRANGE, json!(ArrangeArgs { tasks })))
}
