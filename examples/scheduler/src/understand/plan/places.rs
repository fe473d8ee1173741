//! Items that get a place, or all of them another.
use std::collections::BTreeSet;

use fugato::state::say;

use super::{
    super::{
        Understanding,
        lex::Noun,
        when::When,
        wish::{Clause, Role, is_open, not_understood},
    },
    PlanResult, Planner, Step,
};
use crate::schedule::{
    Change, ScheduleTask, Slot, Source, Strategy, WriteOptions, refine,
    rough_build::rough_build_within,
};

impl Planner<'_> {
    pub(super) fn place(&mut self, clause: &Clause) -> PlanResult<Step> {
        let items = self.meant(clause)?;
        let whens: Vec<_> = clause
            .whens
            .iter()
            .filter(|(_, role)| matches!(role, Role::At | Role::To))
            .collect();
        if clause.objects().next().is_none() {
            let all = [
                Noun::All,
                Noun::Pending,
                Noun::Schedule,
                Noun::Item,
                Noun::Study,
                Noun::Weeks,
            ]
            .iter()
            .any(|noun| clause.nouns.contains(noun));
            let all = all || clause.again && clause.text.contains('都');
            // "Plan all but Sunday".
            let excepts = |(_, role): &(When, Role)| *role == Role::Except;
            if !all && whens.is_empty() && !clause.whens.iter().any(excepts) {
                return Err(not_understood(&clause.text, self.facts));
            }
            // "Plan my week" means all of it; "plan next week" those days.
            let within = whens.first().map(|(when, _)| when.clone());
            let is_this = within.as_ref().is_none_or(|when| {
                when.is_week
                    && when.days.as_ref().is_some_and(|days| {
                        days.iter().any(|day| i32::from(*day) <= self.facts.today)
                    })
            });
            if is_this {
                return Ok(Step::PlaceAll);
            }
            if let Some(within) = within {
                self.limits.only.push(within);
            }
            self.place_pending(None)?;
            return Ok(Step::Planned);
        }
        self.neighbours(clause)?;
        let is_class = clause.objects().any(|name| !name.classes.is_empty()) && items.len() > 1;
        let pending = self.those(&items, ScheduleTask::is_pending_item);
        let pending: BTreeSet<u32> = pending.into_iter().collect();
        let whole = pending.is_empty() || clause.nouns.contains(&Noun::All);
        if is_class && whole && !whens.is_empty() {
            self.relocate(clause, false)?;
            return Ok(Step::Planned);
        }
        if is_class {
            if pending.is_empty() {
                let names = self.words.names(items.iter().copied());
                return Err(Understanding::Answer(say!(
                    "All of it has a place already: {names}.",
                    "都已经安排好了：{names}。"
                )));
            }
            if let Some((within, _)) = whens.first() {
                self.limits.only.push(within.clone());
            }
            self.place_pending(Some(&pending))?;
            return Ok(Step::Planned);
        }
        if items.is_empty() {
            return Err(not_understood(&clause.text, self.facts));
        }
        let to = whens
            .last()
            .map(|(when, _)| when.clone())
            .unwrap_or_default();
        let bounded = !self.limits.is_empty();
        if !to.is_named() && !bounded && pending.is_empty() {
            let id = items.first().copied().unwrap_or_default();
            let (names, lies) = (self.words.names(items.iter().copied()), self.words.lies(id));
            return Err(Understanding::Answer(say!(
                "{names} has a place already: {lies}. Say where it shall go instead.",
                "{names}已经安排在 {lies}。要改到哪里，请说一下。"
            )));
        }
        self.send(&items, &to)?;
        Ok(Step::Planned)
    }

    /// Places pending items by rule: all, or these.
    pub(super) fn place_pending(&mut self, only: Option<&BTreeSet<u32>>) -> PlanResult {
        let pending: BTreeSet<u32> = self
            .work
            .tasks
            .iter()
            .filter(|task| task.is_pending_item() && !self.limits.kept.contains(&task.state_id))
            .filter(|task| only.is_none_or(|only| only.contains(&task.state_id)))
            .map(|task| task.state_id)
            .collect();
        if pending.is_empty() {
            return Err(Understanding::Answer(say!(
                "Everything has its place already.",
                "所有事项都已安排好。"
            )));
        }
        self.build(&pending, None);
        let left = self.those(&pending, |task| !task.is_placed());
        if left.len() == pending.len() {
            let names = self.words.names(left);
            return Err(self.unchanged(&say!("there is no room for {names}", "{names}排不下")));
        }
        if !left.is_empty() {
            let names = self.words.names(left);
            self.say.push(say!(
                "There is no room for {names}; it stays pending.",
                "{names}排不下，继续待办。"
            ));
        }
        Ok(())
    }

    /// Places pending items of the copy by the strategies of their classes, and those that do not
    /// fit one by one.
    pub(super) fn build(&mut self, pending: &BTreeSet<u32>, strategy: Option<Strategy>) {
        let mut built = self.work.clone();
        let options = WriteOptions::default().closed(self.closed());
        for task in &mut built.tasks {
            if task.is_pending_item() && !pending.contains(&task.state_id) {
                task.marks.done = true;
            }
        }
        if let Some(strategy) = strategy {
            for class in &mut built.task_classes {
                class.strategy = strategy;
            }
        }
        let classes: Vec<u32> = built.task_classes.iter().map(|class| class.id).collect();
        if let Ok(found) = rough_build_within(&built, &classes, &options) {
            for change in &found.changes {
                built.apply(change);
            }
            refine(&mut built, 20, &options);
            let mut moved: Vec<(u16, u8, u32)> = pending
                .iter()
                .filter_map(|id| {
                    built
                        .task(*id)?
                        .start()
                        .map(|(day, start)| (day, start, *id))
                })
                .collect();
            moved.sort_unstable();
            let saved = self.work.clone();
            let fits = moved.iter().all(|(day, start, id)| {
                let duration = self.work.task(*id).map_or(2, |task| task.duration);
                self.admits(&Slot::starting_at(*day, *start, duration))
                    && self.put(*id, *day, *start).is_ok()
            });
            if fits {
                return;
            }
            self.work = saved;
        }
        let mut order: Vec<_> = pending.iter().copied().collect();
        order.sort_by_key(|id| self.work.task(*id).and_then(ScheduleTask::ordered));
        for id in order {
            // What finds no place stays pending, and is named.
            let _ = self.find(id, &When::default(), None);
        }
    }

    pub(super) fn rearrange(&mut self, clause: &Clause) -> PlanResult {
        let items = self.meant(clause)?;
        let within = clause.when(Role::At).cloned();
        let tasks: BTreeSet<u32> = self
            .work
            .tasks
            .iter()
            .filter(|task| task.source == Source::TaskItem && is_open(task.state_id, self.facts))
            .filter(|task| !self.limits.kept.contains(&task.state_id))
            .filter(|task| clause.objects().next().is_none() || items.contains(&task.state_id))
            .filter(|task| {
                within
                    .as_ref()
                    .is_none_or(|when| task.slots.iter().any(|slot| when.meets(slot)))
            })
            .filter(|task| {
                !task
                    .slots
                    .iter()
                    .any(|slot| self.limits.still.iter().any(|when| when.meets(slot)))
            })
            .map(|task| task.state_id)
            .collect();
        if let Some(within) = within {
            self.limits.only.push(within);
        }
        self.again(&tasks, None)
    }

    /// Takes items out and places them anew.
    pub(super) fn again(
        &mut self,
        tasks: &BTreeSet<u32>,
        strategy: Option<Strategy>,
    ) -> PlanResult {
        let saved = self.work.clone();
        for id in tasks {
            self.work.apply(&Change::Unplace { task: *id });
        }
        self.build(tasks, strategy);
        let had_place = |task: &ScheduleTask| {
            let before = saved.task(task.state_id);
            before.is_some_and(ScheduleTask::is_placed)
        };
        let lost = self.those(tasks, |task| !task.is_placed() && had_place(task));
        if !lost.is_empty() {
            let names = self.words.names(lost);
            self.work = saved;
            return Err(self.unchanged(&say!(
                "there would be no room for {names}",
                "{names}会排不下"
            )));
        }
        Ok(())
    }

    pub(super) fn spread(&mut self, clause: &Clause) -> PlanResult {
        let mut items = self.meant(clause)?;
        items.retain(|id| is_open(*id, self.facts));
        if let Some(day) = clause
            .when(Role::From)
            .or(clause.when(Role::At))
            .filter(|when| !when.is_week && items.is_empty())
            .cloned()
        {
            return self.clear(&[day], None);
        }
        if let Some(within) = clause
            .when(Role::At)
            .filter(|when| when.is_week || when.days.as_ref().is_some_and(|days| days.len() > 1))
        {
            self.limits.only.push(within.clone());
        }
        if items.is_empty() {
            items = self
                .work
                .tasks
                .iter()
                .filter(|task| {
                    task.source == Source::TaskItem && is_open(task.state_id, self.facts)
                })
                .map(|task| task.state_id)
                .filter(|id| !self.limits.kept.contains(id))
                .collect();
        }
        self.again(&items, Some(Strategy::Steady))
    }
}
