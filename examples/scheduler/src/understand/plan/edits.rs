//! Items and classes that change, or that are as they were.
use std::collections::{BTreeMap, BTreeSet};

use fugato::words::{has_any_word, normalize, number, numerals};
use serde_json::json;

use super::{
    super::{
        Facts, Understanding,
        lex::{LISTS, Noun, Verb},
        terms::is_length,
        when::When,
        wish::{Clause, Role, expand, is_open, not_understood},
    },
    PlanResult, Planner, call, is_ahead,
};
use crate::{
    schedule::{
        Change, ClassItem, ClassWrite, EventType, ScheduleState, ScheduleTask, Slot, Source,
        TaskClass, fewest_moves,
    },
    tools::{EDIT_TASK_CLASS, MARK_TASK, TermsEdit},
};

impl Planner<'_> {
    pub(super) fn delete(&mut self, clause: &Clause) -> PlanResult {
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

    pub(super) fn mark(&mut self, clause: &Clause, done: bool) -> PlanResult {
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
        // "Today's revision is done": of several the one that lies there.
        let there = clause.when(Role::At).or(clause.when(Role::From));
        if let Some(when) = there.filter(|_| items.len() > 1) {
            let there = self.those(&items, |task| {
                task.slots.iter().any(|slot| when.meets(slot))
            });
            if !there.is_empty() {
                items = there.into_iter().collect();
            }
        }
        let all: BTreeSet<u32> = clause
            .objects()
            .flat_map(|name| name.items.iter().copied())
            .collect();
        if items.is_empty() {
            items = all;
        }
        let kept = &self.limits.kept;
        items.retain(|id| {
            let task = self.work.task(*id);
            task.is_some_and(|task| !task.locked && !kept.contains(id))
        });
        if items.is_empty() {
            return Err(self.refuse(
                "Which item do you mean? Nothing was changed.",
                "你指的是哪一项？没有改动任何内容。",
            ));
        }
        self.write_mark(&items, done)
    }

    pub(super) fn write_mark(&mut self, items: &BTreeSet<u32>, done: bool) -> PlanResult {
        let differ = self.those(items, |task| task.marks.done != done);
        if differ.is_empty() {
            return self.marked_before(items, done);
        }
        self.before
            .push(call(MARK_TASK, json!({ "task_ids": differ, "done": done })));
        Ok(())
    }

    /// Handles a mark that is there already; what was missed gets another place.
    pub(super) fn marked_before(&mut self, items: &BTreeSet<u32>, done: bool) -> PlanResult {
        let names = self.words.names(items.iter().copied());
        if done {
            return Err(Understanding::Answer(self.pick(
                format!("{names} is marked as done already."),
                format!("{names}已经标记为完成了。"),
            )));
        }
        let missed = self.those(items, |task| {
            task.is_placed() && task.slots.iter().all(|slot| !is_ahead(slot, self.facts))
        });
        if missed.is_empty() {
            return Err(Understanding::Answer(self.pick(
                format!("{names} is not marked as done."),
                format!("{names}没有标记为完成。"),
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

    /// Returns true if something is to be done, and is not done yet: "I will finish it tomorrow",
    /// 打算今天做完. "I want it marked as done" is about the mark.
    fn is_still_to_do(&self, clause: &Clause) -> bool {
        let names = clause
            .names
            .iter()
            .flat_map(|(name, _)| expand(name, self.facts));
        let titles = names.filter_map(|id| self.work.task(id).map(|task| normalize(&task.name)));
        let mut text = titles.fold(clause.text.clone(), |text, title| text.replace(&title, " "));
        // "I have to say I finished it" is to be said, and done.
        for plan in LISTS.plans.plans.iter().chain(&LISTS.plans.signs) {
            for say in &LISTS.plans.says {
                text = text.replace(&format!("{plan} {say}"), " ");
                text = text.replace(&format!("{plan}{say}"), " ");
            }
        }
        let signs = || LISTS.plans.signs.iter().any(|sign| text.contains(sign));
        let plans = has_any_word(&text, &LISTS.plans.plans)
            || !text.contains(['了', '已', '刚']) && signs();
        plans && !LISTS.plans.marks.iter().any(|word| text.contains(word))
    }

    pub(super) fn done(&mut self, clause: &Clause, not: bool) -> PlanResult {
        // What is half done is not done.
        if clause.nouns.contains(&Noun::Half) {
            return Err(not_understood(&clause.text, self.facts));
        }
        // 不用做了: what need not be done is not undone.
        if not && needs_not(&clause.text) {
            return self.keep_as_said(clause);
        }
        let is_planned = !not && self.is_still_to_do(clause);
        // "Finish it before Friday" is about its place.
        let past = ["了", "done", "finished", "completed", "did", "已", "刚"]
            .iter()
            .any(|word| clause.text.contains(word))
            && !is_planned;
        let bounded = clause
            .whens
            .iter()
            .any(|(_, role)| matches!(role, Role::Before | Role::By));
        if !not && bounded && !past {
            let items = self.meant(clause)?;
            let lies = |task: &ScheduleTask| {
                task.is_placed() && task.slots.iter().all(|slot| self.admits(slot))
            };
            let there = self.those(&items, lies);
            if let (Some(id), true) = (there.first(), there.len() == items.len()) {
                let (names, lies) = (self.words.names(items), self.words.lies(*id));
                return Err(Understanding::Answer(self.pick(
                    format!("{names} lies in time: {lies}."),
                    format!("{names}的安排来得及：{lies}。"),
                )));
            }
            // 周三前能做完吗 asks, and wants nothing moved.
            if clause.is_question {
                let lies = items.iter().map(|id| {
                    let (name, lies) = (self.words.names([*id]), self.words.lies(*id));
                    self.pick(format!("{name}: {lies}"), format!("{name}：{lies}"))
                });
                let lies = lies
                    .collect::<Vec<_>>()
                    .join(self.facts.lang.pick("; ", "；"));
                return Err(Understanding::Answer(self.pick(
                    format!("As it is planned, no. {lies}."),
                    format!("按现在的安排来不及。{lies}。"),
                )));
            }
            return self.relocate(clause, true);
        }
        if is_planned {
            return Err(self.refuse(
                "That is still to be done, so nothing is marked, and nothing was changed. Tell me once it is done.",
                "这件事还没有做完，因此没有标记，也没有改动任何内容。做完了再告诉我。",
            ));
        }
        if (clause.nouns.contains(&Noun::All) || clause.nouns.contains(&Noun::Item))
            && clause.objects().next().is_none()
            && clause.whens.is_empty()
        {
            return Err(not_understood(&clause.text, self.facts));
        }
        self.mark(clause, !not)
    }

    pub(super) fn deadline(&mut self, clause: &Clause) -> PlanResult {
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
        if items.is_empty() && classes.is_empty() {
            return Err(not_understood(&clause.text, self.facts));
        }
        self.due(&items, &classes, day)
    }

    /// Gives items, or the classes whose items they are, a last day.
    pub(super) fn due(
        &mut self,
        items: &BTreeSet<u32>,
        classes: &BTreeSet<u32>,
        day: Option<u16>,
    ) -> PlanResult {
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
        if i32::from(day) < self.facts.today {
            return Err(self.unchanged(&self.pick("that day is over already", "那一天已经过去了")));
        }
        self.limits.by.push(When::on(day));
        let mut late = self.those(items, |task| {
            !task.marks.done && task.slots.iter().any(|slot| slot.day > day)
        });
        late.sort_by_key(|id| self.work.task(*id).and_then(ScheduleTask::start));
        if !late.is_empty() && !self.move_fewest(items, &late) {
            let mut again: BTreeSet<u32> = late.iter().copied().collect();
            let saved = self.work.clone();
            let each = late.iter().all(|id| {
                let near = self.work.task(*id).and_then(ScheduleTask::start);
                self.find(*id, &When::default(), near).is_ok()
            });
            if !each {
                self.work = saved;
                let placed = self.those(items, ScheduleTask::is_placed).into_iter();
                again.extend(placed.filter(|id| is_open(*id, self.facts)));
                self.again(&again, None)?;
            }
        }
        for class in classes {
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

    /// Brings items into the limits, with as few moves in each class as possible; false if there is
    /// no way by that.
    fn move_fewest(&mut self, items: &BTreeSet<u32>, late: &[u32]) -> bool {
        let class_of = |id: &u32| self.work.task(*id).and_then(|task| task.task_class_id);
        let classes: BTreeSet<u32> = late.iter().filter_map(class_of).collect();
        let options = self.options.clone().earliest(self.facts.earliest());
        let mut work = self.work.clone();
        for class in classes {
            let admits = |id: u32, slot: &Slot| {
                let asked = items.contains(&id);
                let stays = work.task(id).is_some_and(|task| task.slots == [*slot]);
                let may_move = is_open(id, self.facts) && !self.limits.kept.contains(&id);
                if asked {
                    self.admits(slot)
                } else {
                    stays || may_move
                }
            };
            let Some(changes) = fewest_moves(&work, class, admits, &options) else {
                return false;
            };
            for change in &changes {
                work.apply(change);
            }
        }
        self.work = work;
        true
    }

    pub(super) fn add(&mut self, clause: &Clause) -> PlanResult {
        // "Add an essay to the reading": the essay is no class here.
        let classes = clause.names.iter();
        let mut classes = classes.filter(|(name, _)| !name.classes.is_empty());
        let first = classes.clone().next();
        let class = classes.find(|(_, role)| *role == Role::To).or(first);
        let class = class.and_then(|(name, _)| name.classes.first().copied());
        let content = clause
            .quoted
            .first()
            .cloned()
            .unwrap_or_else(|| added(clause, self.facts));
        if is_length(&content, class.is_none(), self.facts) {
            return Err(self.refuse(
                format!("“{content}” is a length and no item. Say how long it takes in all: “… takes … hours”. Nothing was added."),
                format!("“{content}”是时长，不是事项。请说一共要多久：“……要……小时”。没有添加任何内容。"),
            ));
        }
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
        if names_several(&content) {
            return Err(self.refuse(
                "I add one item at a time. Nothing was added; say “add … to …” for each.",
                "一次只能添加一项。没有添加任何内容，请一项一项地说。",
            ));
        }
        if content.trim().is_empty() {
            return Err(self.refuse(
                "What shall be added? Nothing was added.",
                "要添加什么？没有添加任何内容。",
            ));
        }
        let is_due = clause.has(Verb::Deadline);
        let may = |role: Role| {
            matches!(role, Role::At | Role::To | Role::By) || is_due && role == Role::Before
        };
        let bounds = clause.whens.iter().any(|(_, role)| !may(*role));
        if bounds {
            return Err(self.refuse(
                format!("Add it first, without its last date, and then say “the deadline of {content} is …”. Nothing was added."),
                format!("请先添加，不要带期限，然后再说“{content}的截止日期是……”。没有添加任何内容。"),
            ));
        }
        let minutes = minutes_of(&clause.amounts);
        if minutes.is_none() && !clause.amounts.is_empty() {
            self.say.push(self.pick(
                format!("Its length is not set by that: say “{content} takes …” afterwards."),
                format!("这样不会设定时长：之后请说“{content}要……小时”。"),
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
        if minutes.is_some() {
            let terms = TermsEdit {
                task_id: Some(new),
                minutes,
                ..TermsEdit::default()
            };
            self.write_terms(class.id, vec![terms])?;
        }
        let items = BTreeSet::from([new]);
        let (due, others): (Vec<_>, Vec<_>) = clause
            .whens
            .iter()
            .partition(|(_, role)| is_due || *role == Role::By);
        if let Some((when, role)) = due.last() {
            let days = when.days.iter().flatten().copied();
            let day = match role {
                Role::Before => days.min().map(|day| day.saturating_sub(1)),
                _ => days.max(),
            };
            self.due(&items, &BTreeSet::new(), day)?;
        }
        if let Some((to, _)) = others.first() {
            self.send(&items, to)?;
        }
        Ok(())
    }
}

/// Returns a class with items added and removed.
pub(crate) fn edited(
    state: &ScheduleState,
    class: &TaskClass,
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
            terms: None,
        })
        .collect();
    all.extend((last + 1..).zip(add).map(|(order, content)| ClassItem {
        task: None,
        order,
        content: content.clone(),
        terms: None,
    }));
    let number = u32::try_from(all.len()).unwrap_or(1);
    let class = TaskClass {
        total_slots: each * number,
        ..class.clone()
    };
    ClassWrite {
        dropped: remove.iter().copied().collect(),
        ..ClassWrite::new(class, all)
    }
}

/// Returns true if a text says that something need not be.
pub(super) fn needs_not(text: &str) -> bool {
    LISTS
        .plans
        .needs_not
        .iter()
        .any(|words| text.contains(words))
}

/// Returns the minutes of amounts that are nothing but a length.
fn minutes_of(amounts: &[(i64, Noun)]) -> Option<u16> {
    let minutes = |(amount, unit): &(i64, Noun)| match unit {
        Noun::Hour => amount.checked_mul(60),
        Noun::Minute => Some(*amount),
        _ => None,
    };
    let all: Option<Vec<i64>> = amounts.iter().map(minutes).collect();
    let minutes = all?.iter().sum::<i64>();
    u16::try_from(minutes).ok().filter(|minutes| *minutes > 0)
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

/// Returns true if the text of a new item names several: "two tasks: book 5 and book 6".
fn names_several(content: &str) -> bool {
    const UNITS: [&str; 6] = ["tasks", "items", "things", "项", "个", "件"];
    let text = numerals(&normalize(content));
    let listed = text.contains([':', ',']);
    number(&text).is_some_and(|(count, rest)| {
        let rest = rest.trim_start();
        listed && count > 1 && UNITS.iter().any(|unit| rest.starts_with(unit))
    })
}
