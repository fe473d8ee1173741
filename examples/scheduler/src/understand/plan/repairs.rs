//! Repairs of a day: what was planned and not done, or is too much today, gets another place.
//!
//! Each repair is made by code, is asked about by itself, and is undone like any other change.
use std::collections::BTreeSet;

use fugato::words::normalize;
use serde_json::json;

use super::{
    super::{Facts, Understanding, when::When},
    Planner, arrangement, call, is_ahead,
};
use crate::{
    contract::Call,
    schedule::{
        Change, EventType, Marks, PlacementStatus, ScheduleState, ScheduleTask, Slot, differences,
    },
    tools::{EDIT_TASK_CLASS, MARK_TASK},
};

/// A reason to repair a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Something was planned and not done.
    Missed,
    /// The person is tired, so what is left of today is too much.
    Tired,
}

/// The words with which each trouble is told, without manners and full stops.
const MISSED: [&str; 24] = [
    "what did i not finish",
    "i did not finish",
    "i did not finish that",
    "i did not finish it",
    "i did not finish this",
    "i did not finish today",
    "i did not finish everything",
    "i did not get it done",
    "i did not get that done",
    "i did not manage that",
    "i did not do it",
    "i did not do that",
    "今天有什么没做完",
    "没做完",
    "我没做完",
    "没有做完",
    "我没有做完",
    "今天没做完",
    "今天没有做完",
    "没完成",
    "我没完成",
    "这个没做完",
    "那个没做完",
    "还没做完",
];
const TIRED: [&str; 16] = [
    "i am tired",
    "i am tired today",
    "i am too tired",
    "i am too tired today",
    "i am exhausted",
    "i am exhausted today",
    "today is too much",
    "今天太累了",
    "我今天太累了",
    "太累了",
    "我太累了",
    "今天很累",
    "我今天很累",
    "我累了",
    "今天好累",
    "累了",
];

impl Trouble {
    /// Reads the trouble that a text tells and nothing else; none for other texts.
    pub(crate) fn told(text: &str) -> Option<Self> {
        let text = normalize(text)
            .replace("didn't", "did not")
            .replace("i'm ", "i am ");
        let text = text
            .trim()
            .trim_end_matches(['.', '!', '?', '啊', '呢', ' ']);
        let says = |words: &[&str]| words.contains(&text);
        if says(&MISSED) {
            Some(Self::Missed)
        } else {
            says(&TIRED).then_some(Self::Tired)
        }
    }

    /// Returns the words with which the program itself asks about what was missed.
    #[cfg(feature = "evening")]
    pub(crate) fn asked(lang: crate::calendar::Lang) -> &'static str {
        lang.pick("What did I not finish?", "今天有什么没做完？")
    }
}

/// Makes the repairs of a trouble.
pub(crate) fn repaired(trouble: Trouble, facts: &Facts<'_>) -> Understanding {
    let mut planner = Planner::new(facts, super::Limits::default());
    let troubled = planner.troubled(trouble);
    if troubled.is_empty() {
        return Understanding::Answer(match trouble {
            Trouble::Missed => planner.pick(
                "Everything that was planned until now is done; nothing has to be repaired.",
                "到现在为止安排的事项都已完成，不需要调整。",
            ),
            Trouble::Tired => planner.pick(
                "Nothing is planned for the rest of today; nothing has to be repaired.",
                "今天剩下的时间没有安排，不需要调整。",
            ),
        });
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
type Repair = (String, Vec<Call>);

impl Planner<'_> {
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
        let mut repairs = vec![];
        let left = self.replanned(troubled, &mut repairs);
        let left = self.given_time(left, &mut repairs);
        self.taken_out(&left, &mut repairs);
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
        if repairs.is_empty() {
            say.push(self.pick(
                "I know no other place for it. Nothing was changed.",
                "找不到别的位置，没有改动任何内容。",
            ));
            return Understanding::Answer(say.join("\n"));
        }
        for (number, (words, _)) in (1..).zip(&repairs) {
            say.push(format!("{number}. {words}"));
        }
        say.push(self.pick(
            "Each is asked about by itself; “undo” takes back what you agree to.",
            "每一项都会单独询问；同意之后说“撤销”可以恢复。",
        ));
        Understanding::Repairs {
            say: say.join("\n"),
            repairs: repairs.into_iter().map(|(_, calls)| calls).collect(),
        }
    }

    /// Names items with their places.
    fn listed(&self, items: &[u32]) -> String {
        let (comma, words) = (self.pick(", ", "、"), self.words);
        let named = items.iter().filter_map(|id| {
            let (name, lies) = (words.name(*id)?, words.lies(*id));
            Some(self.pick(format!("{name} ({lies})"), format!("{name}（{lies}）")))
        });
        named.collect::<Vec<_>>().join(&comma)
    }

    /// The first repair: free places ahead, and followers of the same class moved behind where the
    /// order needs it. Returns the items for which there is none.
    fn replanned(&mut self, items: &[u32], repairs: &mut Vec<Repair>) -> Vec<u32> {
        let before = self.work.clone();
        let (mut moved, mut left) = (vec![], vec![]);
        for id in items {
            if self.placed_anew(*id) {
                moved.push(*id);
            } else {
                left.push(*id);
            }
        }
        if let Some(call) = arrangement(&before, &self.work) {
            let steps = self.steps(&before);
            let words = self.pick(
                format!("A free place ahead: {steps}."),
                format!("改到后面的空位：{steps}。"),
            );
            repairs.push((words, vec![call]));
        }
        left
    }

    /// The second repair: a later end, where only the end is in the way. Returns the items that it
    /// does not help.
    fn given_time(&mut self, items: Vec<u32>, repairs: &mut Vec<Repair>) -> Vec<u32> {
        let before = self.work.clone();
        let (mut helped, mut left) = (vec![], vec![]);
        for id in items {
            let saved = self.work.clone();
            self.without_end(id);
            if self.placed_anew(id) {
                helped.push(id);
            } else {
                self.work = saved;
                left.push(id);
            }
        }
        let last = |id: &u32| {
            let task = self.work.task(*id)?;
            let day = task.slots.iter().map(|slot| slot.day).max()?;
            Some(self.work.day(day)?.date.clone()).filter(|date| !date.is_empty())
        };
        let Some(end) = helped.iter().filter_map(last).max() else {
            self.work = before;
            left.extend(helped);
            return left;
        };
        let mut calls = vec![];
        let tasks = || helped.iter().filter_map(|id| before.task(*id));
        let dated: Vec<u32> = tasks()
            .filter(|task| task.marks.deadline.is_some())
            .map(|task| task.state_id)
            .collect();
        if !dated.is_empty() {
            let args = json!({ "task_ids": dated, "deadline": end });
            calls.push(call(MARK_TASK, args));
        }
        let classes: BTreeSet<u32> = tasks().filter_map(|task| task.task_class_id).collect();
        for id in classes {
            let ends = before.class(id).and_then(|class| class.end_date.as_ref());
            if ends.is_some_and(|ends| *ends < end) {
                let args = json!({ "class_id": id, "end_date": end });
                calls.push(call(EDIT_TASK_CLASS, args));
            }
        }
        let steps = self.steps(&before);
        let words = self.pick(
            format!("A later end, {end}: {steps}."),
            format!("截止日期延到 {end}：{steps}。"),
        );
        calls.extend(arrangement(&before, &self.work));
        repairs.push((words, calls));
        left
    }

    /// The last repair: what fits nowhere goes back to what is to be placed.
    fn taken_out(&mut self, items: &[u32], repairs: &mut Vec<Repair>) {
        let before = self.work.clone();
        for id in items {
            self.work.apply(&Change::Unplace { task: *id });
        }
        if let Some(call) = arrangement(&before, &self.work) {
            let names = self.words.names(items.iter().copied());
            let words = self.pick(
                format!("No room for {names}: back to what is to be placed."),
                format!("{names}没有空位：退回待安排。"),
            );
            repairs.push((words, vec![call]));
        }
    }

    /// Gives an item a place ahead; where the order of its class is in the way, its followers make
    /// room. Returns false, and changes nothing, if there is none.
    fn placed_anew(&mut self, id: u32) -> bool {
        if self.find(id, &When::default(), None).is_ok() {
            return true;
        }
        let saved = self.work.clone();
        let mut row = self.followers(id);
        row.insert(0, (id, None));
        for (id, _) in &row {
            self.work.apply(&Change::Unplace { task: *id });
        }
        let fits = row
            .iter()
            .all(|(id, near)| self.find(*id, &When::default(), *near).is_ok());
        if !fits {
            self.work = saved;
        }
        fits
    }

    /// Returns the placed items that come after an item in the order of its class, with the
    /// beginnings of their places.
    fn followers(&self, id: u32) -> Vec<(u32, Option<(u16, u8)>)> {
        let Some(task) = self.work.task(id) else {
            return vec![];
        };
        let is_after = |other: &&ScheduleTask| {
            other.task_class_id.is_some()
                && other.task_class_id == task.task_class_id
                && other.task_order > task.task_order
                && other.is_placed()
                && !other.marks.done
                && other.slots.iter().all(|slot| is_ahead(slot, self.facts))
        };
        let mut after: Vec<_> = self.work.tasks.iter().filter(is_after).collect();
        after.sort_by_key(|other| other.task_order);
        after
            .into_iter()
            .map(|other| (other.state_id, other.start()))
            .collect()
    }

    /// Takes away the ends that bind an item.
    fn without_end(&mut self, id: u32) {
        let Some(task) = self.work.task(id) else {
            return;
        };
        let class = task.task_class_id;
        let marks = Marks {
            deadline: None,
            ..task.marks.clone()
        };
        self.work.apply(&Change::Mark { task: id, marks });
        let classes = self.work.task_classes.iter_mut();
        for class in classes.filter(|known| Some(known.id) == class) {
            class.end_date = None;
        }
    }

    /// Lists what moved since, each with its place before and after.
    fn steps(&self, before: &ScheduleState) -> String {
        let old = super::Words {
            schedule: before,
            ..self.words
        };
        let new = super::Words {
            schedule: &self.work,
            ..self.words
        };
        let moved = differences(before, &self.work).into_iter();
        let steps = moved.filter_map(|difference| {
            let id = difference.task;
            let (from, to) = (old.lies(id), new.lies(id));
            (from != to).then(|| format!("{} {from} → {to}", new.name(id).unwrap_or_default()))
        });
        steps
            .collect::<Vec<_>>()
            .join(self.facts.lang.pick("; ", "；"))
    }
}
