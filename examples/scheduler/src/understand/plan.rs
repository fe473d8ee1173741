//! From what a person wants to the calls that reach it. Everything is tried on a copy first, so a
//! card never offers what the tools would refuse.
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::{
    Facts, Understanding,
    lex::{Noun, Verb},
    when::{self, When},
    wish::{Clause, Role, expand, is_open, not_understood, objects},
    words::Words,
};
use crate::{
    contract::Call,
    schedule::{
        Board, Change, ClassItem, ClassWrite, EventType, PlacementStatus, ScheduleState,
        ScheduleTask, Slot, Source, Strategy, WriteOptions, WriteRefusal, differences, refine,
        rough_build::rough_build,
        tools::{
            ArrangeArgs, Arrangement, MoveArgs, PlaceArgs, SwapArgs, arrange, move_task, place,
            swap,
        },
    },
    tools::{ARRANGE, EDIT_TASK_CLASS, MARK_TASK},
};

/// What a wish must not touch.
#[derive(Debug, Clone, Default)]
pub(super) struct Limits {
    /// Days and times to which nothing goes.
    pub(super) closed: Vec<When>,
    /// Days and times from which nothing goes away, either.
    pub(super) still: Vec<When>,
    /// Days and times outside of which nothing goes.
    pub(super) only: Vec<When>,
    pub(super) before: Vec<When>,
    pub(super) by: Vec<When>,
    pub(super) after: Vec<When>,
    /// Items that stay as they are.
    pub(super) kept: BTreeSet<u32>,
}

impl Limits {
    fn admit(&self, slot: &Slot) -> bool {
        let first = |when: &When| when.days.as_ref().and_then(|days| days.first().copied());
        let last = |when: &When| when.days.as_ref().and_then(|days| days.last().copied());
        let start = |when: &When| {
            when.starts
                .as_ref()
                .and_then(|starts| starts.first().copied())
        };
        let earlier = |when: &When, inclusive: bool| match (first(when), last(when), start(when)) {
            (Some(first), _, Some(start)) => {
                (slot.day, slot.slot_end) < (first, start) || slot.day < first
            }
            (Some(_), Some(last), None) if inclusive => slot.day <= last,
            (Some(first), ..) => slot.day < first,
            (None, _, Some(start)) => slot.slot_end < start,
            _ => true,
        };
        let later = |when: &When| match (last(when), start(when)) {
            (Some(day), Some(start)) => {
                slot.day > day || slot.day == day && slot.slot_start >= start
            }
            (Some(day), None) => slot.day > day,
            (None, Some(start)) => slot.slot_start >= start,
            _ => true,
        };
        !self.closed.iter().any(|when| when.meets(slot))
            && (self.only.is_empty() || self.only.iter().any(|when| when.begins(slot)))
            && self.before.iter().all(|when| earlier(when, false))
            && self.by.iter().all(|when| earlier(when, true))
            && self.after.iter().all(later)
    }

    fn is_empty(&self) -> bool {
        self.closed.is_empty()
            && self.only.is_empty()
            && self.before.is_empty()
            && self.by.is_empty()
            && self.after.is_empty()
            && self.kept.is_empty()
    }
}

/// Returns true if a slot has not begun.
pub(super) fn is_ahead(slot: &Slot, facts: &Facts<'_>) -> bool {
    let day = i32::from(slot.day);
    if day != facts.today {
        return day > facts.today;
    }
    let date = facts
        .schedule
        .day(slot.day)
        .and_then(|day| day.date.parse().ok());
    match (facts.now, date, when::begin(slot.slot_start, facts)) {
        (Some(now), Some(date), Some(begin)) if now.date() == date => now.time() <= begin,
        _ => true,
    }
}

/// Plans what several clauses want, one after another on the same copy.
pub(super) fn plan(wishes: &[Clause], limits: &Limits, facts: &Facts<'_>) -> Understanding {
    let mut desk = Desk::new(facts, limits.clone());
    let mut place_all = 0;
    for wish in wishes {
        match desk.wish(wish) {
            Ok(Step::Planned) => {}
            Ok(Step::PlaceAll) => place_all += 1,
            Err(reply) => return reply,
        }
    }
    if place_all > 0 && place_all == wishes.len() && limits.is_empty() && desk.limits.is_empty() {
        return Understanding::PlaceAll;
    }
    if place_all > 0
        && let Err(reply) = desk.place_pending(None)
    {
        return reply;
    }
    desk.finish()
}

/// Plans what only says what must not be: those days are freed.
pub(super) fn limits_alone(clauses: &[Clause], facts: &Facts<'_>) -> Understanding {
    let mut desk = Desk::new(facts, Limits::default());
    for clause in clauses {
        if let Err(reply) = desk.wish(clause) {
            return reply;
        }
    }
    desk.finish()
}

/// Plans the placing of everything pending.
pub(crate) fn place_pending(facts: &Facts<'_>) -> Understanding {
    let mut desk = Desk::new(facts, Limits::default());
    match desk.place_pending(None) {
        Ok(()) => desk.finish(),
        Err(reply) => reply,
    }
}

/// Returns a schedule in which everything that has begun is taken, so that nothing is placed there.
pub(crate) fn ahead_only(facts: &Facts<'_>) -> ScheduleState {
    Desk::new(facts, Limits::default()).walled()
}

enum Step {
    Planned,
    PlaceAll,
}

struct Desk<'a> {
    facts: &'a Facts<'a>,
    words: Words<'a>,
    work: ScheduleState,
    options: WriteOptions,
    limits: Limits,
    /// Calls besides those that give places.
    before: Vec<Call>,
    after: Vec<Call>,
    say: Vec<String>,
}

type Planned<T = ()> = Result<T, Understanding>;

impl<'a> Desk<'a> {
    fn new(facts: &'a Facts<'a>, limits: Limits) -> Self {
        Self {
            facts,
            words: Words::of(facts),
            work: facts.schedule.clone(),
            options: WriteOptions::default().existing_may_move(facts.existing_may_move),
            limits,
            before: vec![],
            after: vec![],
            say: vec![],
        }
    }

    fn pick(&self, en: impl Into<String>, zh: impl Into<String>) -> String {
        self.facts.lang.pick(en.into(), zh.into())
    }

    fn refuse(&self, en: impl Into<String>, zh: impl Into<String>) -> Understanding {
        Understanding::Refusal(self.pick(en, zh))
    }

    fn unchanged(&self, reason: &str) -> Understanding {
        self.refuse(
            format!("{}. Nothing was changed.", capital(reason)),
            format!("{reason}。没有改动任何内容。"),
        )
    }

    /// Says that a day is not planned here, and which days are.
    fn outside(&self) -> String {
        let days = &self.facts.schedule.window.days;
        let ends = days.first().zip(days.last());
        let (first, last) = ends.map_or(("", ""), |(first, last)| {
            (first.date.as_str(), last.date.as_str())
        });
        self.pick(
            format!("that day is not among the days of this schedule, {first} to {last}"),
            format!("那一天不在这份日程的范围内（{first} 至 {last}）"),
        )
    }

    /// Plans one wish.
    fn wish(&mut self, clause: &Clause) -> Planned<Step> {
        if let Some(part) = clause.unknown.first().filter(|_| !clause.has(Verb::Add)) {
            return Err(not_understood(part, self.facts));
        }
        if let Some(quoted) = clause.quoted.first().filter(|_| !clause.has(Verb::Add)) {
            return Err(not_understood(quoted, self.facts));
        }
        if clause
            .whens
            .iter()
            .any(|(when, _)| when.days.as_ref().is_some_and(BTreeSet::is_empty))
        {
            return Err(self.unchanged(&self.outside()));
        }
        self.take_limits(clause);
        let verb = main_verb(clause);
        match verb {
            Some((Verb::Undo, false)) => self.undo(),
            Some((Verb::Undone, _)) => self.mark(clause, false),
            Some((Verb::Done, not)) => self.done(clause, not),
            Some((Verb::Swap, false)) => self.swap(clause),
            Some((Verb::Deadline, false)) => self.deadline(clause),
            Some((Verb::Add, false)) => self.add(clause),
            Some((Verb::Delete, false)) => self.delete(clause),
            Some((Verb::Cancel, false)) => self.cancel(clause),
            Some((Verb::Busy | Verb::Free, false)) => self.free(clause),
            Some((Verb::Rearrange, false)) => self.rearrange(clause),
            Some((Verb::Spread, false)) => self.spread(clause),
            Some((Verb::Earlier, false)) => self.shift(clause, false),
            Some((Verb::Later, false)) => self.shift(clause, true),
            Some((Verb::Move, false)) => self.relocate(clause, true),
            Some((Verb::Place, false)) => return self.place(clause),
            Some((Verb::Place | Verb::Study | Verb::Move | Verb::Add, true)) => {
                self.keep_away(clause)
            }
            Some((Verb::Study, false)) if !clause.names.is_empty() => return self.place(clause),
            Some((_, true) | (Verb::Keep, _)) => self.keep(clause),
            None if clause.is_negated
                || clause.whens.iter().any(|(_, role)| *role == Role::Not) =>
            {
                self.keep_away(clause)
            }
            None if clause.objects().next().is_some()
                && (clause.when(Role::To).is_some() || clause.when(Role::At).is_some()) =>
            {
                self.relocate(clause, true)
            }
            None if clause.nouns.contains(&Noun::Off) && !clause.whens.is_empty() => {
                self.free(clause)
            }
            _ => Err(not_understood(&clause.text, self.facts)),
        }?;
        Ok(Step::Planned)
    }

    /// Takes over the limits that a wish itself has.
    fn take_limits(&mut self, clause: &Clause) {
        for (when, role) in &clause.whens {
            match role {
                Role::Not if main_verb(clause).is_some() => self.limits.closed.push(when.clone()),
                Role::Only => self.limits.only.push(when.clone()),
                Role::Before if !clause.has(Verb::Deadline) => {
                    self.limits.before.push(when.clone());
                }
                Role::By if !clause.has(Verb::Deadline) => self.limits.by.push(when.clone()),
                Role::After => self.limits.after.push(when.clone()),
                _ => {}
            }
        }
        for (name, role) in &clause.names {
            if *role == Role::Not && main_verb(clause).is_some_and(|(_, not)| !not) {
                self.limits.kept.extend(expand(name, self.facts));
            }
        }
    }

    /// Returns true if nothing forbids this place.
    fn admits(&self, slot: &Slot) -> bool {
        is_ahead(slot, self.facts) && self.limits.admit(slot)
    }

    /// Gives a task this place on the copy.
    fn put(&mut self, id: u32, day: u16, start: u8) -> Result<(), WriteRefusal> {
        let placed = self.work.task(id).is_some_and(ScheduleTask::is_placed);
        let made = if placed {
            let args = MoveArgs {
                task_id: id,
                new_day: day,
                new_slot_start: start,
            };
            move_task(&self.work, &args, &self.options)?
        } else {
            let args = PlaceArgs {
                task_id: id,
                day,
                slot_start: start,
            };
            place(&self.work, &args, &self.options)?
        };
        for change in &made.changes {
            self.work.apply(change);
        }
        Ok(())
    }

    fn task(&self, id: u32) -> Planned<&ScheduleTask> {
        self.work
            .task(id)
            .ok_or_else(|| not_understood("", self.facts))
    }

    /// Gives a task the best place within these days and times; the one nearest to `near`.
    fn find(&mut self, id: u32, within: &When, near: Option<(u16, u8)>) -> Result<(), String> {
        let Some(task) = self.work.task(id) else {
            return Ok(());
        };
        let (duration, class) = (task.duration, task.task_class_id);
        let days: Vec<u16> = self
            .work
            .window
            .days
            .iter()
            .map(|day| day.day_index)
            .filter(|day| within.days.as_ref().is_none_or(|days| days.contains(day)))
            .collect();
        let board = Board::new(&self.work);
        let load = |day: u16| {
            let there = board
                .on_day(day)
                .filter(|other| other.state_id != id && other.event_type == EventType::Task);
            let there: Vec<_> = there.collect();
            let same = there.iter().any(|other| other.task_class_id == class);
            u32::try_from(there.len()).unwrap_or(9) * 3 + if same { 8 } else { 0 }
        };
        let mut spots: Vec<(u32, u16, u8)> = vec![];
        for day in days {
            for start in 1..=12_u8 {
                let aligned = duration != 2 || start % 2 == 1;
                if !(aligned || within.exact) || !within.begins(&Slot::new(day, start, start)) {
                    continue;
                }
                let cost = match near {
                    Some((d, s)) => {
                        let far = u32::from(d.abs_diff(day)) * 20 + u32::from(s.abs_diff(start));
                        // Of two that are equally far the later one.
                        far * 2
                            + u32::from((day, start) < (d, s))
                            + if within.days.is_some() { load(day) } else { 0 }
                    }
                    None => {
                        load(day)
                            + u32::from(day)
                            + if start > 8 { 6 } else { 0 }
                            + u32::from(start)
                    }
                };
                spots.push((cost, day, start));
            }
        }
        drop(board);
        spots.sort_unstable();
        let mut why: Option<String> = None;
        let mut past = false;
        for (_, day, start) in spots {
            let slot = Slot::starting_at(day, start, duration);
            if !self.admits(&slot) {
                past |= !is_ahead(&slot, self.facts);
                continue;
            }
            match self.put(id, day, start) {
                Ok(()) => return Ok(()),
                Err(refused) => {
                    why.get_or_insert_with(|| self.words.refusal(&refused));
                }
            }
        }
        let name = self.words.name(id).unwrap_or_default();
        let none = self.pick(
            format!("there is no free place for {name} there"),
            format!("{name}在那里没有空位"),
        );
        let over = self.pick("that time is over already", "那个时间已经过去了");
        Err(match why {
            Some(why) => self.pick(format!("{none}: {why}"), format!("{none}：{why}")),
            None if past => over,
            None => none,
        })
    }

    /// Ends the planning: the differences become a call.
    fn finish(self) -> Understanding {
        let base = &self.facts.schedule;
        let changed = differences(base, &self.work);
        let tasks: Vec<Arrangement> = changed
            .iter()
            .map(|difference| {
                let at = difference.step.to().and_then(|to| to.sections.first());
                Arrangement {
                    task_id: difference.task,
                    day: at.map(|at| at.day),
                    slot_start: at.map(|at| at.section),
                }
            })
            .collect();
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
        let say = self.say.join("\n");
        if calls.is_empty() {
            let nothing = self.pick("There is nothing to change.", "没有需要改动的内容。");
            let text = if say.is_empty() { nothing } else { say };
            return Understanding::Answer(text);
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

    /// Returns the items that are meant, or asks which.
    fn meant(&self, clause: &Clause) -> Planned<BTreeSet<u32>> {
        let mut found = objects(clause, self.facts)?;
        let all = clause.nouns.contains(&Noun::All) || clause.nouns.contains(&Noun::Pending);
        if found.is_empty()
            && clause.nouns.contains(&Noun::It)
            && !all
            && clause.objects().next().is_none()
        {
            return Err(self.refuse(
                "Which item do you mean? Say its name. Nothing was changed.",
                "你指的是哪一项？请说出名称。没有改动任何内容。",
            ));
        }
        found.retain(|id| !self.stays(*id));
        Ok(found)
    }

    /// Returns true if a limit keeps an item where it is.
    fn stays(&self, id: u32) -> bool {
        let still = |slot: &Slot| self.limits.still.iter().any(|when| when.meets(slot));
        self.limits.kept.contains(&id)
            || self
                .work
                .task(id)
                .is_some_and(|task| task.slots.iter().any(still))
    }

    /// Returns the open items that lie in some days and times.
    fn lying(&self, within: &When) -> Vec<u32> {
        let tasks = self.work.tasks.iter();
        let there = tasks.filter(|task| {
            task.event_type == EventType::Task
                && is_open(task.state_id, self.facts)
                && !self.stays(task.state_id)
                && task.slots.iter().any(|slot| within.meets(slot))
        });
        let mut there: Vec<_> = there.map(|task| (task.start(), task.state_id)).collect();
        there.sort_unstable();
        there.into_iter().map(|(_, id)| id).collect()
    }

    // The wishes.

    fn relocate(&mut self, clause: &Clause, must_name: bool) -> Planned {
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
        if let Some(from) = from {
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
    fn neighbours(&mut self, clause: &Clause) -> Planned {
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
                days: Some(BTreeSet::from([day])),
                starts: Some(BTreeSet::from([section])),
                ..When::default()
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
    fn send(&mut self, items: &BTreeSet<u32>, to: &When) -> Planned {
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
        // Later ones first, if they go to a later time, so that the order of a class can be kept.
        let mut failed: Option<String> = None;
        for attempt in [false, true] {
            let saved = (self.work.clone(), self.say.clone());
            let mut ids = order.clone();
            if attempt {
                ids.reverse();
            }
            failed = None;
            for id in ids {
                let task = self.task(id)?.clone();
                if task.marks.done {
                    return Err(self.unchanged(&self.words.refusal(&WriteRefusal::Done(id))));
                }
                let near = match (task.start(), &to.days) {
                    (Some((_, start)), Some(days)) => days.first().map(|day| (*day, start)),
                    (Some(start), None) => Some(start),
                    (None, _) => None,
                };
                // What lies there already stays.
                if task
                    .slots
                    .iter()
                    .any(|slot| to.is_named() && to.begins(slot) && self.admits(slot))
                {
                    if items.len() == 1 {
                        return Err(Understanding::Answer(format!(
                            "{}.",
                            capital(&self.words.refusal(&WriteRefusal::AlreadyThere(id)))
                        )));
                    }
                    continue;
                }
                if let Err(why) = self.find(id, to, near) {
                    failed = Some(why);
                    break;
                }
            }
            if failed.is_none() {
                return Ok(());
            }
            (self.work, self.say) = saved;
        }
        if order.len() > 1 && self.rebuild_within(&order, to) {
            return Ok(());
        }
        Err(self.unchanged(&failed.unwrap_or_default()))
    }

    /// Places items anew within some days and times; false if not all of them fit.
    fn rebuild_within(&mut self, items: &[u32], to: &When) -> bool {
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

    fn place(&mut self, clause: &Clause) -> Planned<Step> {
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
            if !all && whens.is_empty() {
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
        let pending: BTreeSet<u32> = items
            .iter()
            .copied()
            .filter(|id| {
                self.work
                    .task(*id)
                    .is_some_and(ScheduleTask::is_pending_item)
            })
            .collect();
        let whole = pending.is_empty() || clause.nouns.contains(&Noun::All);
        if is_class && whole && !whens.is_empty() {
            self.relocate(clause, false)?;
            return Ok(Step::Planned);
        }
        if is_class {
            if pending.is_empty() {
                let names = self.words.names(items.iter().copied());
                return Err(Understanding::Answer(self.pick(
                    format!("All of it has a place already: {names}."),
                    format!("都已经安排好了：{names}。"),
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
            return Err(Understanding::Answer(self.pick(
                format!("{names} has a place already: {lies}. Say where it shall go instead."),
                format!("{names}已经安排在 {lies}。要改到哪里，请说一下。"),
            )));
        }
        self.send(&items, &to)?;
        Ok(Step::Planned)
    }

    /// Places pending items by rule: all, or these.
    fn place_pending(&mut self, only: Option<&BTreeSet<u32>>) -> Planned {
        let pending: BTreeSet<u32> = self
            .work
            .tasks
            .iter()
            .filter(|task| task.is_pending_item() && !self.limits.kept.contains(&task.state_id))
            .filter(|task| only.is_none_or(|only| only.contains(&task.state_id)))
            .map(|task| task.state_id)
            .collect();
        if pending.is_empty() {
            return Err(Understanding::Answer(self.pick(
                "Everything has its place already; nothing was changed.",
                "所有事项都已安排好，没有改动任何内容。",
            )));
        }
        self.build(&pending, None);
        let left: Vec<u32> = pending
            .iter()
            .copied()
            .filter(|id| self.work.task(*id).is_some_and(|task| !task.is_placed()))
            .collect();
        if left.len() == pending.len() {
            let names = self.words.names(left);
            return Err(self.unchanged(&self.pick(
                format!("there is no room for {names}"),
                format!("{names}排不下"),
            )));
        }
        if !left.is_empty() {
            let names = self.words.names(left);
            self.say.push(self.pick(
                format!("There is no room for {names}; it stays pending."),
                format!("{names}排不下，继续待办。"),
            ));
        }
        Ok(())
    }

    /// Places pending items of the copy by the strategies of their classes, and those that do not
    /// fit one by one.
    fn build(&mut self, pending: &BTreeSet<u32>, strategy: Option<Strategy>) {
        let mut walled = self.walled();
        for task in &mut walled.tasks {
            if task.is_pending_item() && !pending.contains(&task.state_id) {
                task.marks.done = true;
            }
        }
        if let Some(strategy) = strategy {
            for class in &mut walled.task_classes {
                class.strategy = strategy;
            }
        }
        let classes: Vec<u32> = walled.task_classes.iter().map(|class| class.id).collect();
        if let Ok(built) = rough_build(&walled, &classes) {
            for change in &built.changes {
                walled.apply(change);
            }
            refine(&mut walled, 20, &WriteOptions::default());
            let mut moved: Vec<(u16, u8, u32)> = pending
                .iter()
                .filter_map(|id| {
                    walled
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

    /// Returns the copy with everything taken that must not be used.
    fn walled(&self) -> ScheduleState {
        let mut walled = self.work.clone();
        let board = Board::new(&self.work);
        let mut next = 1 + self
            .work
            .tasks
            .iter()
            .map(|task| task.state_id)
            .max()
            .unwrap_or(0);
        let mut walls = vec![];
        for day in &self.work.window.days {
            for free in board.free(day.day_index) {
                for section in free.slot_start..=free.slot_end {
                    let slot = Slot::new(day.day_index, section, section);
                    if !self.admits(&slot) {
                        walls.push(slot);
                    }
                }
            }
        }
        for slot in Slot::compress(walls) {
            walled.tasks.push(ScheduleTask {
                state_id: next,
                source: Source::Event,
                source_id: format!("wall-{next}"),
                name: String::new(),
                category: String::new(),
                status: PlacementStatus::Existing,
                locked: true,
                slots: vec![slot],
                duration: slot.sections(),
                task_class_id: None,
                task_order: 0,
                can_embed: false,
                embedded_by: None,
                embed_host: None,
                event_type: EventType::Course,
                marks: crate::schedule::Marks::default(),
            });
            next += 1;
        }
        walled
    }

    fn swap(&mut self, clause: &Clause) -> Planned {
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

    fn swap_days(&mut self, a: u16, b: u16) -> Planned {
        let on = |day: u16| When {
            days: Some(BTreeSet::from([day])),
            ..When::default()
        };
        let moves: Vec<(u32, u16)> = self
            .lying(&on(a))
            .into_iter()
            .map(|id| (id, b))
            .chain(self.lying(&on(b)).into_iter().map(|id| (id, a)))
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
            if let Err(why) = self.find(*id, &on(*day), near) {
                return Err(self.unchanged(&why));
            }
        }
        Ok(())
    }

    /// Returns the two items that change places, in their order.
    fn meant_pair(&self, clause: &Clause) -> Planned<Vec<u32>> {
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

    /// Frees days and times: what lies there goes to the nearest other place, or is pending again.
    fn free(&mut self, clause: &Clause) -> Planned {
        let whens: Vec<When> = clause
            .whens
            .iter()
            .filter(|(_, role)| {
                matches!(
                    role,
                    Role::At
                        | Role::To
                        | Role::From
                        | Role::Not
                        | Role::After
                        | Role::Before
                        | Role::By
                )
            })
            .map(|(when, role)| spanned(when, *role, self.facts))
            .collect();
        if whens.is_empty()
            || !clause.names.iter().all(|(_, role)| *role == Role::Not)
                && clause.has(Verb::Free)
                && clause.objects().any(|name| name.items.len() == 1)
        {
            return Err(self.refuse(
                "Which day or time shall be free? Nothing was changed.",
                "要空出哪一天或哪个时间？没有改动任何内容。",
            ));
        }
        // The limits that the clause set are the times themselves.
        (self.limits.before, self.limits.by, self.limits.after) = (vec![], vec![], vec![]);
        self.clear(&whens, None)
    }

    fn clear(&mut self, whens: &[When], only: Option<&BTreeSet<u32>>) -> Planned {
        self.limits.closed.extend(whens.iter().cloned());
        let mut there: Vec<u32> = whens.iter().flat_map(|when| self.lying(when)).collect();
        there.retain(|id| only.is_none_or(|only| only.contains(id)));
        there.dedup();
        if there.is_empty() {
            return Err(Understanding::Answer(self.pick(
                "Nothing of yours lies there, so nothing has to move; it is free but for your courses. Nothing was changed.",
                "那里本来就没有你的事项，除课程外都是空的，不需要改动。",
            )));
        }
        // The last of a class goes first, so that those before it have room to follow.
        for id in there.iter().rev() {
            let near = self.work.task(*id).and_then(ScheduleTask::start);
            if self.find(*id, &When::default(), near).is_err() {
                self.work.apply(&Change::Unplace { task: *id });
            }
        }
        let left: Vec<u32> = there
            .iter()
            .copied()
            .filter(|id| self.work.task(*id).is_some_and(|task| !task.is_placed()))
            .collect();
        for id in left {
            if self.find(id, &When::default(), None).is_err() {
                let name = self.words.name(id).unwrap_or_default();
                self.say.push(self.pick(
                    format!("{name} has no other place, so it would be pending again."),
                    format!("{name}没有别的位置，会重新变为待办。"),
                ));
            }
        }
        Ok(())
    }

    /// Carries out "nothing on Friday" and "do not put reading on Friday".
    fn keep_away(&mut self, clause: &Clause) -> Planned {
        let whens: Vec<When> = clause
            .whens
            .iter()
            .filter(|(_, role)| !matches!(role, Role::From))
            .map(|(when, role)| spanned(when, *role, self.facts))
            .collect();
        if whens.is_empty() {
            return self.keep(clause);
        }
        (self.limits.before, self.limits.by, self.limits.after) = (vec![], vec![], vec![]);
        let names: BTreeSet<u32> = clause
            .names
            .iter()
            .flat_map(|(name, _)| expand(name, self.facts))
            .collect();
        let only = (!clause.names.is_empty()).then_some(&names);
        self.clear(&whens, only)
    }

    /// Says that nothing happens, because that is what is wanted.
    fn keep(&mut self, clause: &Clause) -> Planned {
        let _ = clause;
        Err(Understanding::Answer(self.pick(
            "All right, nothing was changed; everything stays as it is.",
            "好的，没有改动，一切保持原样。",
        )))
    }

    fn shift(&mut self, clause: &Clause, later: bool) -> Planned {
        if clause.when(Role::To).is_some()
            || (clause.amounts.is_empty() && clause.when(Role::At).is_some())
        {
            return self.relocate(clause, false);
        }
        let items = self.meant(clause)?;
        if items.is_empty() {
            return Err(not_understood(&clause.text, self.facts));
        }
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
        for id in order {
            let Some((day, start)) = self.task(id)?.start() else {
                return Err(self.unchanged(&self.words.refusal(&WriteRefusal::NotPlaced(id))));
            };
            if bare {
                self.nearest(id, (day, start), later)?;
                continue;
            }
            let target = u16::try_from(i32::from(day) + days)
                .ok()
                .filter(|day| self.work.day(*day).is_some());
            let Some(target) = target else {
                return Err(self.unchanged(&self.outside()));
            };
            let within = When {
                days: Some(BTreeSet::from([target])),
                ..When::default()
            };
            if let Err(why) = self.find(id, &within, Some((target, start))) {
                return Err(self.unchanged(&why));
            }
        }
        Ok(())
    }

    fn shift_sections(
        &mut self,
        items: &BTreeSet<u32>,
        amount: i32,
        unit: Noun,
        later: bool,
    ) -> Planned {
        for id in items {
            let Some((day, start)) = self.task(*id)?.start() else {
                return Err(self.unchanged(&self.words.refusal(&WriteRefusal::NotPlaced(*id))));
            };
            let sections = if unit == Noun::Minute {
                (amount + 30) / 60
            } else {
                amount
            };
            let sections = if later { sections } else { -sections };
            let target = u8::try_from(i32::from(start) + sections)
                .ok()
                .filter(|start| (1..=12).contains(start));
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

    /// Moves an item to the nearest earlier or later place.
    fn nearest(&mut self, id: u32, from: (u16, u8), later: bool) -> Planned {
        let duration = self.task(id)?.duration;
        let mut spots: Vec<(u16, u8)> = self
            .work
            .window
            .days
            .iter()
            .flat_map(|day| (1..=12_u8).step_by(2).map(|start| (day.day_index, start)))
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
        let name = self.words.name(id).unwrap_or_default();
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

    fn rearrange(&mut self, clause: &Clause) -> Planned {
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
    fn again(&mut self, tasks: &BTreeSet<u32>, strategy: Option<Strategy>) -> Planned {
        let saved = self.work.clone();
        for id in tasks {
            self.work.apply(&Change::Unplace { task: *id });
        }
        self.build(tasks, strategy);
        let lost: Vec<u32> = tasks
            .iter()
            .copied()
            .filter(|id| {
                saved.task(*id).is_some_and(ScheduleTask::is_placed)
                    && self.work.task(*id).is_some_and(|task| !task.is_placed())
            })
            .collect();
        if !lost.is_empty() {
            let names = self.words.names(lost);
            self.work = saved;
            return Err(self.unchanged(&self.pick(
                format!("there would be no room for {names}"),
                format!("{names}会排不下"),
            )));
        }
        Ok(())
    }

    fn spread(&mut self, clause: &Clause) -> Planned {
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

    fn cancel(&mut self, clause: &Clause) -> Planned {
        let mut items = self.meant(clause)?;
        let within = clause.when(Role::From).or(clause.when(Role::At));
        if items.is_empty() && clause.objects().next().is_none() {
            let all = clause.nouns.contains(&Noun::All) || clause.nouns.contains(&Noun::Item);
            match within {
                Some(within) => items.extend(self.lying(within)),
                None if all => items.extend(self.lying(&When::default())),
                None => return Err(not_understood(&clause.text, self.facts)),
            }
        } else if let Some(within) = within
            && items.len() > 1
        {
            let there: BTreeSet<u32> = self.lying(within).into_iter().collect();
            items.retain(|id| there.contains(id));
        }
        let placed: Vec<u32> = items
            .iter()
            .copied()
            .filter(|id| self.work.task(*id).is_some_and(ScheduleTask::is_placed))
            .collect();
        if placed.is_empty() {
            return Err(self.unchanged(&self.pick(
                "it has no place that could be cancelled",
                "没有可以取消的安排",
            )));
        }
        for id in placed {
            self.work.apply(&Change::Unplace { task: id });
        }
        Ok(())
    }

    fn delete(&mut self, clause: &Clause) -> Planned {
        if clause.when(Role::At).or(clause.when(Role::From)).is_some()
            && clause.objects().next().is_none()
        {
            return self.cancel(clause);
        }
        // "Take it out of the schedule" leaves it pending.
        if clause.nouns.contains(&Noun::Schedule) {
            return self.cancel(clause);
        }
        let items = self.meant(clause)?;
        if items.is_empty() {
            return Err(not_understood(&clause.text, self.facts));
        }
        let mut by_class: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for id in &items {
            let Some(class) = self.task(*id)?.task_class_id else {
                self.work.apply(&Change::Unplace { task: *id });
                continue;
            };
            by_class.entry(class).or_default().push(*id);
        }
        for (class, ids) in by_class {
            let all = self
                .work
                .tasks
                .iter()
                .filter(|task| task.task_class_id == Some(class))
                .count();
            if all == ids.len() {
                return Err(self.unchanged(
                    &self.pick("a class needs at least one item", "一个分类至少要有一项"),
                ));
            }
            self.before.push(call(
                EDIT_TASK_CLASS,
                json!({ "class_id": class, "remove": ids }),
            ));
        }
        Ok(())
    }

    fn mark(&mut self, clause: &Clause, done: bool) -> Planned {
        let mut items = self.meant(clause)?;
        if let Some(when) = clause.when(Role::At).or(clause.when(Role::From))
            && items.is_empty()
            && clause.objects().next().is_none()
        {
            let there = self.work.tasks.iter().filter(|task| {
                task.event_type == EventType::Task && task.slots.iter().any(|slot| when.meets(slot))
            });
            items = there.map(|task| task.state_id).collect();
        }
        let all: BTreeSet<u32> = clause
            .objects()
            .flat_map(|name| name.items.iter().copied())
            .collect();
        if items.is_empty() {
            items = all;
        }
        items.retain(|id| self.work.task(*id).is_some_and(|task| !task.locked));
        if items.is_empty() {
            return Err(self.refuse(
                "Which item do you mean? Nothing was changed.",
                "你指的是哪一项？没有改动任何内容。",
            ));
        }
        let differ: Vec<u32> = items
            .iter()
            .copied()
            .filter(|id| {
                self.work
                    .task(*id)
                    .is_some_and(|task| task.marks.done != done)
            })
            .collect();
        if differ.is_empty() {
            return self.marked_before(&items, done);
        }
        self.before
            .push(call(MARK_TASK, json!({ "task_ids": differ, "done": done })));
        Ok(())
    }

    /// Handles a mark that is there already; what was missed gets another place.
    fn marked_before(&mut self, items: &BTreeSet<u32>, done: bool) -> Planned {
        let names = self.words.names(items.iter().copied());
        if done {
            return Err(Understanding::Answer(self.pick(
                format!("{names} is marked as done already."),
                format!("{names}已经标记为完成了。"),
            )));
        }
        let missed: Vec<u32> = items
            .iter()
            .copied()
            .filter(|id| {
                self.work.task(*id).is_some_and(|task| {
                    task.is_placed() && task.slots.iter().all(|slot| !is_ahead(slot, self.facts))
                })
            })
            .collect();
        if missed.is_empty() {
            return Err(Understanding::Answer(self.pick(
                format!("{names} is not marked as done; nothing was changed."),
                format!("{names}没有标记为完成，不需要改动。"),
            )));
        }
        for id in missed {
            if let Err(why) = self.find(
                id,
                &When::default(),
                self.work.task(id).and_then(ScheduleTask::start),
            ) {
                return Err(self.unchanged(&why));
            }
        }
        Ok(())
    }

    fn done(&mut self, clause: &Clause, not: bool) -> Planned {
        // "Finish it before Friday" is about its place.
        let past = ["了", "done", "finished", "completed", "did", "已", "刚"]
            .iter()
            .any(|word| clause.text.contains(word));
        let bounded = clause
            .whens
            .iter()
            .any(|(_, role)| matches!(role, Role::Before | Role::By));
        if !not && bounded && !past {
            return self.relocate(clause, true);
        }
        if (clause.nouns.contains(&Noun::All) || clause.nouns.contains(&Noun::Item))
            && clause.objects().next().is_none()
            && clause.whens.is_empty()
        {
            return Err(not_understood(&clause.text, self.facts));
        }
        self.mark(clause, !not)
    }

    fn deadline(&mut self, clause: &Clause) -> Planned {
        let items = self.meant(clause)?;
        let classes: BTreeSet<u32> = clause
            .objects()
            .filter(|name| name.items.is_empty() || name.classes.len() == 1 && !name.exact)
            .flat_map(|name| name.classes.iter().copied())
            .collect();
        let mut whens = clause
            .whens
            .iter()
            .filter(|(_, role)| !matches!(role, Role::From));
        let to = clause
            .when(Role::To)
            .or_else(|| whens.next_back().map(|(when, _)| when));
        let mut day = to
            .and_then(|when| when.days.as_ref())
            .and_then(|days| days.last().copied())
            .filter(|_| to.is_some_and(|when| !when.is_week));
        if day.is_none()
            && let Some(class) = classes.first().and_then(|id| self.work.class(*id))
        {
            let amount: i32 = clause
                .amounts
                .iter()
                .map(|(n, unit)| {
                    let days = if *unit == Noun::Weeks { 7 } else { 1 };
                    i32::try_from(*n).unwrap_or(0) * days
                })
                .sum();
            let sign = if clause.has(Verb::Earlier) { -1 } else { 1 };
            let at = class
                .end_date
                .as_ref()
                .and_then(|end| self.work.window.days.iter().find(|day| day.date == *end));
            if amount != 0 && (clause.has(Verb::Earlier) || clause.has(Verb::Later)) {
                day = at.and_then(|at| u16::try_from(i32::from(at.day_index) + sign * amount).ok());
            }
        }
        let date = day
            .and_then(|day| self.work.day(day))
            .map(|day| day.date.clone())
            .filter(|date| !date.is_empty());
        let (Some(day), Some(date)) = (day, date) else {
            return Err(self.refuse(
                "On which day is it due? Name a day of these weeks. Nothing was changed.",
                "截止到哪一天？请说出这几周内的某一天。没有改动任何内容。",
            ));
        };
        if items.is_empty() && classes.is_empty() {
            return Err(not_understood(&clause.text, self.facts));
        }
        if i32::from(day) < self.facts.today {
            return Err(self.unchanged(&self.pick("that day is over already", "那一天已经过去了")));
        }
        self.limits.by.push(When {
            days: Some(BTreeSet::from([day])),
            ..When::default()
        });
        let mut late: Vec<u32> = items
            .iter()
            .copied()
            .filter(|id| {
                self.work.task(*id).is_some_and(|task| {
                    !task.marks.done && task.slots.iter().any(|slot| slot.day > day)
                })
            })
            .collect();
        late.sort_by_key(|id| self.work.task(*id).and_then(ScheduleTask::start));
        if !late.is_empty() {
            let mut again: BTreeSet<u32> = late.iter().copied().collect();
            let saved = self.work.clone();
            let each = late.iter().all(|id| {
                let near = self.work.task(*id).and_then(ScheduleTask::start);
                self.find(*id, &When::default(), near).is_ok()
            });
            if !each {
                self.work = saved;
                again.extend(items.iter().copied().filter(|id| {
                    is_open(*id, self.facts)
                        && self.work.task(*id).is_some_and(ScheduleTask::is_placed)
                }));
                self.again(&again, None)?;
            }
        }
        for class in &classes {
            self.after.push(call(
                EDIT_TASK_CLASS,
                json!({ "class_id": class, "end_date": date }),
            ));
        }
        if classes.is_empty() {
            self.after.push(call(
                MARK_TASK,
                json!({ "task_ids": items, "deadline": date }),
            ));
        }
        Ok(())
    }

    fn add(&mut self, clause: &Clause) -> Planned {
        let class = clause
            .names
            .iter()
            .find_map(|(name, _)| name.classes.iter().next().copied());
        let content = clause
            .quoted
            .first()
            .cloned()
            .unwrap_or_else(|| added(clause, self.facts));
        let Some(class) = class.and_then(|id| self.work.class(id)).cloned() else {
            let names: Vec<_> = self
                .work
                .task_classes
                .iter()
                .map(|class| class.name.clone())
                .collect();
            let names = names.join(self.facts.lang.pick(", ", "、"));
            return Err(self.refuse(
                format!("Which class does it belong to: {names}? Nothing was added."),
                format!("要加到哪一类：{names}？没有添加任何内容。"),
            ));
        };
        if content.trim().is_empty() {
            return Err(self.refuse(
                "What shall be added? Nothing was added.",
                "要添加什么？没有添加任何内容。",
            ));
        }
        let write = edited(&self.work, &class, std::slice::from_ref(&content), &[]);
        let written = write
            .resolve(&self.work)
            .map_err(|issues| self.unchanged(&issues.join("; ")))?;
        let new = written
            .items
            .iter()
            .map(|item| item.state_id)
            .max()
            .unwrap_or_default();
        self.work.put_class(&written);
        self.before.push(call(
            EDIT_TASK_CLASS,
            json!({ "class_id": class.id, "add": [content] }),
        ));
        let to = clause
            .whens
            .iter()
            .find(|(_, role)| matches!(role, Role::At | Role::To))
            .map(|(when, _)| when.clone());
        if let Some(to) = to {
            self.send(&BTreeSet::from([new]), &to)?;
        }
        Ok(())
    }

    fn undo(&mut self) -> Planned {
        let Some(previous) = self.facts.previous else {
            return Err(self.refuse(
                "There is no change that could be undone. Nothing was changed.",
                "没有可以撤销的改动。没有改动任何内容。",
            ));
        };
        let now = self.facts.schedule;
        for class in &previous.task_classes {
            let of = |state: &ScheduleState| -> BTreeSet<u32> {
                let tasks = state.tasks.iter().filter(|task| {
                    task.task_class_id == Some(class.id) && task.source == Source::TaskItem
                });
                tasks.map(|task| task.state_id).collect()
            };
            let (was, is) = (of(previous), of(now));
            if now.class(class.id) == Some(class) && was == is {
                continue;
            }
            let restore: Vec<Value> = was
                .difference(&is)
                .filter_map(|id| {
                    let task = previous.task(*id)?;
                    Some(json!({ "id": id, "content": task.name, "order": task.task_order }))
                })
                .collect();
            let remove: Vec<u32> = is.difference(&was).copied().collect();
            let args = json!({
                "class_id": class.id,
                "restore": restore,
                "remove": remove,
                "total_slots": class.total_slots,
                "end_date": class.end_date.clone().unwrap_or_default(),
            });
            self.before.push(call(EDIT_TASK_CLASS, args));
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
                self.before.push(call(
                    MARK_TASK,
                    json!({ "task_ids": [task.state_id], "deadline": date }),
                ));
            }
            if known.slots != task.slots {
                let change = if task.is_placed() {
                    Change::Place {
                        task: task.state_id,
                        slots: task.slots.clone(),
                        host: task.embed_host,
                        status: task.status,
                    }
                } else {
                    Change::Unplace {
                        task: task.state_id,
                    }
                };
                self.work.apply(&change);
            }
        }
        Ok(())
    }
}

/// Returns the sections that a time names with a word such as "after".
pub(super) fn spanned(when: &When, role: Role, facts: &Facts<'_>) -> When {
    let mut when = when.clone();
    let first = when
        .starts
        .as_ref()
        .and_then(|starts| starts.first().copied());
    match (role, first) {
        (Role::After, Some(first)) => when.starts = Some((first..=12).collect()),
        (Role::Before | Role::By, Some(first)) => when.starts = Some((1..first).collect()),
        (Role::After, None) => {
            let last = when
                .days
                .as_ref()
                .and_then(|days| days.last().copied())
                .unwrap_or(0);
            when.days = Some(
                facts
                    .schedule
                    .window
                    .days
                    .iter()
                    .map(|day| day.day_index)
                    .filter(|day| *day > last)
                    .collect(),
            );
        }
        (Role::Before | Role::By, None) => {
            let first = when
                .days
                .as_ref()
                .and_then(|days| days.first().copied())
                .unwrap_or(0);
            when.days = Some(
                facts
                    .schedule
                    .window
                    .days
                    .iter()
                    .map(|day| day.day_index)
                    .filter(|day| *day < first)
                    .collect(),
            );
        }
        _ => {}
    }
    when
}

/// Returns a class with items added and removed.
pub(crate) fn edited(
    state: &ScheduleState,
    class: &crate::schedule::TaskClass,
    add: &[String],
    remove: &[u32],
) -> ClassWrite {
    let mut items: Vec<&ScheduleTask> = state
        .tasks
        .iter()
        .filter(|task| task.task_class_id == Some(class.id) && task.source == Source::TaskItem)
        .collect();
    items.sort_by_key(|task| task.task_order);
    let count = u32::try_from(items.len()).unwrap_or(1).max(1);
    let each = (class.total_slots / count).max(1);
    let last = items.iter().map(|task| task.task_order).max().unwrap_or(0);
    let kept = items.iter().filter(|task| !remove.contains(&task.state_id));
    let mut all: Vec<ClassItem> = kept
        .map(|task| ClassItem {
            task: Some(task.state_id),
            order: task.task_order,
            content: task.name.clone(),
        })
        .collect();
    all.extend((last + 1..).zip(add).map(|(order, content)| ClassItem {
        task: None,
        order,
        content: content.clone(),
    }));
    let number = u32::try_from(all.len()).unwrap_or(1);
    let class = crate::schedule::TaskClass {
        total_slots: each * number,
        ..class.clone()
    };
    ClassWrite {
        dropped: remove.iter().copied().collect(),
        ..ClassWrite::new(class, all)
    }
}

/// Returns the text of an item that is added: what is not the class, the time or manners.
fn added(clause: &Clause, facts: &Facts<'_>) -> String {
    let text = clause.added.trim();
    let mut chars = text.chars();
    match chars.next() {
        Some(first) if facts.lang == crate::calendar::Lang::En => {
            first.to_uppercase().chain(chars).collect()
        }
        _ => text.to_owned(),
    }
}

/// Returns the verb that counts most, and true if it is negated.
fn main_verb(clause: &Clause) -> Option<(Verb, bool)> {
    const ORDER: [Verb; 19] = [
        Verb::Undo,
        Verb::Undone,
        Verb::Swap,
        Verb::Deadline,
        Verb::Add,
        Verb::Delete,
        Verb::Cancel,
        Verb::Busy,
        Verb::Rearrange,
        Verb::Spread,
        Verb::Earlier,
        Verb::Later,
        Verb::Free,
        Verb::Done,
        Verb::Move,
        Verb::Place,
        Verb::Keep,
        Verb::Study,
        Verb::Show,
    ];
    let verb = ORDER
        .into_iter()
        .find_map(|verb| clause.verbs.iter().find(|(known, _)| *known == verb));
    verb.copied()
}

fn call(name: &str, arguments: Value) -> Call {
    let arguments = match arguments {
        Value::Object(arguments) => arguments,
        _ => Map::new(),
    };
    Call {
        name: name.into(),
        arguments,
        listed: false,
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}
