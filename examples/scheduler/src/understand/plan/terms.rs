//! Terms of items, and preferences: both are written, and what lies against them moves.
use std::collections::{BTreeMap, BTreeSet};

use jiff::{
    ToSpan as _,
    civil::{Date, Time},
};
use serde_json::json;

use super::{
    super::{
        Facts, Understanding,
        names::Ref,
        terms::{NO_RECORD, TermsWish, TermsWishes},
        when::{self, When},
        wish::{expand, is_open, not_understood},
    },
    Limits, PlanResult, Planner, call,
};
use crate::{
    calendar::{Lang, weekday},
    schedule::{
        Change, EventType, PlacementPreferences, ScheduleState, ScheduleTask, Slot,
        tools::{ArrangeArgs, Arrangement, PartStart, arrange},
    },
    tools::{
        EDIT_TASK_CLASS, EditClassArgs, MARK_TASK, PreferenceArgs, SET_PREFERENCES, TermsEdit,
        class_edited,
    },
};

/// The cost of a section from which on an item leaves it.
const LEAVES: u32 = 100;

/// Plans what a sentence about terms or preferences wants.
pub(in super::super) fn terms(said: &TermsWishes, facts: &Facts<'_>) -> Understanding {
    let mut planner = Planner::new(facts, Limits::default());
    let is_alone = said.wishes.len() == 1 && said.left.is_empty() && said.remarks.is_empty();
    for wish in &said.wishes {
        match planner.term(wish, said) {
            Ok(()) => {}
            // What is so already is said, and the rest is done.
            Err(Understanding::Answer(_))
                if matches!(wish, TermsWish::Preferences(_)) && !is_alone => {}
            Err(reply) => {
                if let Some(refusal) = planner.refused(reply) {
                    return refusal;
                }
            }
        }
    }
    planner.say.extend(said.remarks.iter().cloned());
    for clause in &said.left {
        planner.say.push(planner.pick(
            format!("I left out “{clause}”: I cannot hold that."),
            format!("没有采纳“{clause}”：这一点记不下来。"),
        ));
    }
    planner.finish()
}

impl Planner<'_> {
    fn term(&mut self, wish: &TermsWish, said: &TermsWishes) -> PlanResult {
        match wish {
            TermsWish::Aside => Ok(()),
            TermsWish::Terms(names, edit) => self.edit_terms(names, edit),
            TermsWish::Order(first, then) => self.order_terms(first, then),
            TermsWish::Due(name, Some(days)) => self.due_terms(name, days),
            TermsWish::Due(name, None) => {
                let dated = |wish: &TermsWish| matches!(wish, TermsWish::Due(other, Some(_)) if other == name);
                // "It is not due on the 24th, but on the 27th."
                if said.wishes.iter().any(dated) {
                    return Ok(());
                }
                self.undated(name)
            }
            TermsWish::Later(name, days) => self.later_end(name, *days),
            TermsWish::Rest(name, days, left) => self.rest_of(name, days, *left),
            TermsWish::Took(name, minutes, done) => self.took(name, *minutes, *done),
            TermsWish::Parts(name, days) => match said.left.first() {
                Some(clause) => Err(not_understood(clause, self.facts)),
                None => self.in_parts(name, days),
            },
            TermsWish::Stay(name, days) => self.stay(name, days),
            TermsWish::Away(names, days, part) => {
                let items = names.iter().flat_map(|name| expand(name, self.facts));
                let there = When {
                    days: Some(days.clone()),
                    starts: part.map(|part| when::part(part, self.facts)),
                    ..When::default()
                };
                self.clear(&[there], Some(&items.collect()))
            }
            TermsWish::Until(name, days, end) => self.until(name, days, *end),
            TermsWish::Preferences(args) => self.prefer(args),
            TermsWish::PreferredPlaces(args) => self.place_preferred(args),
        }
    }

    /// Says that the time that something took is not kept, and marks as done what is said to be.
    fn took(&mut self, name: &Ref, minutes: u16, done: bool) -> PlanResult {
        let planned = self.words.terms_of(name, self.facts);
        let planned = planned.join(self.facts.lang.pick(" ", ""));
        let no_record = self.pick(NO_RECORD.0, NO_RECORD.1);
        let told = self.pick(
            format!("{no_record} {minutes} minutes are left out. {planned} To change that, say how long it needs."),
            format!("{no_record}没有采纳 {minutes} 分钟。{planned}要改计划的时长，请说它需要多久。"),
        );
        if !done {
            return Err(Understanding::Answer(told));
        }
        self.write_mark(&BTreeSet::from([self.one(name)?]), true)?;
        self.say.push(told);
        Ok(())
    }

    /// Returns the class that is meant as a whole, if one is.
    fn class_of(name: &Ref) -> Option<u32> {
        let class = name.classes.first().copied();
        class.filter(|_| name.classes.len() == 1 && (name.items.is_empty() || !name.exact))
    }

    /// Returns the only open item of some days that a name means, or asks which; no days are any.
    fn one_on(
        &self,
        name: &Ref,
        days: &BTreeSet<u16>,
        also: impl Fn(&ScheduleTask) -> bool,
    ) -> PlanResult<u32> {
        let is_there = |task: &ScheduleTask| {
            let there = task.slots.iter().any(|slot| days.contains(&slot.day));
            !task.marks.done && !task.locked && (days.is_empty() || there) && also(task)
        };
        let found = self.those(&expand(name, self.facts), is_there);
        if let [id] = found.as_slice() {
            return Ok(*id);
        }
        let names = self.words.names(if found.is_empty() {
            expand(name, self.facts).into_iter().collect()
        } else {
            found
        });
        Err(self.refuse(
            format!("Which one do you mean: {names}? Nothing was changed."),
            format!("你指的是哪一个：{names}？没有改动任何内容。"),
        ))
    }

    /// Writes terms of one item.
    fn write_item(&mut self, id: u32, edit: TermsEdit) -> PlanResult {
        let class = self.task(id)?.task_class_id;
        let class = class.ok_or_else(|| not_understood("", self.facts))?;
        let edit = TermsEdit {
            task_id: Some(id),
            ..edit
        };
        self.write_terms(class, vec![edit])
    }

    /// Takes a last date away.
    fn undated(&mut self, name: &Ref) -> PlanResult {
        if let Some(class) = Self::class_of(name) {
            let end = self
                .work
                .class(class)
                .and_then(|class| class.end_date.clone());
            if end.is_none() {
                return Err(self.no_end(name));
            }
            self.after.push(call(
                EDIT_TASK_CLASS,
                json!({ "class_id": class, "end_date": "" }),
            ));
            return Ok(());
        }
        let id = self.one(name)?;
        if self.task(id)?.marks.deadline.is_none() {
            return Err(self.no_end(name));
        }
        self.after
            .push(call(MARK_TASK, json!({ "task_ids": [id], "deadline": "" })));
        Ok(())
    }

    fn no_end(&self, name: &Ref) -> Understanding {
        let names = self.words.names(expand(name, self.facts));
        Understanding::Answer(self.pick(
            format!("There is no last date for {names}."),
            format!("{names}没有截止日期。"),
        ))
    }

    /// Makes a last date later by some days.
    fn later_end(&mut self, name: &Ref, days: i64) -> PlanResult {
        let class = Self::class_of(name);
        let end = match class {
            Some(class) => self
                .work
                .class(class)
                .and_then(|class| class.end_date.clone()),
            None => self.task(self.one(name)?)?.marks.deadline.clone(),
        };
        let Some(end) = end.and_then(|end| end.parse::<Date>().ok()) else {
            return Err(self.no_end(name));
        };
        let end = end.checked_add(days.days()).map(|end| end.to_string());
        let end = end.unwrap_or_default();
        let day = self.work.window.days.iter().find(|day| day.date == end);
        let day = day.map(|day| day.day_index);
        let Some(day) = day else {
            return Err(self.unchanged(&self.outside()));
        };
        self.say
            .push(self.pick("If whoever set the date grants it:", "如果对方同意延期："));
        self.due_terms(name, &BTreeSet::from([day]))
    }

    /// Gives an item that was not finished the length that is left, and a place ahead.
    fn rest_of(&mut self, name: &Ref, days: &BTreeSet<u16>, left: Option<u16>) -> PlanResult {
        let missed = self.facts.now.map(|now| self.work.missed(now));
        let missed = missed.unwrap_or_default();
        let id = self
            .one_on(name, days, |task| missed.contains(&task.state_id))
            .or_else(|_| self.one_on(name, days, ScheduleTask::is_placed))?;
        let length = self.minutes_of(self.task(id)?);
        let left = left.unwrap_or(length / 2);
        if left == 0 || left >= length {
            return Err(self.unchanged(&self.pick(
                format!("it takes {length} minutes in all"),
                format!("它一共才 {length} 分钟"),
            )));
        }
        self.write_item(
            id,
            TermsEdit {
                minutes: Some(left),
                ..TermsEdit::default()
            },
        )?;
        let near = self.task(id)?.start();
        self.find(id, &When::default(), near)
            .map_err(|why| self.unchanged(&why))
    }

    /// Returns the length of a task in minutes.
    fn minutes_of(&self, task: &ScheduleTask) -> u16 {
        let times = self.facts.sections.times(&Slot::new(1, 1, task.duration));
        let sections = times.map_or(0, |(begin, end)| begin.duration_until(end).as_mins());
        let minutes = self.work.minutes(task);
        minutes.unwrap_or_else(|| u16::try_from(sections).unwrap_or_default())
    }

    /// Does an item in two parts, one on each day.
    fn in_parts(&mut self, name: &Ref, days: &BTreeSet<u16>) -> PlanResult {
        let is_rest = |task: &ScheduleTask| {
            let class = self
                .work
                .class_of(task)
                .and_then(|class| class.terms.minutes);
            task.terms.minutes.is_some() && task.terms.minutes < class
        };
        let any = BTreeSet::new();
        let id = self
            .one_on(name, &any, is_rest)
            .or_else(|_| self.one(name))?;
        let none = self.pick("there is no room for two parts there", "那里放不下两部分");
        let Some([long, short]) = self.work.parts(self.task(id)?) else {
            return Err(self.unchanged(&none));
        };
        let starts = |length| self.work.window.sections.starts(length);
        let [Some(first), Some(last)] = [days.first(), days.last()] else {
            return Err(not_understood("", self.facts));
        };
        let mut why = None;
        let rests = starts(short);
        for (at, rest) in starts(long)
            .into_iter()
            .flat_map(|at| rests.iter().map(move |rest| (at, *rest)))
        {
            let slots = [
                Slot::starting_at(*first, at, long),
                Slot::starting_at(*last, rest, short),
            ];
            if !slots.iter().all(|slot| self.admits(slot)) {
                continue;
            }
            let args = ArrangeArgs {
                tasks: vec![Arrangement {
                    task_id: id,
                    day: Some(*first),
                    slot_start: Some(at),
                    rest: Some(PartStart {
                        day: *last,
                        slot_start: rest,
                    }),
                }],
            };
            match arrange(&self.work, &args, &self.options) {
                Ok(made) => {
                    made.changes
                        .iter()
                        .for_each(|change| self.work.apply(change));
                    return Ok(());
                }
                Err(refused) => {
                    why.get_or_insert_with(|| self.words.refusal(&refused));
                }
            }
        }
        Err(self.unchanged(&why.unwrap_or(none)))
    }

    /// Fixes an item where it lies.
    fn stay(&mut self, name: &Ref, days: &BTreeSet<u16>) -> PlanResult {
        let id = self.one_on(name, days, ScheduleTask::is_placed)?;
        let slot = self.task(id)?.slots.first().copied();
        let date = slot
            .and_then(|slot| self.work.day(slot.day))
            .map(|day| day.date.clone());
        let time = slot.and_then(|slot| self.facts.sections.times(&slot));
        let Some((date, (begin, _))) = date.zip(time) else {
            return Err(not_understood("", self.facts));
        };
        let at = format!("{date} {}", begin.strftime("%H:%M"));
        self.write_item(
            id,
            TermsEdit {
                at: Some(at.trim().to_owned()),
                ..TermsEdit::default()
            },
        )
    }

    /// Lets an item last until a time of its day; what lies in its way moves.
    fn until(&mut self, name: &Ref, days: &BTreeSet<u16>, end: Time) -> PlanResult {
        let today = u16::try_from(self.facts.today).into_iter().collect();
        let days = if days.is_empty() { &today } else { days };
        let id = self.one_on(name, days, |task| is_open(task.state_id, self.facts))?;
        let (start, begin) = {
            let slot = self.task(id)?.slots.first().copied();
            let times = slot.and_then(|slot| self.facts.sections.times(&slot));
            let Some((slot, (begin, _))) = slot.zip(times) else {
                return Err(not_understood("", self.facts));
            };
            (slot.start(), begin)
        };
        let minutes = u16::try_from(begin.duration_until(end).as_mins()).unwrap_or_default();
        if minutes == 0 {
            return Err(
                self.unchanged(&self.pick("it would end before it begins", "结束会早于开始"))
            );
        }
        self.write_item(
            id,
            TermsEdit {
                minutes: Some(minutes),
                ..TermsEdit::default()
            },
        )?;
        let wanted = Slot::starting_at(start.0, start.1, self.task(id)?.duration);
        let there = When {
            starts: Some((wanted.slot_start..=wanted.slot_end).collect()),
            ..When::on(wanted.day)
        };
        let mut others = self.lying(&there);
        others.retain(|other| *other != id);
        self.limits.closed.push(there.clone());
        for other in others {
            let near = self.work.task(other).and_then(ScheduleTask::start);
            let found = self.find(other, &When::default(), near);
            found.map_err(|why| self.unchanged(&why))?;
        }
        self.limits.closed.pop();
        self.work.apply(&Change::Unplace { task: id });
        self.put(id, start.0, start.1)
            .map_err(|refused| self.unchanged(&self.words.refusal(&refused)))
    }

    /// Returns the only item that a name means, or asks which.
    fn one(&self, name: &Ref) -> PlanResult<u32> {
        let mut items = if name.exact && !name.items.is_empty() {
            name.items.clone()
        } else {
            expand(name, self.facts)
        };
        if items.len() > 1 {
            let mut open = items.clone();
            open.retain(|id| is_open(*id, self.facts));
            if open.len() == 1 {
                items = open;
            }
        }
        match (items.first(), items.len()) {
            (Some(id), 1) => Ok(*id),
            (None, _) => Err(not_understood("", self.facts)),
            _ => {
                let list = self.words.names(items);
                Err(self.refuse(
                    format!("Which one do you mean: {list}? Nothing was changed."),
                    format!("你指的是哪一个：{list}？没有改动任何内容。"),
                ))
            }
        }
    }

    fn edit_terms(&mut self, names: &[Ref], edit: &TermsEdit) -> PlanResult {
        let mut edits: BTreeMap<u32, Vec<TermsEdit>> = BTreeMap::new();
        let mut touched = BTreeSet::new();
        for name in names {
            let (class, task_id, items) = if let Some(class) = Self::class_of(name) {
                (class, None, expand(name, self.facts))
            } else {
                let id = self.one(name)?;
                let class = self.task(id)?.task_class_id;
                let class = class.ok_or_else(|| not_understood("", self.facts))?;
                (class, Some(id), BTreeSet::from([id]))
            };
            touched.extend(items);
            let edit = TermsEdit {
                task_id,
                not: edit
                    .not
                    .as_ref()
                    .map(|more| self.closed_too(class, task_id, more)),
                ..edit.clone()
            };
            edits.entry(class).or_default().push(edit);
        }
        for (class, terms) in edits {
            self.write_terms(class, terms)?;
        }
        let dated = edit.earliest.is_some() || edit.at.is_some() || edit.not.is_some();
        self.resettle(&touched, dated)
    }

    /// Returns the closed times of an item or class with further ones.
    fn closed_too(&self, class: u32, task: Option<u32>, more: &[String]) -> Vec<String> {
        let terms = match task {
            Some(id) => self.work.task(id).map(|task| &task.terms),
            None => self.work.class(class).map(|class| &class.terms),
        };
        let known = terms.into_iter().flat_map(|terms| &terms.not);
        let known = known.flat_map(|closed| {
            let (from, to) = (closed.from.strftime("%H:%M"), closed.to.strftime("%H:%M"));
            let time = format!("{from}-{to}");
            let days = closed.days_of_week.iter();
            let on = days.map(|day| format!("{} {time}", weekday(Lang::En, *day)));
            let mut texts: Vec<String> = on.collect();
            if texts.is_empty() {
                texts.push(time);
            }
            texts
        });
        let mut all: Vec<String> = known.collect();
        all.extend(more.iter().cloned());
        all
    }

    fn order_terms(&mut self, first: &Ref, then: &Ref) -> PlanResult {
        let (first, then) = (self.edge(first, true)?, self.edge(then, false)?);
        let task = self.task(then)?;
        let class = task.task_class_id;
        let class = class.ok_or_else(|| not_understood("", self.facts))?;
        let mut after = task.terms.after.clone();
        if after.contains(&first) {
            let (task, first) = (self.words.name(then), self.words.name(first));
            let (task, first) = (task.unwrap_or_default(), first.unwrap_or_default());
            return Err(Understanding::Answer(self.pick(
                format!("{task} comes after {first} already."),
                format!("{task}本来就在{first}之后。"),
            )));
        }
        after.push(first);
        let edit = TermsEdit {
            task_id: Some(then),
            after: Some(after),
            ..TermsEdit::default()
        };
        self.write_terms(class, vec![edit])?;
        self.resettle(&BTreeSet::from([then]), false)
    }

    /// Returns the item that is meant, or the last or the first open one of a class.
    fn edge(&self, name: &Ref, last: bool) -> PlanResult<u32> {
        if Self::class_of(name).is_none() {
            return self.one(name);
        }
        let mut items = self.those(&expand(name, self.facts), |task| !task.marks.done);
        items.sort_by_key(|id| self.work.task(*id).and_then(ScheduleTask::ordered));
        let item = if last { items.last() } else { items.first() };
        item.copied().ok_or_else(|| not_understood("", self.facts))
    }

    fn due_terms(&mut self, name: &Ref, days: &BTreeSet<u16>) -> PlanResult {
        let classes: BTreeSet<u32> = Self::class_of(name).into_iter().collect();
        let items = if classes.is_empty() {
            BTreeSet::from([self.one(name)?])
        } else {
            let mut items = expand(name, self.facts);
            items.retain(|id| is_open(*id, self.facts));
            items
        };
        let day = days.last().copied();
        self.due(&items, &classes, day)
    }

    /// Writes terms into a class of the copy, and adds the call that does.
    pub(super) fn write_terms(&mut self, class: u32, terms: Vec<TermsEdit>) -> PlanResult {
        let args = EditClassArgs {
            class_id: class,
            terms,
            ..EditClassArgs::default()
        };
        let write = class_edited(&self.work, &args);
        let written = write.and_then(|write| write.resolve(&self.work).map_err(|it| it.join("; ")));
        let written = written.map_err(|issue| self.unchanged(&issue))?;
        self.work.put_class(&written);
        let terms = &args.terms;
        self.before.push(call(
            EDIT_TASK_CLASS,
            json!({ "class_id": class, "terms": terms }),
        ));
        Ok(())
    }

    /// Returns true if an item may stay where it is.
    fn may_stay(&self, task: &ScheduleTask) -> bool {
        let [slot] = task.slots.as_slice() else {
            return true;
        };
        let args = ArrangeArgs {
            tasks: vec![Arrangement {
                task_id: task.state_id,
                day: Some(slot.day),
                slot_start: Some(slot.slot_start),
                rest: None,
            }],
        };
        let options = self.options.clone().existing_may_move(true);
        slot.sections() == task.duration && arrange(&self.work, &args, &options).is_ok()
    }

    /// Gives items that may not stay where they are other places, near their own; those that were
    /// missed, too, if `missed` is true.
    fn resettle(&mut self, touched: &BTreeSet<u32>, missed: bool) -> PlanResult {
        let mut out = self.those(touched, |task| task.is_placed() && !self.may_stay(task));
        let over = self.facts.now.filter(|_| missed);
        let over = over.map(|now| self.work.missed(now)).unwrap_or_default();
        out.retain(|id| is_open(*id, self.facts) || over.contains(id));
        if out.is_empty() {
            return Ok(());
        }
        out.sort_by_key(|id| self.work.task(*id).and_then(ScheduleTask::start));
        let saved = self.work.clone();
        for id in &out {
            self.work.apply(&Change::Unplace { task: *id });
        }
        let near = |id: &u32| saved.task(*id).and_then(ScheduleTask::start);
        let mut fits = out
            .iter()
            .all(|id| self.find(*id, &When::default(), near(id)).is_ok());
        if !fits {
            // The followers in their classes make room.
            self.work = saved.clone();
            let classes: BTreeSet<Option<u32>> = out
                .iter()
                .filter_map(|id| Some(self.work.task(*id)?.task_class_id))
                .collect();
            let tasks = self.work.tasks.iter().filter(|task| {
                task.task_class_id.is_some()
                    && classes.contains(&task.task_class_id)
                    && task.is_placed()
                    && is_open(task.state_id, self.facts)
            });
            let row: Vec<u32> = tasks.map(|task| task.state_id).collect();
            fits = self.in_a_row(&row, &saved);
        }
        if fits {
            return Ok(());
        }
        self.work = saved;
        let names = self.words.names(out);
        Err(self.unchanged(&self.pick(
            format!("there would be no room for {names}"),
            format!("{names}会排不下"),
        )))
    }

    /// Places items anew in the order of their class, each near its old place.
    fn in_a_row(&mut self, row: &[u32], before: &ScheduleState) -> bool {
        let mut row = row.to_vec();
        row.sort_by_key(|id| self.work.task(*id).and_then(ScheduleTask::ordered));
        for id in &row {
            self.work.apply(&Change::Unplace { task: *id });
        }
        row.iter().all(|id| {
            let near = before.task(*id).and_then(ScheduleTask::start);
            self.find(*id, &When::default(), near).is_ok()
        })
    }

    /// Writes preferences; what lies where the person would not have it moves, if it can.
    pub(super) fn prefer(&mut self, args: &PreferenceArgs) -> PlanResult {
        let before = self.work.preferences.clone();
        let after = args
            .applied(&self.work)
            .map_err(|issue| self.unchanged(&issue))?;
        let new = self.words.preferred_anew(before.as_ref(), after.as_ref());
        if new.is_empty() || before == after {
            let lines = self.words.preferences(before.as_ref());
            let lines = lines.join("\n- ");
            return Err(Understanding::Answer(self.pick(
                format!("That is so already:\n- {lines}"),
                format!("已经是这样了：\n- {lines}"),
            )));
        }
        self.work.preferences.clone_from(&after);
        self.before.push(call(SET_PREFERENCES, json!(args)));
        if let Some(after) = &after {
            self.leave(after);
            self.say_costlier(before.as_ref(), after);
        }
        Ok(())
    }

    /// Writes preferences, unless they are so already, and places what is pending by them.
    fn place_preferred(&mut self, args: &PreferenceArgs) -> PlanResult {
        match self.prefer(args) {
            Ok(()) | Err(Understanding::Answer(_)) => {}
            Err(refusal) => return Err(refusal),
        }
        if self.work.tasks.iter().any(ScheduleTask::is_pending_item) {
            self.place_pending(None)?;
        }
        Ok(())
    }

    /// Names what still lies where the person would rather not have it, and the days beyond the
    /// limit.
    fn say_costlier(
        &mut self,
        before: Option<&PlacementPreferences>,
        after: &PlacementPreferences,
    ) {
        let cost = |wishes: Option<&PlacementPreferences>, slot: &Slot| {
            let day = self.work.day(slot.day).map_or(1, |day| day.day_of_week);
            let sections = slot.slot_start..=slot.slot_end;
            let costs = sections.map(|section| wishes.map_or(0, |it| it.cost(day, section)));
            costs.sum::<u32>()
        };
        let dearer = |task: &ScheduleTask| {
            let dearer = |slot: &Slot| cost(Some(after), slot) > cost(before, slot);
            task.event_type == EventType::Task
                && is_open(task.state_id, self.facts)
                && task.slots.iter().any(dearer)
        };
        let all: Vec<u32> = self.work.tasks.iter().map(|task| task.state_id).collect();
        let there = self.those(&all, dearer);
        if !there.is_empty() {
            let there = self.listed(&there);
            self.say.push(self.pick(
                format!("Still at such a time: {there}."),
                format!("仍在这样的时间：{there}。"),
            ));
        }
        let limit = u32::from(after.daily_limit);
        if limit == 0 || before.is_some_and(|before| before.daily_limit == after.daily_limit) {
            return;
        }
        let sections = |day: u16| {
            let tasks = self.work.tasks.iter();
            let mine = tasks.filter(|task| task.event_type == EventType::Task);
            let there = mine
                .flat_map(|task| &task.slots)
                .filter(|slot| slot.day == day);
            there.map(|slot| u32::from(slot.sections())).sum::<u32>()
        };
        let days = self.facts.days_ahead().map(|day| day.day_index);
        let full = days.filter(|day| sections(*day) > limit);
        let full: Vec<String> = full.filter_map(|day| self.words.day(day)).collect();
        if !full.is_empty() {
            let full = full.join(self.facts.lang.pick(", ", "、"));
            self.say.push(self.pick(
                format!("More than that lies on {full} now; “spread …” or “move …” changes it."),
                format!("{full}现在超过了这个上限，可以说“把……分散开”或“把……挪到……”。"),
            ));
        }
    }

    /// Moves items out of sections that the person would avoid.
    fn leave(&mut self, wishes: &PlacementPreferences) {
        let costly = |day: u8| {
            let sections = 1..=self.work.window.sections.count();
            let costly = sections.filter(|section| wishes.cost(day, *section) >= LEAVES);
            costly.collect::<BTreeSet<u8>>()
        };
        let days = self.work.window.days.iter();
        let closed: Vec<When> = days
            .map(|day| When {
                starts: Some(costly(day.day_of_week)),
                ..When::on(day.day_index)
            })
            .collect();
        let mut there: Vec<u32> = closed.iter().flat_map(|when| self.lying(when)).collect();
        self.limits.closed.extend(closed);
        // The last of a class goes first, so that those before it have room to follow.
        there.reverse();
        there.dedup();
        for id in there {
            let near = self.work.task(id).and_then(ScheduleTask::start);
            // What has no other place stays: it is only rather not wanted there.
            let _ = self.find(id, &When::default(), near);
        }
    }
}
