//! Lists of what lies in some days, and how much it is.
use std::collections::BTreeSet;

use super::{
    super::{plan::is_ahead, when::When},
    AnswerContext,
};
use crate::schedule::{EventType, ScheduleTask, Slot};

impl AnswerContext<'_> {
    fn line(&self, slot: &Slot, task: &ScheduleTask) -> String {
        let time = self.words.time(slot);
        let name = &task.name;
        let mark = match (task.event_type, task.marks.done) {
            (EventType::Course, _) => self.pick(" (course)", "（课程）"),
            (_, true) => self.pick(" (done)", "（已完成）"),
            (EventType::Task, false) => String::new(),
        };
        format!("  {time}  {name}{mark}")
    }

    /// Returns the times of a day that are asked for, behind the name of the day; empty for all of it.
    fn times_of(&self, when: &When) -> String {
        let hours = when.starts.as_ref().map(|starts| self.words.times(starts));
        let hours = hours.filter(|hours| !hours.is_empty());
        hours.map_or_else(String::new, |hours| {
            self.pick(format!(", {hours}"), format!(" {hours}"))
        })
    }

    /// Returns what lies in some days and times, or what of one kind.
    pub(super) fn listing(&self, when: &When, only: Option<EventType>) -> String {
        let mut lines = vec![];
        let days: BTreeSet<u16> = match &when.days {
            Some(days) => days.clone(),
            None => u16::try_from(self.facts.today).into_iter().collect(),
        };
        for day in &days {
            let one = When {
                days: Some(BTreeSet::from([*day])),
                ..when.clone()
            };
            let mut there = self.on(&one);
            there.retain(|(_, task)| only.is_none_or(|only| only == task.event_type));
            let Some(name) = self.words.day(*day) else {
                continue;
            };
            let name = format!("{name}{}", self.times_of(when));
            if there.is_empty() && only == Some(EventType::Course) {
                lines.push(self.pick(format!("{name}: no courses"), format!("{name}：没有课程")));
                continue;
            }
            if there.is_empty() && !self.left_out.is_empty() {
                lines.push(self.pick(
                    format!("{name}: nothing else"),
                    format!("{name}：没有别的安排"),
                ));
                continue;
            }
            if there.is_empty() {
                lines.push(self.pick(format!("{name}: nothing"), format!("{name}：没有安排")));
                continue;
            }
            lines.push(self.pick(format!("{name}:"), format!("{name}：")));
            lines.extend(there.iter().map(|(slot, task)| self.line(slot, task)));
        }
        if lines.is_empty() {
            return self.pick("There is nothing.", "没有安排。");
        }
        lines.join("\n")
    }

    pub(super) fn all(&self) -> String {
        let days = self.facts.days_ahead().map(|day| day.day_index);
        let days: BTreeSet<u16> = days
            .filter(|day| !self.on(&When::on(*day)).is_empty())
            .collect();
        let listing = self.listing(
            &When {
                days: Some(days),
                ..When::default()
            },
            None,
        );
        let pending = self.pending();
        format!("{listing}\n{pending}")
    }

    /// Returns how much lies in some days and times, and how long it takes by the clock.
    pub(super) fn load(&self, when: &When) -> String {
        let there = self.on(when);
        let of = |kind: EventType| {
            let own = there.iter().filter(|(_, task)| task.event_type == kind);
            let times = own
                .clone()
                .filter_map(|(slot, _)| self.words.sections?.times(slot));
            let minutes = times.map(|(begin, end)| begin.duration_until(end).as_mins());
            (own.count(), minutes.sum::<i64>())
        };
        let ((items, worked), (courses, sat)) = (of(EventType::Task), of(EventType::Course));
        let time = |minutes: i64| {
            let (hours, rest) = (minutes / 60, minutes % 60);
            self.pick(
                format!("{hours} h {rest:02} min"),
                format!("{hours} 小时 {rest} 分钟"),
            )
        };
        let (worked, sat) = (time(worked), time(sat));
        let mut told = self.pick(
            format!("Items: {items}, {worked} in all. Courses: {courses}, {sat} in all."),
            format!("事项 {items} 个，共 {worked}；课程 {courses} 节次，共 {sat}。"),
        );
        if let Some(days) = &when.days
            && let (Some(first), Some(last)) = (days.first(), days.last())
            && let (Some(first), Some(last)) = (self.words.day(*first), self.words.day(*last))
        {
            let times = self.times_of(when);
            let days = if first == last {
                format!("{first}{times}")
            } else {
                format!("{first} – {last}{times}")
            };
            told = self.pick(format!("{days}: {told}"), format!("{days}：{told}"));
        }
        told
    }

    /// Returns the day on which most lies, or least; of some days, or of the next seven.
    pub(super) fn fullest(&self, within: Option<&When>, most: bool) -> String {
        let ahead = self.facts.days_ahead().map(|day| day.day_index);
        // "Is Monday the busiest day?" is about the other days, too.
        let asked = within.and_then(|when| when.days.clone());
        let asked = asked.filter(|days| days.len() > 1);
        let days: Vec<u16> = match asked {
            Some(days) => ahead.filter(|day| days.contains(day)).collect(),
            None => ahead.take(7).collect(),
        };
        let on = |day: u16| When {
            days: Some(BTreeSet::from([day])),
            ..within.cloned().unwrap_or_default()
        };
        let sections = |day: u16| {
            let there = self.on(&on(day)).into_iter();
            there
                .map(|(slot, _)| u32::from(slot.sections()))
                .sum::<u32>()
        };
        let counts = days.iter().map(|day| (*day, sections(*day)));
        let counts: Vec<(u16, u32)> = counts.collect();
        let ends = counts.iter().map(|(_, count)| *count);
        let Some(end) = (if most { ends.max() } else { ends.min() }) else {
            return self.pick("There is no such day ahead.", "后面没有这样的日子。");
        };
        let found = counts.iter().filter(|(_, count)| *count == end);
        let lines: Vec<String> = found.map(|(day, _)| self.load(&on(*day))).collect();
        lines.join("\n")
    }

    pub(super) fn ahead(&self) -> String {
        let next = self
            .on(&When::default())
            .into_iter()
            .find(|(slot, task)| is_ahead(slot, self.facts) && !task.marks.done);
        match next.and_then(|(slot, task)| Some((self.words.place(&slot)?, task))) {
            Some((place, task)) => self.pick(
                format!("Next: {}, {place}.", task.name),
                format!("接下来是：{}，{place}。", task.name),
            ),
            None => self.pick("Nothing is ahead.", "后面没有安排。"),
        }
    }

    /// Returns what is still ahead in some days and times.
    pub(super) fn left(&self, when: &When) -> String {
        let there = self.on(when).into_iter();
        let ahead = there.filter(|(slot, task)| is_ahead(slot, self.facts) && !task.marks.done);
        let (mut lines, mut last) = (vec![], None);
        for (slot, task) in ahead {
            if last.replace(slot.day) != Some(slot.day) {
                let day = self.words.day(slot.day).unwrap_or_default();
                lines.push(self.pick(format!("{day}:"), format!("{day}：")));
            }
            lines.push(self.line(&slot, task));
        }
        let is_over = |day: &u16| i32::from(*day) < self.facts.today;
        if when
            .days
            .as_ref()
            .is_some_and(|days| days.iter().all(is_over))
        {
            return self.done(true, Some(when));
        }
        if lines.is_empty() {
            return self.pick("Nothing is left there.", "那里没有剩下的安排。");
        }
        lines.join("\n")
    }

    pub(super) fn pending(&self) -> String {
        let tasks = self
            .facts
            .schedule
            .tasks
            .iter()
            .filter(|task| task.is_pending_item());
        let names: Vec<_> = tasks.map(|task| task.name.as_str()).collect();
        if names.is_empty() {
            let count = self.count(None);
            return self.pick(
                format!("Nothing waits for a place. {count}"),
                format!("没有待办，都已安排。{count}"),
            );
        }
        let list = names.join(self.facts.lang.pick(", ", "、"));
        self.pick(
            format!("Pending, without a place: {list}."),
            format!("还没有安排的：{list}。"),
        )
    }

    pub(super) fn count(&self, of: Option<&BTreeSet<u32>>) -> String {
        let tasks: Vec<_> = self
            .facts
            .schedule
            .tasks
            .iter()
            .filter(|task| {
                task.event_type == EventType::Task
                    && of.is_none_or(|of| of.contains(&task.state_id))
            })
            .collect();
        let done = tasks.iter().filter(|task| task.marks.done).count();
        let pending = tasks.iter().filter(|task| task.is_pending_item()).count();
        let placed = tasks.len() - done - pending;
        let all = tasks.len();
        let open: Vec<_> = tasks
            .iter()
            .filter(|task| !task.marks.done)
            .map(|task| task.name.as_str())
            .collect();
        let open = open.join(self.facts.lang.pick(", ", "、"));
        self.pick(
            format!("{all} items: {done} done, {placed} placed and not done, {pending} pending. Left: {open}."),
            format!("共 {all} 项：已完成 {done} 项，已安排未完成 {placed} 项，待办 {pending} 项。剩下：{open}。"),
        )
    }
}
