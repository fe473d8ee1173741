//! Terms of items, and preferences: both are written, and what lies against them moves.
use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::{
    super::{
        Facts, Understanding,
        names::Ref,
        terms::TermsWish,
        when::When,
        wish::{expand, is_open, not_understood},
    },
    Limits, PlanResult, Planner, call,
};
use crate::{
    schedule::{
        Change, Preferences, ScheduleState, ScheduleTask,
        tools::{ArrangeArgs, Arrangement, arrange},
    },
    tools::{
        EDIT_TASK_CLASS, EditClassArgs, PreferenceArgs, SET_PREFERENCES, TermsEdit, class_edited,
    },
};

/// The cost of a section from which on an item leaves it.
const LEAVES: u32 = 100;

/// Plans what a sentence about terms or preferences wants.
pub(in super::super) fn terms(wish: &TermsWish, facts: &Facts<'_>) -> Understanding {
    let mut planner = Planner::new(facts, Limits::default());
    let planned = match wish {
        TermsWish::Terms(names, edit) => planner.edit_terms(names, edit),
        TermsWish::Order(first, then) => planner.order_terms(first, then),
        TermsWish::Due(name, days) => planner.due_terms(name, days),
        TermsWish::Preferences(args) => planner.prefer(args),
        TermsWish::PreferredPlaces(args) => planner.place_preferred(args),
    };
    match planned {
        Ok(()) => planner.finish(),
        Err(reply) => reply,
    }
}

impl Planner<'_> {
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
            let class = name.classes.first().copied();
            let class = class.filter(|_| name.items.is_empty() || !name.exact);
            let only = class.filter(|_| name.classes.len() == 1);
            let (class, task_id, items) = if let Some(class) = only {
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
        self.resettle(&touched)
    }

    /// Returns the closed times of an item or class with further ones.
    fn closed_too(&self, class: u32, task: Option<u32>, more: &[String]) -> Vec<String> {
        let terms = match task {
            Some(id) => self.work.task(id).map(|task| &task.terms),
            None => self.work.class(class).map(|class| &class.terms),
        };
        let known = terms.into_iter().flat_map(|terms| &terms.not);
        let known = known.flat_map(|closed| {
            let names = super::super::words::WEEKDAYS.0;
            let (from, to) = (closed.from.strftime("%H:%M"), closed.to.strftime("%H:%M"));
            let time = format!("{from}-{to}");
            let days = closed.days_of_week.iter();
            let on = days.filter_map(|day| names.get(usize::from(*day).checked_sub(1)?));
            let mut texts: Vec<String> = on.map(|day| format!("{day} {time}")).collect();
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
        let (first, then) = (self.one(first)?, self.one(then)?);
        let task = self.task(then)?;
        let class = task.task_class_id;
        let class = class.ok_or_else(|| not_understood("", self.facts))?;
        let mut after = task.terms.after.clone();
        if after.contains(&first) {
            let (task, first) = (self.words.name(then), self.words.name(first));
            let (task, first) = (task.unwrap_or_default(), first.unwrap_or_default());
            return Err(Understanding::Answer(self.pick(
                format!("{task} comes after {first} already; nothing was changed."),
                format!("{task}本来就在{first}之后，没有改动任何内容。"),
            )));
        }
        after.push(first);
        let edit = TermsEdit {
            task_id: Some(then),
            after: Some(after),
            ..TermsEdit::default()
        };
        self.write_terms(class, vec![edit])?;
        self.resettle(&BTreeSet::from([then]))
    }

    fn due_terms(&mut self, name: &Ref, days: &BTreeSet<u16>) -> PlanResult {
        let class = name.classes.first().copied();
        let class = class.filter(|_| name.items.is_empty() || !name.exact);
        let classes: BTreeSet<u32> = class.into_iter().collect();
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
    fn write_terms(&mut self, class: u32, terms: Vec<TermsEdit>) -> PlanResult {
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

    /// Gives items that may not stay where they are other places, near their own.
    fn resettle(&mut self, touched: &BTreeSet<u32>) -> PlanResult {
        let mut out = self.those(touched, |task| task.is_placed() && !self.may_stay(task));
        out.retain(|id| is_open(*id, self.facts));
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
    fn prefer(&mut self, args: &PreferenceArgs) -> PlanResult {
        let before = self.work.preferences.clone();
        let after = args
            .applied(&self.work)
            .map_err(|issue| self.unchanged(&issue))?;
        let new = self.words.preferred_anew(before.as_ref(), &after);
        if new.is_empty() || before.as_ref() == Some(&after) {
            let lines = self.words.preferences(before.as_ref());
            let lines = lines.join("\n- ");
            return Err(Understanding::Answer(self.pick(
                format!("That is so already:\n- {lines}\nNothing was changed."),
                format!("已经是这样了：\n- {lines}\n没有改动任何内容。"),
            )));
        }
        self.work.preferences = Some(after.clone());
        self.before.push(call(SET_PREFERENCES, json!(args)));
        self.leave(&after);
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

    /// Moves items out of sections that the person would avoid.
    fn leave(&mut self, wishes: &Preferences) {
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
