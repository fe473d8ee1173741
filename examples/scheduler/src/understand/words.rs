//! Days, places and reasons in a person's words.
use super::Facts;
use crate::{
    calendar::{Lang, Sections},
    schedule::{BrokenRule, ScheduleState, Slot, WriteRefusal},
};

/// The words for one language over one schedule.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words<'a> {
    pub(crate) schedule: &'a ScheduleState,
    /// The clock times; without them sections are named, as models count them.
    pub(crate) sections: Option<&'a Sections>,
    pub(crate) lang: Lang,
}

pub(super) const WEEKDAYS: ([&str; 7], [&str; 7]) = (
    ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"],
    ["周一", "周二", "周三", "周四", "周五", "周六", "周日"],
);

const FULL: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

impl<'a> Words<'a> {
    pub(super) fn of(facts: &Facts<'a>) -> Self {
        Self {
            schedule: facts.schedule,
            sections: Some(facts.sections),
            lang: facts.lang,
        }
    }

    /// Returns the name of a task in quotation marks.
    pub(crate) fn name(&self, task: u32) -> Option<String> {
        let name = &self.schedule.task(task)?.name;
        Some(self.lang.pick(format!("“{name}”"), format!("《{name}》")))
    }

    /// Returns the names of tasks.
    pub(super) fn names(&self, tasks: impl IntoIterator<Item = u32>) -> String {
        let names: Vec<_> = tasks
            .into_iter()
            .filter_map(|task| self.name(task))
            .collect();
        names.join(self.lang.pick(", ", "、"))
    }

    /// Returns a day as `Fri 2026-04-17`.
    pub(crate) fn day(&self, day: u16) -> Option<String> {
        let day = self.schedule.day(day)?;
        let names = self.lang.pick(WEEKDAYS.0, WEEKDAYS.1);
        let name = names.get(usize::from(day.day_of_week).checked_sub(1)?)?;
        let (week, date) = (day.week, &day.date);
        Some(if date.is_empty() {
            self.lang.pick(
                format!("{name} of week {week}"),
                format!("第{week}周{name}"),
            )
        } else {
            format!("{name} {date}")
        })
    }

    /// Returns the times of a slot, `10:00–11:50`, or its sections where there is no table.
    pub(crate) fn time(&self, slot: &Slot) -> String {
        if let Some((begin, end)) = self.sections.and_then(|sections| sections.times(slot)) {
            let (begin, end) = (begin.strftime("%H:%M"), end.strftime("%H:%M"));
            return format!("{begin}–{end}");
        }
        let (first, last) = (slot.slot_start, slot.slot_end);
        self.lang.pick(
            format!("sections {first}–{last}"),
            format!("第{first}–{last}节"),
        )
    }

    /// Returns a place as `Fri 2026-04-17, 10:00–11:50`.
    pub(crate) fn place(&self, slot: &Slot) -> Option<String> {
        let (day, time) = (self.day(slot.day)?, self.time(slot));
        Some(
            self.lang
                .pick(format!("{day}, {time}"), format!("{day} {time}")),
        )
    }

    /// Returns the place of a task, or that it has none.
    pub(crate) fn lies(&self, task: u32) -> String {
        let task = self.schedule.task(task);
        let places = task.iter().flat_map(|task| &task.slots);
        let places: Vec<_> = places.filter_map(|slot| self.place(slot)).collect();
        if places.is_empty() {
            return self.lang.pick("no place yet", "还没有安排").into();
        }
        places.join(self.lang.pick(" and ", "和"))
    }

    /// Returns the reason of a refusal.
    pub(crate) fn refusal(&self, refusal: &WriteRefusal) -> String {
        let lang = self.lang;
        let name = |task: &u32| self.name(*task).unwrap_or_default();
        match refusal {
            WriteRefusal::Locked { name, .. } => lang.pick(
                format!("“{name}” is a fixed course and cannot move"),
                format!("《{name}》是固定课程，不能移动"),
            ),
            WriteRefusal::Conflict { slot, name, .. } => {
                let place = self.place(slot).unwrap_or_default();
                lang.pick(
                    format!("{place} is not free: “{name}” is there"),
                    format!("{place} 没有空：那里是《{name}》"),
                )
            }
            WriteRefusal::Order {
                task,
                sibling,
                order,
                sibling_order,
                ..
            } => {
                let (task, other) = (name(task), name(sibling));
                let lies = self.lies(*sibling);
                if order > sibling_order {
                    lang.pick(
                        format!(
                            "{task} must come after {other} ({lies}), by the order of its class"
                        ),
                        format!("按本类的顺序，{task}必须在{other}（{lies}）之后"),
                    )
                } else {
                    lang.pick(
                        format!(
                            "{task} must come before {other} ({lies}), by the order of its class"
                        ),
                        format!("按本类的顺序，{task}必须在{other}（{lies}）之前"),
                    )
                }
            }
            WriteRefusal::ClassRule { class, rule, .. } => self.rule(class, rule),
            WriteRefusal::ItemDeadline { task, last } => {
                let task = name(task);
                lang.pick(
                    format!("{task} must not lie later than {last}"),
                    format!("{task}不能晚于 {last}"),
                )
            }
            WriteRefusal::Done(task) => {
                let task = name(task);
                lang.pick(
                    format!("{task} is already done"),
                    format!("{task}已经完成了"),
                )
            }
            WriteRefusal::DifferentDurations { task_a, task_b, .. } => {
                let (a, b) = (name(task_a), name(task_b));
                lang.pick(
                    format!("{a} and {b} do not take equally long, so they cannot change places"),
                    format!("{a}和{b}时长不同，不能互换"),
                )
            }
            WriteRefusal::NotPlaced(task) => {
                let task = name(task);
                lang.pick(
                    format!("{task} has no place yet"),
                    format!("{task}还没有安排"),
                )
            }
            WriteRefusal::AlreadyThere(task) => {
                let (task, lies) = (name(task), self.lies(*task));
                lang.pick(
                    format!("{task} lies there already ({lies}), so nothing changes"),
                    format!("{task}本来就在那里（{lies}），不用改动"),
                )
            }
            WriteRefusal::HasGuest { task, guest } => {
                let (task, guest) = (name(task), name(guest));
                lang.pick(
                    format!("{guest} lies inside {task}"),
                    format!("{guest}安排在{task}之内"),
                )
            }
            other => crate::reason::refusal(other, self.schedule, lang),
        }
    }

    fn rule(&self, class: &str, rule: &BrokenRule) -> String {
        let lang = self.lang;
        match rule {
            BrokenRule::DayOfWeek(day) => {
                let names = lang.pick(FULL, WEEKDAYS.1);
                let at = usize::from(*day).saturating_sub(1);
                let day = names.get(at).copied().unwrap_or_default();
                lang.pick(
                    format!("“{class}” is never on a {day}"),
                    format!("“{class}”不安排在{day}"),
                )
            }
            BrokenRule::Block(block) => {
                let slot = Slot::new(1, block * 2 - 1, block * 2);
                let time = self.time(&slot);
                lang.pick(
                    format!("“{class}” is never at {time}"),
                    format!("“{class}”不安排在 {time}"),
                )
            }
            BrokenRule::TooEarly(date) => lang.pick(
                format!("“{class}” does not begin before {date}"),
                format!("“{class}” {date} 之前不开始"),
            ),
            BrokenRule::TooLate(date) => lang.pick(
                format!("“{class}” must be finished on {date}"),
                format!("“{class}”必须在 {date} 之前完成"),
            ),
            BrokenRule::Filler => lang.pick(
                format!("“{class}” does not lie inside courses"),
                format!("“{class}”不能安排在课内"),
            ),
            _ => lang.pick(
                format!("“{class}” does not allow it"),
                format!("“{class}”不允许"),
            ),
        }
    }
}
