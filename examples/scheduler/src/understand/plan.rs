//! From what a person wants to the calls that reach it. Everything is tried on a copy first, so a
//! card never offers what the tools would refuse.
mod edits;
mod finish;
mod frees;
mod moves;
mod places;
mod repairs;
mod terms;
mod travel;

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{
    Facts, Understanding,
    free_times::kept_free,
    lex::{LISTS, Noun, Verb, denies_free},
    travel::{Direction, Travel},
    when::{self, When},
    wish::{Clause, Role, expand, is_open, not_understood, objects, unread},
    words::Words,
};
use crate::{
    agent::FreeTime,
    contract::Call,
    schedule::{
        Board, EventType, ScheduleState, ScheduleTask, Slot, WriteOptions, WriteRefusal,
        tools::{MoveArgs, PlaceArgs, move_task, place},
    },
};
use finish::arrangement;

pub(crate) use edits::edited;
use edits::needs_not;
pub(super) use frees::freed_times;
pub(crate) use repairs::repaired;
pub(super) use terms::terms;
pub(super) use travel::travelled;

/// The bounds that a wish must not cross.
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
    /// Days and times that are kept free for later requests, too.
    pub(super) free: Vec<When>,
    /// Those of them from which everything goes away.
    pub(super) cleared: Vec<When>,
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
    let mut desk = Planner::new(facts, limits.clone());
    desk.free.clone_from(&limits.free);
    if !limits.cleared.is_empty()
        && let Err(refusal @ Understanding::Refusal(_)) = desk.clear(&limits.cleared, None)
    {
        return refusal;
    }
    let mut place_all = 0;
    for wish in wishes {
        match desk.wish(wish) {
            Ok(Step::Planned) => {}
            Ok(Step::PlaceAll) => place_all += 1,
            Err(reply) => {
                if let Some(refusal) = desk.refused(reply) {
                    return refusal;
                }
            }
        }
    }
    if place_all > 0 && place_all == wishes.len() && limits.is_empty() && desk.limits.is_empty() {
        return Understanding::PlaceAll;
    }
    if place_all > 0
        && let Err(reply) = desk.place_pending(None)
        && let Some(refusal) = desk.refused(reply)
    {
        return refusal;
    }
    desk.finish()
}

/// Plans what only says what must not be: those days are freed.
pub(super) fn limits_alone(clauses: &[Clause], facts: &Facts<'_>) -> Understanding {
    let mut desk = Planner::new(facts, Limits::default());
    for clause in clauses {
        if let Err(reply) = desk.wish(clause)
            && let Some(refusal) = desk.refused(reply)
        {
            return refusal;
        }
    }
    desk.finish()
}

/// Plans the placing of everything pending.
pub(crate) fn place_pending(facts: &Facts<'_>) -> Understanding {
    let mut desk = Planner::new(facts, Limits::default());
    if let Err(reply) = desk.place_pending(None)
        && let Some(refusal) = desk.refused(reply)
    {
        return refusal;
    }
    desk.finish()
}

/// Returns true if a text says that something does not have to be somewhere.
fn needs_not_be(text: &str) -> bool {
    let mut words = LISTS.plans.needs_not_be.iter();
    words.any(|words| text.contains(words))
}

/// Returns the place that an item would get within some days and times, or why there is none.
pub(super) fn possible(id: u32, within: &When, facts: &Facts<'_>) -> Result<String, String> {
    let mut desk = Planner::new(facts, Limits::default());
    let start = facts.schedule.task(id).and_then(ScheduleTask::start);
    desk.find(id, within, start)?;
    let words = Words {
        schedule: &desk.work,
        ..desk.words
    };
    Ok(words.lies(id))
}

enum Step {
    Planned,
    PlaceAll,
}

struct Planner<'a> {
    facts: &'a Facts<'a>,
    words: Words<'a>,
    work: ScheduleState,
    options: WriteOptions,
    limits: Limits,
    /// Calls besides those that give places.
    before: Vec<Call>,
    after: Vec<Call>,
    say: Vec<String>,
    /// Times that are kept free for later requests, too.
    free: Vec<When>,
    /// The times that are kept free in place of those of now, if that is undone.
    free_before: Option<Vec<FreeTime>>,
    /// The steps that it goes in the timeline: back if it is negative.
    travels: i32,
}

type PlanResult<T = ()> = Result<T, Understanding>;

impl<'a> Planner<'a> {
    fn new(facts: &'a Facts<'a>, mut limits: Limits) -> Self {
        limits.closed.extend(kept_free(facts.free_times, facts));
        Self {
            facts,
            words: Words::of(facts),
            work: facts.schedule.clone(),
            options: WriteOptions::default().existing_may_move(facts.existing_may_move),
            limits,
            before: vec![],
            after: vec![],
            say: vec![],
            free: vec![],
            free_before: None,
            travels: 0,
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

    /// Takes a reply to one of several wishes: what is so already is said, and the rest is done.
    /// Returns what stops the whole.
    fn refused(&mut self, reply: Understanding) -> Option<Understanding> {
        match reply {
            Understanding::Answer(told) => {
                self.say.push(told);
                None
            }
            refusal => Some(refusal),
        }
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

    /// Refuses a clause that is not wholly understood, or is about other days than those of here.
    fn check(&self, clause: &Clause, verb: Option<(Verb, bool)>) -> PlanResult {
        if let Some(refusal) = unread(clause, self.facts).filter(|_| !clause.has(Verb::Add)) {
            return Err(refusal);
        }
        let outside = |(when, _): &(When, Role)| when.days.as_ref().is_some_and(BTreeSet::is_empty);
        if clause.whens.iter().any(outside) {
            return Err(self.unchanged(&self.outside()));
        }
        // What counts hours, and what counts nothing, leaves no amount out.
        let counts = |(_, unit): &(i64, Noun)| match verb {
            Some((Verb::Earlier | Verb::Later | Verb::Add, _)) => true,
            Some((Verb::Deadline, _)) => matches!(unit, Noun::Day | Noun::Weeks),
            _ => false,
        };
        // What does not have to be there may be.
        if needs_not_be(&clause.text) || !clause.amounts.iter().all(counts) {
            return Err(not_understood(&clause.text, self.facts));
        }
        Ok(())
    }

    fn wish(&mut self, clause: &Clause) -> PlanResult<Step> {
        let clause = &self.as_today(clause);
        let verb = main_verb(clause);
        self.check(clause, verb)?;
        let denies = || clause.denies(Verb::Keep) || denies_free(&clause.text);
        let not_kept = clause.has(Verb::Free) && denies();
        let used_again = matches!(
            verb,
            Some((Verb::Free | Verb::Busy, true) | (Verb::Reopen, false))
        );
        // 别空了, right after a time was kept free.
        let not_off = clause.needs_not_be_free()
            && !(clause.whens.is_empty() && self.facts.free_times.is_empty());
        if used_again || not_kept || not_off {
            return self.take_back(clause).map(|()| Step::Planned);
        }
        if matches!(verb, Some((_, false)) | None) {
            self.release(clause);
        }
        self.take_limits(clause);
        match verb {
            // "Put it back on Thursday" is no "put it back".
            Some((Verb::Undo | Verb::PutBack, false))
                if clause.objects().next().is_some() || !clause.whens.is_empty() =>
            {
                Err(not_understood(&clause.text, self.facts))
            }
            Some((Verb::PutBack, false)) => self.travel(Travel::one(Direction::PutBack)),
            Some((Verb::Undo, false)) => self.travel(Travel::one(Direction::Back)),
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
            // 除了报告，其他的都放到下周: the others have places already.
            Some((Verb::Place, false))
                if clause.nouns.contains(&Noun::All)
                    && !self.limits.kept.is_empty()
                    && clause.when(Role::To).is_some() =>
            {
                self.relocate(clause, true)
            }
            Some((Verb::Place, false)) => return self.place(clause),
            // "Do not move anything on Monday" frees nothing.
            Some((Verb::Move, true)) if clause.names.is_empty() => Self::keep(),
            Some((Verb::Place | Verb::Study | Verb::Move | Verb::Add, true)) => {
                self.keep_away(clause)
            }
            Some((Verb::Study, false)) if !clause.names.is_empty() => return self.place(clause),
            // "Touch only the report" leaves open what is to become of it.
            Some((_, true) | (Verb::Keep, _))
                if clause.names.iter().any(|(_, role)| *role == Role::Only) =>
            {
                Err(not_understood(&clause.text, self.facts))
            }
            Some((_, true) | (Verb::Keep, _)) => Self::keep(),
            None if needs_not(&clause.text) => self.keep_as_said(clause),
            None if clause.only_denies_times() => Err(self.refuse(
                "What is it that shall not be there? Nothing was changed. Say what goes where, or “keep Friday free”.",
                "什么不要排在那时？没有改动任何内容。请说清楚要挪什么，或者说“把周五空出来”。",
            )),
            None if clause.is_negated
                || clause.whens.iter().any(|(_, role)| *role == Role::Not)
                || !clause.whens.is_empty()
                    && !clause.names.is_empty()
                    && clause.names.iter().all(|(_, role)| *role == Role::Not) =>
            {
                self.keep_away(clause)
            }
            // 周五只空上午 frees the morning.
            None if clause.nouns.contains(&Noun::Off)
                && !clause.whens.is_empty()
                && clause.objects().next().is_none() =>
            {
                self.free(clause)
            }
            None if clause.names.is_empty()
                && clause.whens.iter().any(|(_, role)| *role == Role::Only) =>
            {
                self.only(clause)
            }
            None if clause.objects().next().is_some()
                && (clause.when(Role::To).is_some() || clause.when(Role::At).is_some()) =>
            {
                self.relocate(clause, true)
            }
            _ => Err(not_understood(&clause.text, self.facts)),
        }?;
        Ok(Step::Planned)
    }

    /// Takes the name of today for today where something that is named lies there, and not on the next
    /// day of this name: on a Monday, "everything on Monday except the outline".
    fn as_today(&self, clause: &Clause) -> Clause {
        let mut clause = clause.clone();
        let Ok(today) = u16::try_from(self.facts.today) else {
            return clause;
        };
        let excepts = |(_, role): &(_, Role)| *role == Role::Except;
        let leaves = !self.limits.kept.is_empty() || clause.names.iter().any(excepts);
        let goes = leaves || clause.when(Role::To).is_some();
        let named = clause.names.iter();
        let mut named: BTreeSet<u32> = named
            .flat_map(|(name, _)| expand(name, self.facts))
            .collect();
        named.extend(&self.limits.kept);
        let lies = |when: &When| {
            let is_there = |task: &ScheduleTask| task.slots.iter().any(|slot| when.meets(slot));
            !self.those(&named, is_there).is_empty()
        };
        for (when, role) in &mut clause.whens {
            let is_origin = *role == Role::From || *role == Role::At && goes;
            let is_name = when
                .every
                .as_ref()
                .is_some_and(|days| days.contains(&today));
            let there = When {
                days: Some(BTreeSet::from([today])),
                ..when.clone()
            };
            if is_origin && is_name && when.is_one_name() && lies(&there) && !lies(when) {
                *when = there;
            }
        }
        clause
    }

    /// Takes over the limits that a wish itself has.
    fn take_limits(&mut self, clause: &Clause) {
        // The times that are to be free are read with what they except.
        let frees = matches!(
            main_verb(clause),
            Some(
                (Verb::Free | Verb::Busy, false)
                    | (Verb::Place | Verb::Study | Verb::Move | Verb::Add, true)
            )
        );
        for (when, role) in &clause.whens {
            match role {
                Role::Not | Role::Except if !frees && main_verb(clause).is_some() => {
                    self.limits.closed.push(when.weekly());
                }
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
            let denied = matches!(role, Role::Not | Role::Except);
            if denied && main_verb(clause).is_some_and(|(_, not)| !not) {
                self.limits.kept.extend(expand(name, self.facts));
            }
        }
    }

    /// Returns true if nothing forbids this place.
    fn admits(&self, slot: &Slot) -> bool {
        is_ahead(slot, self.facts) && self.limits.admit(slot)
    }

    /// Returns the sections to which nothing goes.
    fn closed(&self) -> Vec<Slot> {
        let days = self.work.window.days.iter();
        let sections = 1..=self.work.window.sections.count();
        let slots = days.flat_map(|day| {
            let sections = sections.clone();
            sections.map(|section| Slot::new(day.day_index, section, section))
        });
        Slot::compress(slots.filter(|slot| !self.admits(slot)).collect())
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

    /// Returns those of these tasks of the copy for which something holds.
    fn those<'i>(
        &self,
        ids: impl IntoIterator<Item = &'i u32>,
        holds: impl Fn(&ScheduleTask) -> bool,
    ) -> Vec<u32> {
        let ids = ids.into_iter().copied();
        ids.filter(|id| self.work.task(*id).is_some_and(&holds))
            .collect()
    }

    fn task(&self, id: u32) -> PlanResult<&ScheduleTask> {
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
        let aligned = self.work.window.sections.starts(duration);
        let board = Board::new(&self.work);
        let wishes = self.work.preferences.as_ref();
        let discomfort = |day: u16, start: u8| {
            let day_of_week = self.work.day(day).map_or(1, |day| day.day_of_week);
            let sections = (start..).take(usize::from(duration));
            wishes.map_or(0, |wishes| {
                sections
                    .map(|section| wishes.cost(day_of_week, section))
                    .sum::<u32>()
            })
        };
        let load = |day: u16| {
            let there = board
                .on_day(day)
                .filter(|other| other.state_id != id && other.event_type == EventType::Task);
            let there: Vec<_> = there.collect();
            let same = there.iter().any(|other| other.task_class_id == class);
            u32::try_from(there.len()).unwrap_or(9) * 3 + if same { 8 } else { 0 }
        };
        let mut spots: Vec<(bool, u32, u16, u8)> = vec![];
        for day in days {
            for start in 1..=self.work.window.sections.count() {
                let is_odd = !aligned.contains(&start) && !within.exact;
                // Whoever names a day would rather have an odd place there than none.
                let slot = Slot::starting_at(day, start, duration);
                if is_odd && within.days.is_none() || !within.holds(&slot) {
                    continue;
                }
                let cost = match near {
                    Some((d, s)) => {
                        let far = u32::from(d.abs_diff(day)) * 20 + u32::from(s.abs_diff(start));
                        // Of two that are equally far the later one.
                        far * 2
                            + discomfort(day, start)
                            + u32::from((day, start) < (d, s))
                            + if within.days.is_some() { load(day) } else { 0 }
                    }
                    None => load(day) + u32::from(day) + discomfort(day, start) + u32::from(start),
                };
                spots.push((is_odd, cost, day, start));
            }
        }
        drop(board);
        spots.sort_unstable();
        let mut why: Option<WriteRefusal> = None;
        let mut past = false;
        for (_, _, day, start) in spots {
            let slot = Slot::starting_at(day, start, duration);
            if !self.admits(&slot) {
                past |= !is_ahead(&slot, self.facts);
                continue;
            }
            let Err(refused) = self.put(id, day, start) else {
                return Ok(());
            };
            // What forbids a free place tells more than what takes another one.
            let is_full = |why: &WriteRefusal| {
                matches!(
                    why,
                    WriteRefusal::Conflict { .. } | WriteRefusal::OutsideDay { .. }
                )
            };
            if why
                .as_ref()
                .is_none_or(|why| is_full(why) && !is_full(&refused))
            {
                why = Some(refused);
            }
        }
        let name = self.name(id);
        let none = self.pick(
            format!("there is no free place for {name} there"),
            format!("{name}在那里没有空位"),
        );
        let over = self.pick("that time is over already", "那个时间已经过去了");
        Err(match why.map(|why| self.words_now().refusal(&why)) {
            Some(why) => self.pick(format!("{none}: {why}"), format!("{none}：{why}")),
            None if past => over,
            None => none,
        })
    }

    /// Returns the words over the copy, which may have items that the schedule does not have yet.
    fn words_now(&self) -> Words<'_> {
        Words {
            schedule: &self.work,
            ..self.words
        }
    }

    fn name(&self, id: u32) -> String {
        self.words_now().name(id).unwrap_or_default()
    }

    /// Returns the items that are meant, or asks which.
    fn meant(&self, clause: &Clause) -> PlanResult<BTreeSet<u32>> {
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
}

/// Returns the sections that a time names with a word such as "after".
pub(super) fn spanned(when: &When, role: Role, facts: &Facts<'_>) -> When {
    let mut when = when.clone();
    let last = facts.sections.count();
    let first = when
        .starts
        .as_ref()
        .and_then(|starts| starts.first().copied());
    match (role, first, when.odd) {
        (Role::After, Some(first), _) => when.starts = Some((first..=last).collect()),
        // A section that such a time divides begins before it.
        (Role::Before | Role::By, _, Some(time)) => {
            let before = |section: &u8| when::begin(*section, facts).is_some_and(|at| at < time);
            when.starts = Some((1..=last).filter(before).collect());
        }
        (Role::After, None, Some(time)) => {
            let after = |section: &u8| when::begin(*section, facts).is_some_and(|at| at >= time);
            when.starts = Some((1..=last).filter(after).collect());
        }
        (Role::Before | Role::By, Some(first), None) => {
            when.starts = Some((1..first).collect());
        }
        (Role::After | Role::Before | Role::By, None, None) => {
            let named = when.days.iter().flatten().copied();
            let (first, last) = (named.clone().min(), named.max());
            let days = facts.schedule.window.days.iter().map(|day| day.day_index);
            let days = days.filter(|day| match role {
                Role::After => *day > last.unwrap_or(0),
                _ if i32::from(*day) < facts.today => false,
                // "Away until Wednesday": the last day counts.
                Role::By => *day <= last.unwrap_or(0),
                _ => *day < first.unwrap_or(0),
            });
            when.days = Some(days.collect());
            when.every = None;
        }
        _ => {}
    }
    when
}

/// Returns the verb that counts most, and true if it is negated.
fn main_verb(clause: &Clause) -> Option<(Verb, bool)> {
    const ORDER: [Verb; 21] = [
        Verb::Reopen,
        Verb::Undo,
        Verb::PutBack,
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
    // "Add an essay, due on Friday" adds it; "add a deadline" does not.
    let dated = ["deadline", "due date", "截止日期", "截止时间", "期限"];
    let adds = clause.has(Verb::Add) && !dated.iter().any(|word| clause.text.contains(word));
    if adds && clause.has(Verb::Deadline) {
        return Some((Verb::Add, false));
    }
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
