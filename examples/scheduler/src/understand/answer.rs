//! Answers about the schedule. They change nothing.
mod lists;

use std::collections::BTreeSet;

use fugato::words::has_any_word;

use super::{
    Facts, Understanding,
    lex::{Noun, Query, Verb, obliges, permits},
    plan::{is_ahead, possible, spanned},
    when::When,
    wish::{Clause, Role, expand, not_understood, unread},
    words::Words,
};
use crate::schedule::{Board, EventType, ScheduleTask, Slot, WriteOptions, differences, explain};

/// Returns what the program understands.
pub(super) fn help(facts: &Facts<'_>) -> String {
    facts.lang.pick(
        "Without a model I understand plain sentences such as:\n\
         - “plan my week”, “place the mock exam on Friday morning”\n\
         - “move … to Thursday at 14:00”, “… two days later”, “swap … and …”\n\
         - “free Wednesday evening”, “I am ill tomorrow”, “nothing on weekends”\n\
         - “add … to …”, “drop …”, “… is done”, “… is not done”, “the deadline of … is on …”\n\
         - “… takes three hours”, “… only after …”, “never put … on Tuesday evenings”, “at most four sections a day”\n\
         - “spread …”, “rearrange everything, but keep Monday free”, “undo”, “undo the last two”, “redo”\n\
         - “what do I have on Wednesday”, “when is …”, “why is … there”, “when am I free”, “what is pending”\n\
         - “make a note: …”, “remind me to … on Friday at 5 pm”, “which notes have I”, “which reminders have I”\n\
         A change of the plan is shown before it is made; notes, reminders and times to keep free are kept at once, and can be taken back. A part that I do not understand stops everything.",
        "没有模型时，我能听懂这样的话：\n\
         - “把任务都排一下”，“把模拟卷安排在周五上午”\n\
         - “把……挪到周四14:00”，“……推迟两天”，“……和……互换”\n\
         - “周三晚上空出来”，“我明天生病了”，“周末不学习”\n\
         - “在……里加一项……”，“删除……”，“……做完了”，“……没做完”，“……的截止日期改到……”\n\
         - “……要三个小时”，“先做……再做……”，“每周二晚上都别排……”，“每天最多四节”\n\
         - “把……分散开”，“重新安排，但周一空着”，“撤销”，“撤销最近两次”，“重做”\n\
         - “周三有什么安排”，“……是什么时候”，“为什么……排在那天”，“什么时候有空”，“还有什么没排”\n\
         - “记一下……”，“周五下午五点提醒我……”，“有哪些备忘”，“有哪些提醒”\n\
         改动安排之前都会先给你看；备忘、提醒和要空着的时间会直接记下，随时可以撤掉。有没听懂的部分就什么也不做。",
    ).into()
}

/// The most items whose places are explained in one answer.
const MOST_EXPLAINED: usize = 6;

/// Answers a question.
pub(super) fn answer(clause: &Clause, facts: &Facts<'_>) -> Understanding {
    let mut clause = clause.clone();
    clause.unknown.retain(|word| !permits().contains(word));
    // A question may be about an item, however it is called.
    (clause.introduced, clause.quoted) = (None, vec![]);
    let clause = &clause;
    if let Some(refusal) = unread(clause, facts) {
        return refusal;
    }
    let desk = AnswerContext {
        facts,
        words: Words::of(facts),
        left_out: left_out(clause, facts),
    };
    let named = desk.named(clause);
    let within = match asked_time(clause, facts) {
        Ok(within) => within,
        Err(outside) => return outside,
    };
    let within = within.as_ref();
    let queries = &clause.queries;
    let has = |query: Query| queries.contains(&query);
    let counts = has(Query::Count) || has(Query::Length);
    let acted = matches!(
        clause.verbs.as_slice(),
        [(Verb::Move | Verb::Done, false), ..]
    );
    let text = if acted && has(Query::What) && named.is_empty() && clause.asks_you {
        desk.changed()
    } else if has(Query::Why) && !named.is_empty() {
        desk.why(&named)
    } else if has(Query::Why)
        && let Some(when) = within
    {
        let there = desk
            .on(when)
            .into_iter()
            .map(|(_, task)| task.state_id)
            .collect();
        desk.why(&there)
    } else if has(Query::Busiest) || has(Query::Calmest) {
        desk.fullest(within, has(Query::Busiest))
    } else if clause.verbs.iter().any(|(verb, _)| *verb == Verb::Deadline) {
        desk.deadlines(&named, within)
    } else if !named.is_empty() && has(Query::Length) {
        desk.lengths(clause, &named)
    } else if !named.is_empty() && has(Query::Count) {
        desk.count(Some(&named))
    } else if let Some(when) = desk.beside(clause, within) {
        desk.listing(&when, None)
    } else if !named.is_empty() {
        desk.about(&named, clause)
    } else if clause.nouns.contains(&Noun::Pending)
        || (clause
            .verbs
            .iter()
            .any(|(verb, not)| *verb == Verb::Place && *not))
    {
        match within {
            // 哪几天没有安排 asks for the days.
            Some(when) if has(Query::When) => desk.free(Some(when)),
            Some(when) => desk.left(when),
            None => desk.pending(),
        }
    } else if counts
        && clause.has(Verb::Free)
        && let Some(when) = within
    {
        desk.free(Some(when))
    } else if counts && let Some(when) = within {
        desk.load(when)
    } else if counts {
        desk.count(None)
    } else if has(Query::Free) || clause.has(Verb::Free) || clause.nouns.contains(&Noun::Off) {
        desk.free(within)
    } else if clause
        .verbs
        .iter()
        .any(|(verb, _)| matches!(verb, Verb::Done | Verb::Undone))
    {
        desk.done_or_not(clause, within)
    } else if let Some(when) = within {
        let courses = clause.nouns.contains(&Noun::Courses);
        desk.listing(when, courses.then_some(EventType::Course))
    } else if clause.nouns.contains(&Noun::Schedule)
        || clause.nouns.contains(&Noun::All)
        || clause.nouns.contains(&Noun::Item)
        || clause.has(Verb::Show)
        || has(Query::What) && !clause.nouns.is_empty()
    {
        desk.all()
    } else if has(Query::What) && clause.verbs.is_empty() {
        desk.ahead()
    } else {
        return not_understood("", facts);
    };
    Understanding::Answer(text)
}

/// Returns the days and times that a question is about.
///
/// # Errors
/// Returns the answer to a question about days that are not planned here.
fn asked_time(clause: &Clause, facts: &Facts<'_>) -> Result<Option<When>, Understanding> {
    let within = clause.whens.iter().find(|(when, _)| when.is_named());
    if within.is_some_and(|(when, _)| when.days.as_ref().is_some_and(BTreeSet::is_empty)) {
        return Err(Understanding::Answer(
            facts
                .lang
                .pick(
                    "That day is not among the weeks of this schedule.",
                    "那一天不在这份日程的范围内。",
                )
                .into(),
        ));
    }
    // "What is there until Friday" is about every day up to it.
    Ok(within.map(|(when, role)| match role {
        Role::To => spanned(when, Role::By, facts),
        Role::At => named_together(when, &clause.whens),
        role => spanned(when, *role, facts),
    }))
}

/// Returns the days and the times of a question that names them apart: "how many evenings have I next
/// week".
fn named_together(first: &When, whens: &[(When, Role)]) -> When {
    let mut all = first.clone();
    let at = |part: fn(&When) -> bool| {
        let mut whens = whens.iter();
        whens.find(|(when, role)| *role == Role::At && part(when))
    };
    if all.days.is_none()
        && let Some((when, _)) = at(|when| when.days.is_some())
    {
        (all.days, all.every) = (when.days.clone(), when.every.clone());
    }
    if all.starts.is_none()
        && let Some((when, _)) = at(|when| when.starts.is_some())
    {
        (all.starts, all.exact) = (when.starts.clone(), when.exact);
    }
    all
}

struct AnswerContext<'a> {
    facts: &'a Facts<'a>,
    words: Words<'a>,
    /// The items that the question excepts.
    left_out: BTreeSet<u32>,
}

/// Returns what a question excepts: "what else have I on Friday, besides courses?".
fn left_out(clause: &Clause, facts: &Facts<'_>) -> BTreeSet<u32> {
    let excepted = clause
        .names
        .iter()
        .filter(|(_, role)| *role == Role::Except);
    let mut ids: BTreeSet<u32> = excepted
        .flat_map(|(name, _)| {
            expand(name, facts)
                .into_iter()
                .chain(name.courses.iter().copied())
        })
        .collect();
    if clause.leaves_out_courses {
        let courses = facts.schedule.tasks.iter();
        let courses = courses.filter(|task| task.event_type == EventType::Course);
        ids.extend(courses.map(|task| task.state_id));
    }
    ids
}

impl AnswerContext<'_> {
    fn pick(&self, en: impl Into<String>, zh: impl Into<String>) -> String {
        self.facts.lang.pick(en.into(), zh.into())
    }

    /// Returns the tasks that a question names, courses too.
    fn named(&self, clause: &Clause) -> BTreeSet<u32> {
        let names = clause.names.iter();
        let asked = names.filter(|(_, role)| *role != Role::Except);
        asked
            .map(|(name, _)| name)
            .flat_map(|name| {
                let items = expand(name, self.facts);
                let courses = name
                    .courses
                    .iter()
                    .copied()
                    .filter(|_| items.is_empty() || name.exact);
                let courses: Vec<u32> = courses.collect();
                items.into_iter().chain(courses)
            })
            .collect()
    }

    /// Returns the time before or after the one thing of which a question asks what lies there: "what
    /// comes after the lab on Thursday?".
    fn beside(&self, clause: &Clause, within: Option<&When>) -> Option<When> {
        let [(name, role @ (Role::Before | Role::After))] = clause.names.as_slice() else {
            return None;
        };
        let ids = expand(name, self.facts).into_iter();
        let ids: BTreeSet<u32> = ids.chain(name.courses.iter().copied()).collect();
        let there = self.on(within.unwrap_or(&When::default())).into_iter();
        let mut there = there.filter(|(slot, task)| {
            ids.contains(&task.state_id) && (within.is_some() || is_ahead(slot, self.facts))
        });
        let (slot, _) = there
            .next()
            .filter(|_| clause.verbs.iter().all(|(_, not)| !not))?;
        let starts: BTreeSet<u8> = match role {
            Role::Before => (1..slot.slot_start).collect(),
            _ => (slot.slot_end + 1..=self.facts.sections.count()).collect(),
        };
        let starts = Some(starts);
        clause.queries.contains(&Query::What).then(|| When {
            starts,
            ..When::on(slot.day)
        })
    }

    /// Returns what lies in some days and times, in the order of time.
    fn on(&self, when: &When) -> Vec<(Slot, &ScheduleTask)> {
        let tasks = self.facts.schedule.tasks.iter();
        let all = tasks.flat_map(|task| task.slots.iter().map(move |slot| (*slot, task)));
        let asked = all.filter(|(_, task)| !self.left_out.contains(&task.state_id));
        let mut there: Vec<_> = asked.filter(|(slot, _)| when.meets(slot)).collect();
        there.sort_by_key(|(slot, task)| (*slot, task.state_id));
        there
    }

    /// Returns what the last change of the conversation did.
    fn changed(&self) -> String {
        let Some(previous) = self.facts.previous else {
            return self.pick(
                "I have changed nothing in this conversation so far.",
                "这次对话里我还没有改动过任何内容。",
            );
        };
        let before = Words {
            schedule: previous,
            ..self.words
        };
        let changed = differences(previous, self.facts.schedule).into_iter();
        let lines = changed.filter_map(|difference| {
            let id = difference.task;
            let name = self.words.name(id).or_else(|| before.name(id))?;
            let (from, to) = (before.lies(id), self.words.lies(id));
            let what = if from == to {
                to
            } else {
                self.pick(
                    format!("{to} (was {from})"),
                    format!("{to}（原来：{from}）"),
                )
            };
            Some(self.pick(format!("- {name}: {what}"), format!("- {name}：{what}")))
        });
        let lines: Vec<_> = lines.collect();
        let head = if lines.is_empty() {
            return self.pick(
                "My last change moved nothing.",
                "上一次改动没有移动任何内容。",
            );
        } else {
            self.pick("My last change:", "上一次改动：")
        };
        format!("{head}\n{}", lines.join("\n"))
    }

    /// Returns what is done or not, or what of it is not done in time.
    fn done_or_not(&self, clause: &Clause, within: Option<&When>) -> String {
        let bound = clause.whens.iter().find_map(|(when, role)| {
            let days = when.days.as_ref()?;
            match role {
                Role::Before => days.first().map(|day| day.saturating_sub(1)),
                Role::By => days.last().copied(),
                _ => None,
            }
        });
        if let Some(last) = bound {
            return self.done_by(last);
        }
        let not = clause.is_negated || clause.denies(Verb::Done) || clause.has(Verb::Undone);
        self.done(not, within)
    }

    /// Returns what is done, or not, of everything or of what lies in some days and times.
    fn done(&self, not: bool, within: Option<&When>) -> String {
        let is_there = |task: &ScheduleTask| {
            within.is_none_or(|when| task.slots.iter().any(|slot| when.meets(slot)))
        };
        let tasks = self.facts.schedule.tasks.iter().filter(|task| {
            task.event_type == EventType::Task && task.marks.done != not && is_there(task)
        });
        let names: Vec<_> = tasks.map(|task| task.name.as_str()).collect();
        let list = names.join(self.facts.lang.pick(", ", "、"));
        match (names.is_empty(), not) {
            (true, false) if within.is_some() => {
                self.pick("Nothing is done there.", "那段时间没有已完成的事项。")
            }
            (true, true) if within.is_some() => self.pick(
                "Nothing is left undone there.",
                "那段时间没有未完成的事项。",
            ),
            (true, false) => self.pick("Nothing is done yet.", "还没有完成的事项。"),
            (true, true) => self.pick("Everything is done.", "全部完成了。"),
            (false, false) => self.pick(format!("Done: {list}."), format!("已完成：{list}。")),
            (false, true) => self.pick(format!("Not done: {list}."), format!("未完成：{list}。")),
        }
    }

    /// Returns what is not done and does not end by a day.
    fn done_by(&self, last: u16) -> String {
        let tasks = self.facts.schedule.tasks.iter();
        let open = tasks.filter(|task| task.event_type == EventType::Task && !task.marks.done);
        let late =
            open.filter(|task| !task.is_placed() || task.slots.iter().any(|slot| slot.day > last));
        let late: Vec<_> = late
            .map(|task| format!("{} ({})", task.name, self.words.lies(task.state_id)))
            .collect();
        let day = self.words.day(last).unwrap_or_default();
        if late.is_empty() {
            return self.pick(
                format!("Everything that is not done lies on {day} at the latest."),
                format!("没完成的最晚都安排在{day}。"),
            );
        }
        let late = late.join(self.facts.lang.pick(", ", "、"));
        self.pick(
            format!("Not all of it: after {day} or without a place are {late}."),
            format!("不能全部：{day}之后或还没有位置的有 {late}。"),
        )
    }

    /// Returns how long these tasks take. A course takes as long as it lies there.
    fn lengths(&self, clause: &Clause, named: &BTreeSet<u32>) -> String {
        let names = clause.names.iter();
        let asked = names.filter(|(_, role)| *role != Role::Except);
        let lines = asked.flat_map(|(name, _)| self.words.terms_of(name, self.facts));
        let lines: Vec<String> = lines.collect();
        if lines.is_empty() {
            return self.facts_of(named, false);
        }
        lines.join("\n")
    }

    /// Returns where these tasks lie. "Is Friday fine for the report?", "Can it wait until Friday?" ask
    /// whether they may lie there, too, and "must it be done by Friday?" when it has to be done.
    fn about(&self, named: &BTreeSet<u32>, clause: &Clause) -> String {
        let asks_if_done = |(verb, _): &(Verb, bool)| matches!(verb, Verb::Done | Verb::Undone);
        let told = self.facts_of(named, clause.verbs.iter().any(asks_if_done));
        let by = |(_, role): &(When, Role)| matches!(role, Role::Before | Role::By);
        if clause.whens.iter().any(by) && has_any_word(&clause.text, obliges()) {
            return format!("{told}\n{}", self.deadlines(named, None));
        }
        let permits = has_any_word(&clause.text, permits())
            || has_any_word(&clause.text, &["能", "行吗", "行不行"]);
        let mut whens = clause.whens.iter();
        let asked = whens.find(|(when, _)| when.is_named());
        let Some((when, role)) =
            asked.filter(|_| permits && clause.queries.is_empty() && clause.amounts.is_empty())
        else {
            return told;
        };
        let within = match role {
            Role::At | Role::To => named_together(when, &clause.whens),
            role => spanned(when, *role, self.facts),
        };
        let may = named.iter().filter_map(|id| self.may_lie(*id, &within));
        let lines: Vec<String> = std::iter::once(told).chain(may).collect();
        lines.join("\n")
    }

    /// Returns whether an item that is not done may lie in some days and times, or what prevents it.
    fn may_lie(&self, id: u32, within: &When) -> Option<String> {
        let task = self.facts.schedule.task(id)?;
        if task.event_type == EventType::Course || task.marks.done {
            return None;
        }
        let name = self.words.name(id)?;
        if task.slots.iter().any(|slot| within.begins(slot)) {
            return Some(self.pick(
                format!("{name} lies there already."),
                format!("{name}已经在那里。"),
            ));
        }
        let class = self.facts.schedule.class_of(task);
        let end = class.and_then(|class| class.end_date.clone());
        let last = task.marks.deadline.clone().into_iter().chain(end).min();
        let last = last.map_or_else(String::new, |last| {
            self.pick(format!(" It is due by {last}."), format!("最晚 {last}。"))
        });
        Some(match possible(id, within, self.facts) {
            Ok(place) => self.pick(
                format!("Yes, {name} could lie on {place}.{last}"),
                format!("可以，{name}能排在 {place}。{last}"),
            ),
            Err(why) => self.pick(format!("No: {why}."), format!("不行：{why}。")),
        })
    }

    fn facts_of(&self, named: &BTreeSet<u32>, asks_if_done: bool) -> String {
        let mut seen = BTreeSet::new();
        let lines = named.iter().filter_map(|id| {
            let task = self.facts.schedule.task(*id)?;
            // A course has an entry for each week.
            if task.event_type == EventType::Course
                && (!seen.insert(task.name.clone()) && named.len() > 3)
            {
                return None;
            }
            let (name, lies) = (self.words.name(*id)?, self.words.lies(*id));
            let done = if task.marks.done {
                self.pick(", done", "，已完成")
            } else if asks_if_done && task.event_type == EventType::Task {
                self.pick(", not done", "，还没完成")
            } else {
                String::new()
            };
            Some(self.pick(
                format!("{name}: {lies}{done}."),
                format!("{name}：{lies}{done}。"),
            ))
        });
        let lines: Vec<_> = lines.collect();
        lines.join("\n")
    }

    /// Returns the last dates of these items, or of all, that lie in some days.
    fn deadlines(&self, named: &BTreeSet<u32>, within: Option<&When>) -> String {
        let mut lines = vec![];
        let within = within.and_then(|when| when.days.as_ref());
        let is_asked = |date: &str| {
            let mut days = self.facts.schedule.window.days.iter();
            let day = days.find(|day| day.date == date).map(|day| day.day_index);
            within.is_none_or(|within| day.is_some_and(|day| within.contains(&day)))
        };
        for class in &self.facts.schedule.task_classes {
            let of = |id: &u32| {
                self.facts
                    .schedule
                    .task(*id)
                    .is_some_and(|task| task.task_class_id == Some(class.id))
            };
            if !named.is_empty() && !named.iter().any(of) {
                continue;
            }
            let name = &class.name;
            match &class.end_date {
                Some(date) if !is_asked(date) => {}
                Some(date) => lines.push(self.pick(
                    format!("{name}: {date} at the latest."),
                    format!("{name}：最晚 {date}。"),
                )),
                None if !named.is_empty() => lines.push(self.pick(
                    format!("{name} has no deadline."),
                    format!("{name}没有截止日期。"),
                )),
                None => {}
            }
        }
        for id in named {
            let date = self
                .facts
                .schedule
                .task(*id)
                .and_then(|task| task.marks.deadline.clone());
            let date = date.filter(|date| is_asked(date));
            if let (Some(date), Some(name)) = (date, self.words.name(*id)) {
                lines.push(self.pick(
                    format!("{name}: {date} at the latest."),
                    format!("{name}：最晚 {date}。"),
                ));
            }
        }
        match (lines.is_empty(), within) {
            (true, None) => self.pick("There is no deadline.", "没有截止日期。"),
            (true, Some(_)) => {
                let none = self.pick("No deadline lies there.", "那段时间没有截止日期。");
                if named.is_empty() {
                    return none;
                }
                format!("{none}\n{}", self.deadlines(named, None))
            }
            (false, _) => lines.join("\n"),
        }
    }

    fn free(&self, within: Option<&When>) -> String {
        let board = Board::new(self.facts.schedule);
        let days = within.and_then(|when| when.days.clone());
        let days = days.unwrap_or_else(|| {
            let week = self.facts.days_ahead().map(|day| day.day_index);
            week.take_while(|day| i32::from(*day) < self.facts.today + 7)
                .collect()
        });
        let mut lines = vec![];
        for day in days {
            let free: Vec<Slot> = board
                .free(day)
                .into_iter()
                .flat_map(|slot| {
                    (slot.slot_start..=slot.slot_end)
                        .map(move |section| Slot::new(day, section, section))
                })
                .filter(|slot| {
                    is_ahead(slot, self.facts) && within.is_none_or(|when| when.begins(slot))
                })
                .collect();
            let times: Vec<_> = Slot::compress(free)
                .iter()
                .map(|slot| self.words.time(slot))
                .collect();
            let Some(name) = self.words.day(day) else {
                continue;
            };
            let ahead = (1..=self.facts.sections.count()).any(|section| {
                let slot = Slot::new(day, section, section);
                is_ahead(&slot, self.facts) && within.is_none_or(|when| when.begins(&slot))
            });
            if !ahead {
                lines.push(self.pick(
                    format!("{name}: that time is over"),
                    format!("{name}：那个时间已经过去"),
                ));
                continue;
            }
            lines.push(if times.is_empty() {
                let there = within.map(|when| When {
                    days: Some(BTreeSet::from([day])),
                    ..when.clone()
                });
                let names: Vec<_> = there
                    .iter()
                    .flat_map(|when| self.on(when))
                    .map(|(_, task)| task.name.as_str())
                    .collect();
                let names = names.join(self.facts.lang.pick(", ", "、"));
                self.pick(
                    format!("{name}: not free: {names}"),
                    format!("{name}：没有空：{names}"),
                )
            } else {
                let times = times.join(self.facts.lang.pick(", ", "、"));
                self.pick(
                    format!("{name}: free {times}"),
                    format!("{name}：有空 {times}"),
                )
            });
        }
        lines.join("\n")
    }

    /// Explains why items lie where they do.
    fn why(&self, named: &BTreeSet<u32>) -> String {
        if named.len() > MOST_EXPLAINED {
            return self.pick(
                "These are many items. Ask about one: “why is … there?”",
                "这里有很多项，请问其中一项：“为什么……排在那天？”",
            );
        }
        let mut lines = vec![];
        for id in named {
            let Some(task) = self.facts.schedule.task(*id) else {
                continue;
            };
            let name = self.words.name(*id).unwrap_or_default();
            if task.event_type == EventType::Course {
                lines.push(self.pick(
                    format!("{name} is a fixed course of your timetable."),
                    format!("{name}是课表里的固定课程。"),
                ));
                continue;
            }
            if !task.is_placed() {
                lines.push(self.pick(
                    format!("{name} has no place yet, because it was not planned so far."),
                    format!("{name}还没有安排位置。"),
                ));
                continue;
            }
            lines.push(self.reason(task, &name));
        }
        lines.join("\n")
    }

    fn reason(&self, task: &ScheduleTask, name: &str) -> String {
        let lies = self.words.lies(task.state_id);
        let mut parts = vec![self.pick(
            format!("{name} lies on {lies}."),
            format!("{name}在 {lies}。"),
        )];
        if let Some(class) = self.facts.schedule.class_of(task) {
            let strategy = match class.strategy {
                crate::schedule::Strategy::Steady => {
                    self.pick("is spread evenly over the weeks", "平均分布在各周")
                }
                crate::schedule::Strategy::Rapid => {
                    self.pick("is done as early as possible", "尽早完成")
                }
            };
            parts.push(self.pick(
                format!("“{}” {strategy}.", class.name),
                format!("“{}”{strategy}。", class.name),
            ));
            if let Some(end) = &class.end_date {
                parts.push(self.pick(
                    format!("It has to be finished by {end}."),
                    format!("要在 {end} 之前完成。"),
                ));
            }
            let siblings = self
                .facts
                .schedule
                .tasks
                .iter()
                .filter(|other| other.task_class_id == task.task_class_id && other.is_placed());
            let before = siblings
                .clone()
                .filter(|other| other.task_order < task.task_order)
                .max_by_key(|other| other.task_order);
            let after = siblings
                .filter(|other| other.task_order > task.task_order)
                .min_by_key(|other| other.task_order);
            if let Some(other) = before {
                let (other_name, at) = (
                    self.words.name(other.state_id).unwrap_or_default(),
                    self.words.lies(other.state_id),
                );
                parts.push(self.pick(
                    format!("It comes after {other_name} ({at}) in the order of its class."),
                    format!("按本类顺序，它在{other_name}（{at}）之后。"),
                ));
            }
            if let Some(other) = after {
                let (other_name, at) = (
                    self.words.name(other.state_id).unwrap_or_default(),
                    self.words.lies(other.state_id),
                );
                parts.push(self.pick(
                    format!("It comes before {other_name} ({at})."),
                    format!("它在{other_name}（{at}）之前。"),
                ));
            }
        }
        let options = WriteOptions::default().earliest(self.facts.earliest());
        if let Some(reason) = explain(self.facts.schedule, task.state_id, &options) {
            parts.push(self.words.place_reason(&reason));
        }
        parts.join(self.facts.lang.pick(" ", ""))
    }
}
