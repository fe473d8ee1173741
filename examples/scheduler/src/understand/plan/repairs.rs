//! Repairs of a day: what was planned and not done, or is too much today, gets another place.
//!
//! `schedule::repairs` finds them. Each is asked about by itself, and is undone like any other
//! change; of several ways for the same items the first that is agreed to counts.
use std::collections::BTreeSet;

use serde_json::json;

use super::{
    super::{Facts, Trouble, Understanding, when::When},
    Planner, Words, arrangement, call, is_ahead,
};
use crate::{
    contract::Call,
    schedule::{
        Change, EventType, PlacementStatus, Repair, RepairKind, ScheduleState, ScheduleTask, Slot,
        differences, repairs,
    },
    tools::{EDIT_TASK_CLASS, MARK_TASK},
};

/// Makes the repairs of a trouble.
pub(crate) fn repaired(trouble: Trouble, facts: &Facts<'_>) -> Understanding {
    let mut planner = Planner::new(facts, super::Limits::default());
    let troubled = planner.troubled(trouble);
    // What was marked as done a moment ago is not.
    let marked = planner.just_done();
    if trouble == Trouble::Missed && troubled.is_empty() && !marked.is_empty() {
        let calls = vec![call(
            MARK_TASK,
            json!({ "task_ids": marked, "done": false }),
        )];
        return Understanding::Calls {
            say: String::new(),
            calls,
        };
    }
    if troubled.is_empty() {
        return Understanding::Answer(planner.nothing(trouble));
    }
    // Whoever looks back in the evening, or is tired, does not go on today.
    if let Ok(today) = u16::try_from(facts.today) {
        planner.limits.closed.push(When {
            days: Some(BTreeSet::from([today])),
            ..When::default()
        });
    }
    planner.repaired(trouble, &troubled)
}

/// A repair: what it is in words, and the calls that make it.
type Row = (String, Vec<Call>);

impl Planner<'_> {
    /// Returns the items that the last change marked as done.
    fn just_done(&self) -> Vec<u32> {
        let before = self.facts.previous;
        let was_done = |id| {
            before
                .and_then(|it| it.task(id))
                .is_none_or(|it| it.marks.done)
        };
        let items = self.facts.schedule.tasks.iter();
        let items = items.filter(|task| task.marks.done && !was_done(task.state_id));
        items.map(|task| task.state_id).collect()
    }

    /// Says that nothing has to be repaired.
    fn nothing(&self, trouble: Trouble) -> String {
        match trouble {
            Trouble::Missed => self.pick(
                "Everything that was planned until now is done; nothing has to be repaired.",
                "到现在为止安排的事项都已完成，不需要调整。",
            ),
            Trouble::Tired => self.pick(
                "Nothing is planned for the rest of today; nothing has to be repaired.",
                "今天剩下的时间没有安排，不需要调整。",
            ),
        }
    }

    /// Returns the items that are in trouble, the earliest first.
    fn troubled(&self, trouble: Trouble) -> Vec<u32> {
        let missed = match (trouble, self.facts.now) {
            (Trouble::Missed, Some(now)) => self.work.missed(now),
            _ => vec![],
        };
        let here =
            |slot: &Slot| i32::from(slot.day) == self.facts.today && is_ahead(slot, self.facts);
        let is_troubled = |task: &&ScheduleTask| {
            let open = task.event_type == EventType::Task
                && task.status == PlacementStatus::Existing
                && !task.marks.done
                && !task.locked;
            let troubled = match trouble {
                Trouble::Missed => missed.contains(&task.state_id),
                Trouble::Tired => !task.slots.is_empty() && task.slots.iter().all(here),
            };
            open && troubled
        };
        let tasks = self.work.tasks.iter().filter(is_troubled);
        let mut found: Vec<_> = tasks.map(|task| (task.start(), task.state_id)).collect();
        found.sort_unstable();
        found.into_iter().map(|(_, id)| id).collect()
    }

    fn repaired(mut self, trouble: Trouble, troubled: &[u32]) -> Understanding {
        let list = self.listed(troubled);
        let mut say = vec![match trouble {
            Trouble::Missed => self.pick(
                format!("Planned and not done: {list}."),
                format!("安排了但没有做完：{list}。"),
            ),
            Trouble::Tired => self.pick(
                format!("Still planned for today: {list}."),
                format!("今天还剩：{list}。"),
            ),
        }];
        let rows = self.rows(troubled);
        if rows.is_empty() {
            say.push(self.pick(
                "I know no other place for it. Nothing was changed.",
                "找不到别的位置，没有改动任何内容。",
            ));
            return Understanding::Answer(say.join("\n"));
        }
        for (number, (words, _)) in (1..).zip(&rows) {
            say.push(format!("{number}. {words}"));
        }
        say.push(self.pick(
            "Each is asked about by itself; “undo” takes back what you agree to.",
            "每一项都会单独询问；同意之后说“撤销”可以恢复。",
        ));
        Understanding::Repairs {
            say: say.join("\n"),
            repairs: rows.into_iter().map(|(_, calls)| calls).collect(),
        }
    }

    /// Names items with their places.
    pub(super) fn listed(&self, items: &[u32]) -> String {
        let (comma, words) = (self.pick(", ", "、"), self.words);
        let named = items.iter().filter_map(|id| {
            let (name, lies) = (words.name(*id)?, words.lies(*id));
            Some(self.pick(format!("{name} ({lies})"), format!("{name}（{lies}）")))
        });
        named.collect::<Vec<_>>().join(&comma)
    }

    /// Returns the repairs: one for all items if all can be done again, and else those of each
    /// class, so that one item without a way does not spoil the others.
    fn rows(&mut self, troubled: &[u32]) -> Vec<Row> {
        let mut options = self.options.clone().earliest(self.facts.earliest());
        options.closed = self.closed();
        let all = repairs(&self.work, troubled, &options);
        if let [again] = all.as_slice()
            && again.kind == RepairKind::Again
        {
            return vec![self.row(again)];
        }
        let mut groups: Vec<(Option<u32>, Vec<u32>)> = vec![];
        for id in troubled {
            let class = self.work.task(*id).and_then(|task| task.task_class_id);
            match groups.iter_mut().find(|(known, _)| *known == class) {
                Some((_, items)) => items.push(*id),
                None => groups.push((class, vec![*id])),
            }
        }
        let mut rows = vec![];
        for (_, items) in groups {
            let found = repairs(&self.work, &items, &options);
            rows.extend(found.iter().map(|repair| self.row(repair)));
            match found.first() {
                Some(first) => first.changes.iter().for_each(|it| self.work.apply(it)),
                None => rows.extend(self.taken_out(&items)),
            }
        }
        rows
    }

    /// Returns a repair in words, with its calls.
    fn row(&self, repair: &Repair) -> Row {
        let mut after = self.work.clone();
        for change in &repair.changes {
            after.apply(change);
        }
        let mut calls = vec![];
        for end in &repair.ends {
            calls.push(match end.task {
                Some(task) => call(
                    MARK_TASK,
                    json!({ "task_ids": [task], "deadline": end.after }),
                ),
                None => call(
                    EDIT_TASK_CLASS,
                    json!({ "class_id": end.class, "end_date": end.after }),
                ),
            });
        }
        calls.extend(arrangement(&self.work, &after));
        let steps = self.steps(&after);
        let ends = repair.ends.iter().map(|end| {
            let class = || self.work.class(end.class).map(|class| class.name.clone());
            let name = match end.task {
                Some(task) => self.words.name(task),
                None => class().map(|name| self.pick(format!("“{name}”"), format!("《{name}》"))),
            };
            format!(
                "{} {} → {}",
                name.unwrap_or_default(),
                end.before,
                end.after
            )
        });
        let ends = ends
            .collect::<Vec<_>>()
            .join(self.facts.lang.pick(", ", "、"));
        let words = match repair.kind {
            RepairKind::Again => self.pick(
                format!("A free place ahead: {steps}."),
                format!("改到后面的空位：{steps}。"),
            ),
            RepairKind::Rest => self.pick(
                format!("Again, and what follows it later: {steps}."),
                format!("重新安排，后面的顺延：{steps}。"),
            ),
            RepairKind::LaterEnd => self.pick(
                format!("A later end ({ends}): {steps}."),
                format!("截止日期延后（{ends}）：{steps}。"),
            ),
            RepairKind::Split => self.pick(
                format!("In two parts: {steps}."),
                format!("分两次完成：{steps}。"),
            ),
        };
        (words, calls)
    }

    /// The last way: what fits nowhere goes back to what is to be placed.
    fn taken_out(&mut self, items: &[u32]) -> Option<Row> {
        let before = self.work.clone();
        for id in items {
            self.work.apply(&Change::Unplace { task: *id });
        }
        let call = arrangement(&before, &self.work)?;
        let names = self.words.names(items.iter().copied());
        let words = self.pick(
            format!("No room for {names}: back to what is to be placed."),
            format!("{names}没有空位：退回待安排。"),
        );
        Some((words, vec![call]))
    }

    /// Lists what moves, each with its place before and after.
    fn steps(&self, after: &ScheduleState) -> String {
        let on = |schedule| Words {
            schedule,
            ..self.words
        };
        let moved = differences(&self.work, after).into_iter();
        let steps = moved.filter_map(|difference| {
            let id = difference.task;
            let (from, to) = (on(&self.work).lies(id), on(after).lies(id));
            let name = self.words.name(id).unwrap_or_default();
            (from != to).then(|| format!("{name} {from} → {to}"))
        });
        steps
            .collect::<Vec<_>>()
            .join(self.facts.lang.pick("; ", "；"))
    }
}
