//! Items that change their places.
use std::collections::{BTreeMap, BTreeSet};

use super::{
    super::{
        Understanding,
        lex::Noun,
        when::When,
        wish::{Clause, Role, expand, not_understood, objects},
    },
    PlanResult, Planner, capital, is_ahead,
};
use crate::schedule::{
    Change, ScheduleTask, Slot, WriteRefusal,
    tools::{SwapArgs, swap},
};

impl Planner<'_> {
    /// Says where an item lies that is to move from another day, and that it goes to one place only where
    /// it is wanted again and again.
    fn remark_on_relocation(&mut self, clause: &Clause, items: &BTreeSet<u32>, goes: bool) {
        let [item] = items.iter().copied().collect::<Vec<_>>()[..] else {
            return;
        };
        let name = self.words.names([item]);
        let from = clause.when(Role::From).filter(|when| when.days.is_some());
        let task = self.work.task(item).filter(|task| task.is_placed());
        if let (Some(from), Some(task)) = (from, task)
            && !task.slots.iter().any(|slot| from.meets(slot))
        {
            let lies = self.words.lies(item);
            self.say.push(self.pick(
                format!("{name} does not lie where you say, but here: {lies}."),
                format!("{name}不在你说的那里，而在{lies}。"),
            ));
        }
        if goes && clause.again {
            self.say.push(self.pick(
                format!("{name} is one item, so it gets one place, and is not repeated."),
                format!("{name}是一个事项，只安排一次，不会重复。"),
            ));
        }
    }

    /// Takes the name of a day for the day of the week from which something moves, if the next one of
    /// the name lies in an earlier week: "from next Wednesday to Thursday".
    fn in_week_of(&self, to: &When, from: Option<&When>) -> When {
        let week = |day: &u16| self.work.day(*day).map(|day| day.week);
        let first = |when: &When| when.days.as_ref()?.first().and_then(week);
        let (Some(origin), Some(next)) = (from.and_then(first), first(to)) else {
            return to.clone();
        };
        let named = to.every.iter().flatten().copied();
        let there: BTreeSet<u16> = named.filter(|day| week(day) == Some(origin)).collect();
        if next >= origin || there.is_empty() {
            return to.clone();
        }
        When {
            days: Some(there),
            ..to.clone()
        }
    }

    pub(super) fn relocate(&mut self, clause: &Clause, must_name: bool) -> PlanResult {
        let to = clause.when(Role::To).or_else(|| {
            let mut at = clause.whens.iter().filter(|(_, role)| *role == Role::At);
            let last = at.next_back();
            // "Move the outline on Monday" says where it is; two of them say from and to.
            last.filter(|_| {
                clause.when(Role::From).is_some()
                    || !must_name
                    || at.next().is_some()
                    || !clause.names.is_empty()
                    || !clause.nouns.is_empty()
            })
            .map(|(when, _)| when)
        });
        let from = clause.when(Role::From).or_else(|| {
            clause
                .whens
                .iter()
                .find(|(when, role)| *role == Role::At && Some(when) != to)
                .map(|(when, _)| when)
        });
        let mut items = self.meant(clause)?;
        // "Move what is in the evening to tomorrow": this evening.
        let today = |from: &When| {
            let part = from.days.is_none() && from.starts.is_some();
            let part = part && to.is_some_and(|to| to.days.is_some());
            let days = u16::try_from(self.facts.today).ok().filter(|_| part);
            When {
                days: days.map(|day| BTreeSet::from([day])).or(from.days.clone()),
                ..from.clone()
            }
        };
        let from = from.map(today);
        if let Some(from) = &from {
            let there: BTreeSet<u32> = self.lying(from).into_iter().collect();
            if items.is_empty() && clause.objects().next().is_none() {
                items = there;
            } else if items.len() > 1 {
                items.retain(|id| there.contains(id));
            }
            if items.is_empty() {
                return Err(self.unchanged(
                    &self.pick("nothing that can move lies there", "那里没有可以移动的事项"),
                ));
            }
        }
        // "Everything to next week" is about what does not lie there.
        if let (Some(to), None) = (to, &from)
            && items.is_empty()
            && clause.nouns.contains(&Noun::All)
            && clause.names.is_empty()
        {
            items.extend(self.lying(&When::default()));
            let there = self.lying(to);
            items.retain(|id| !there.contains(id));
        }
        let to = to.map(|to| self.in_week_of(to, from.as_ref()));
        let to = to.as_ref();
        self.remark_on_relocation(clause, &items, to.is_some());
        if items.is_empty() {
            return Err(not_understood(&clause.text, self.facts));
        }
        let bounded =
            clause.whens.iter().any(|(_, role)| {
                matches!(role, Role::Before | Role::By | Role::After | Role::Only)
            }) || clause
                .names
                .iter()
                .any(|(_, role)| matches!(role, Role::Before | Role::After));
        let elsewhere = When::default();
        let to = match to {
            Some(to) => to,
            None if bounded || !self.limits.closed.is_empty() => &elsewhere,
            None => {
                let names = self.words.names(items);
                return Err(self.refuse(
                    format!("Where shall {names} go? Name a day. Nothing was changed."),
                    format!("{names}要挪到哪一天？请说一个日期。没有改动任何内容。"),
                ));
            }
        };
        self.neighbours(clause)?;
        self.send(&items, to)
    }

    /// Limits places by the places of other items: "after the lecture".
    pub(super) fn neighbours(&mut self, clause: &Clause) -> PlanResult {
        for (name, role) in &clause.names {
            let ids: BTreeSet<u32> = expand(name, self.facts)
                .into_iter()
                .chain(name.courses.iter().copied())
                .collect();
            let tasks: Vec<&ScheduleTask> = ids
                .iter()
                .filter_map(|id| self.work.task(*id))
                .filter(|task| task.is_placed())
                .collect();
            let spot = |day: u16, section: u8| When {
                starts: Some(BTreeSet::from([section])),
                ..When::on(day)
            };
            match role {
                Role::Before | Role::By => {
                    let first = tasks
                        .iter()
                        .filter_map(|task| task.start())
                        .filter(|(day, _)| i32::from(*day) >= self.facts.today)
                        .min();
                    let Some((day, section)) = first else {
                        return Err(not_understood(&clause.text, self.facts));
                    };
                    self.limits.before.push(spot(day, section));
                }
                Role::After => {
                    let last = tasks
                        .iter()
                        .filter_map(|task| task.end())
                        .filter(|(day, _)| i32::from(*day) >= self.facts.today)
                        .min();
                    let Some((day, section)) = last else {
                        return Err(not_understood(&clause.text, self.facts));
                    };
                    self.limits.after.push(spot(day, section + 1));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Gives items places within some days and times.
    pub(super) fn send(&mut self, items: &BTreeSet<u32>, to: &When) -> PlanResult {
        let mut order: Vec<u32> = items.iter().copied().collect();
        let key = |id: &u32| {
            self.work
                .task(*id)
                .map(|task| (task.start().is_none(), task.start(), task.ordered()))
        };
        order.sort_by_key(key);
        if let Some(odd) = to.odd.filter(|_| !to.exact) {
            let time = odd.strftime("%H:%M").to_string();
            if to.starts.is_none() {
                return Err(self.unchanged(&self.pick(
                    format!("nothing begins at {time}"),
                    format!("{time} 没有可用的节次"),
                )));
            }
            self.say.push(self.pick(
                format!("No section begins at {time}; the nearest one is used."),
                format!("没有在 {time} 开始的节次，按最接近的来。"),
            ));
        }
        let bounds = [&self.limits.before, &self.limits.by, &self.limits.after];
        let bounded = bounds.iter().any(|bounds| !bounds.is_empty());
        // Later ones first, if they go to a later time, so that the order of a class can be kept.
        let placed = self.in_either_order(&order, |desk, id| {
            let task = desk.task(id)?.clone();
            if task.marks.done {
                return Err(desk.unchanged(&desk.words.refusal(&WriteRefusal::Done(id))));
            }
            let near = match (task.start(), &to.days) {
                (Some((_, start)), Some(days)) => days.first().map(|day| (*day, start)),
                (Some(start), None) => Some(start),
                (None, _) => None,
            };
            // What lies there already stays.
            let lies = |slot: &Slot| to.holds(slot) && desk.admits(slot);
            let mut slots = task.slots.iter();
            let is_there = if to.is_named() {
                slots.any(lies)
            } else {
                bounded && task.is_placed() && slots.all(lies)
            };
            if !is_there {
                return desk.find(id, to, near).map_err(|why| desk.unchanged(&why));
            }
            // It may lie there because of what was wanted before this.
            if items.len() == 1 && desk.facts.schedule.task(id) == Some(&task) {
                let there = desk.words.refusal(&WriteRefusal::AlreadyThere(id));
                return Err(Understanding::Answer(
                    desk.pick(format!("{}.", capital(&there)), format!("{there}。")),
                ));
            }
            Ok(())
        });
        let is_done = |id: &u32| self.work.task(*id).is_some_and(|task| task.marks.done);
        let may_be_rebuilt = order.len() > 1 && !order.iter().any(is_done);
        if placed.is_err() && may_be_rebuilt && self.rebuild_within(&order, to) {
            return Ok(());
        }
        placed
    }

    /// Places items anew within some days and times; false if not all of them fit.
    pub(super) fn rebuild_within(&mut self, items: &[u32], to: &When) -> bool {
        let saved = (self.work.clone(), self.limits.clone());
        for id in items {
            self.work.apply(&Change::Unplace { task: *id });
        }
        self.limits.only.push(to.clone());
        self.build(&items.iter().copied().collect(), None);
        let all = items
            .iter()
            .all(|id| self.work.task(*id).is_some_and(ScheduleTask::is_placed));
        if !all {
            (self.work, self.limits) = saved;
        }
        all
    }

    pub(super) fn swap(&mut self, clause: &Clause) -> PlanResult {
        let items = self.meant_pair(clause)?;
        if let [a, b] = items.as_slice() {
            let args = SwapArgs {
                task_a: *a,
                task_b: *b,
            };
            let made = swap(&self.work, &args, &self.options);
            let made = made.map_err(|refused| self.unchanged(&self.words.refusal(&refused)))?;
            let mut after = self.work.clone();
            for change in &made.changes {
                after.apply(change);
            }
            let late = [*a, *b]
                .iter()
                .filter_map(|id| after.task(*id))
                .flat_map(|task| &task.slots)
                .any(|slot| !is_ahead(slot, self.facts));
            if late {
                return Err(self.unchanged(
                    &self.pick("one of the places is over already", "其中一个时间已经过去"),
                ));
            }
            self.work = after;
            return Ok(());
        }
        // Two days change places.
        let mut days: Vec<u16> = vec![];
        for (when, _) in &clause.whens {
            days.extend(when.days.iter().flatten());
        }
        let [a, b] = days.as_slice() else {
            return Err(self.refuse(
                "Which two shall change places? Name two items, or two days. Nothing was changed.",
                "要互换哪两个？请说出两个事项或两天。没有改动任何内容。",
            ));
        };
        self.swap_days(*a, *b)
    }

    pub(super) fn swap_days(&mut self, a: u16, b: u16) -> PlanResult {
        let moves: Vec<(u32, u16)> = self
            .lying(&When::on(a))
            .into_iter()
            .map(|id| (id, b))
            .chain(self.lying(&When::on(b)).into_iter().map(|id| (id, a)))
            .collect();
        if moves.is_empty() {
            return Err(self.unchanged(&self.pick(
                "nothing that can move lies on these days",
                "这两天没有可以移动的事项",
            )));
        }
        let starts: BTreeMap<u32, u8> = moves
            .iter()
            .filter_map(|(id, _)| Some((*id, self.work.task(*id)?.start()?.1)))
            .collect();
        for (id, _) in &moves {
            self.work.apply(&Change::Unplace { task: *id });
        }
        for (id, day) in &moves {
            let near = starts.get(id).map(|start| (*day, *start));
            if let Err(why) = self.find(*id, &When::on(*day), near) {
                return Err(self.unchanged(&why));
            }
        }
        Ok(())
    }

    /// Returns the two items that change places, in their order.
    pub(super) fn meant_pair(&self, clause: &Clause) -> PlanResult<Vec<u32>> {
        let mut found = vec![];
        for (name, _) in &clause.names {
            let one = Clause {
                names: vec![(name.clone(), Role::At)],
                ..clause.clone()
            };
            let items = objects(&one, self.facts)?;
            if items.len() > 1 {
                let names = self.words.names(items);
                return Err(self.refuse(
                    format!("Which one do you mean: {names}? Nothing was changed."),
                    format!("你指的是哪一个：{names}？没有改动任何内容。"),
                ));
            }
            found.extend(items);
        }
        Ok(found)
    }

    pub(super) fn shift(&mut self, clause: &Clause, later: bool) -> PlanResult {
        let mut items = self.meant(clause)?;
        // "Push everything back by a day", 周三的都往后推一天.
        let of_day = clause.nouns.is_empty() && clause.when(Role::At).is_some();
        let all = clause.nouns.contains(&Noun::All) || of_day;
        if items.is_empty() && clause.names.is_empty() && all {
            let within = clause.when(Role::At).or(clause.when(Role::From));
            items.extend(self.lying(&within.cloned().unwrap_or_default()));
        }
        let at = clause.when(Role::At).filter(|_| clause.amounts.is_empty());
        // "Earlier on Wednesday", of what lies there, means the same day.
        let within = at.filter(|at| {
            let lies = |id: &u32| {
                let task = self.work.task(*id);
                task.is_some_and(|task| task.slots.iter().any(|slot| at.begins(slot)))
            };
            !items.is_empty() && items.iter().all(lies)
        });
        if clause.when(Role::To).is_some() || (at.is_some() && within.is_none()) {
            return self.relocate(clause, false);
        }
        if items.is_empty() {
            return Err(not_understood(&clause.text, self.facts));
        }
        self.limits.only.extend(within.cloned());
        let mut days = 0_i32;
        let mut bare = true;
        for (amount, unit) in &clause.amounts {
            let amount = i32::try_from(*amount).unwrap_or(0);
            match unit {
                Noun::Day => days += amount,
                Noun::Weeks => days += amount * 7,
                Noun::Hour | Noun::Minute | Noun::Section => {
                    return self.shift_sections(&items, amount, *unit, later);
                }
                _ => return Err(not_understood(&clause.text, self.facts)),
            }
            bare = false;
        }
        // "An hour later", "half an hour later".
        if bare && clause.nouns.contains(&Noun::Hour) {
            let (amount, unit) = if clause.nouns.contains(&Noun::Half) {
                (30, Noun::Minute)
            } else {
                (1, Noun::Hour)
            };
            return self.shift_sections(&items, amount, unit, later);
        }
        if bare && clause.nouns.contains(&Noun::Day) {
            (days, bare) = (1, false);
        }
        if bare && (clause.nouns.contains(&Noun::Weeks) || clause.nouns.contains(&Noun::Schedule)) {
            (days, bare) = (7, false);
        }
        let days = if later { days } else { -days };
        let mut order: Vec<u32> = items.into_iter().collect();
        order.sort_by_key(|id| self.work.task(*id).and_then(ScheduleTask::start));
        if later {
            order.reverse();
        }
        self.in_either_order(&order, |desk, id| {
            let Some((day, start)) = desk.task(id)?.start() else {
                return Err(desk.unchanged(&desk.words.refusal(&WriteRefusal::NotPlaced(id))));
            };
            if bare {
                return desk.nearest(id, (day, start), later);
            }
            let target = u16::try_from(i32::from(day) + days)
                .ok()
                .filter(|day| desk.work.day(*day).is_some());
            let Some(target) = target else {
                return Err(desk.unchanged(&desk.outside()));
            };
            desk.find(id, &When::on(target), Some((target, start)))
                .map_err(|why| desk.unchanged(&why))
        })
    }

    /// Places items one after another, or the last one first where an earlier one takes the only place
    /// of a later one.
    fn in_either_order(
        &mut self,
        order: &[u32],
        put: impl Fn(&mut Self, u32) -> PlanResult,
    ) -> PlanResult {
        let saved = (self.work.clone(), self.say.clone());
        let placed = order.iter().try_for_each(|id| put(self, *id));
        if placed.is_ok() || order.len() < 2 {
            return placed;
        }
        (self.work, self.say) = saved.clone();
        let reversed = order.iter().rev().try_for_each(|id| put(self, *id));
        if reversed.is_err() {
            (self.work, self.say) = saved;
        }
        reversed.or(placed)
    }

    pub(super) fn shift_sections(
        &mut self,
        items: &BTreeSet<u32>,
        amount: i32,
        unit: Noun,
        later: bool,
    ) -> PlanResult {
        for id in items {
            let Some((day, start)) = self.task(*id)?.start() else {
                return Err(self.unchanged(&self.words.refusal(&WriteRefusal::NotPlaced(*id))));
            };
            let minutes = match unit {
                Noun::Minute => Some(amount),
                Noun::Hour => Some(amount * 60),
                _ => None,
            };
            let step = self.minutes_between_sections();
            let sections = minutes.map_or(amount, |minutes| (minutes + step / 2) / step);
            let sections = if later { sections } else { -sections };
            let target = u8::try_from(i32::from(start) + sections)
                .ok()
                .filter(|start| (1..=self.work.window.sections.count()).contains(start));
            let duration = self.task(*id)?.duration;
            let spot =
                target.filter(|target| self.admits(&Slot::starting_at(day, *target, duration)));
            let Some(target) = spot else {
                return Err(self.unchanged(&self.pick(
                    "that is outside of the day, or over already",
                    "那个时间超出了当天，或者已经过去",
                )));
            };
            if let Err(refused) = self.put(*id, day, target) {
                return Err(self.unchanged(&self.words.refusal(&refused)));
            }
        }
        Ok(())
    }

    /// Returns the minutes from the beginning of a section to that of the next one.
    fn minutes_between_sections(&self) -> i32 {
        let mut begin = self.facts.sections.begin();
        let minutes = begin.next().zip(begin.next());
        let minutes = minutes.map_or(60, |(first, next)| first.duration_until(next).as_mins());
        i32::try_from(minutes).unwrap_or(60).max(1)
    }

    /// Moves an item to the nearest earlier or later place.
    pub(super) fn nearest(&mut self, id: u32, from: (u16, u8), later: bool) -> PlanResult {
        let duration = self.task(id)?.duration;
        let starts = self.work.window.sections.starts(duration);
        let mut spots: Vec<(u16, u8)> = self
            .work
            .window
            .days
            .iter()
            .flat_map(|day| starts.iter().map(|start| (day.day_index, *start)))
            .filter(|spot| if later { *spot > from } else { *spot < from })
            .collect();
        if !later {
            spots.reverse();
        }
        let mut why = None;
        for (day, start) in spots {
            if !self.admits(&Slot::starting_at(day, start, duration)) {
                continue;
            }
            match self.put(id, day, start) {
                Ok(()) => return Ok(()),
                Err(refused) => {
                    why.get_or_insert_with(|| self.words.refusal(&refused));
                }
            }
        }
        let name = self.name(id);
        let none = if later {
            self.pick(
                format!("there is no later place for {name}"),
                format!("{name}没有更晚的位置"),
            )
        } else {
            self.pick(
                format!("there is no earlier place for {name}"),
                format!("{name}没有更早的位置"),
            )
        };
        Err(self.unchanged(&why.map_or(none.clone(), |why| format!("{none}: {why}"))))
    }
}
