//! Days, places and reasons in a person's words.
use super::Facts;
use crate::{
    calendar::{Lang, Sections, weekday},
    schedule::{PlaceReason, ScheduleState, Slot, WriteRefusal, told},
};

/// The words for one language over one schedule.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words<'a> {
    pub(crate) schedule: &'a ScheduleState,
    /// The clock times; without them sections are named, as models count them.
    pub(crate) sections: Option<&'a Sections>,
    pub(crate) lang: Lang,
}

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
        let name = weekday(self.lang, day.day_of_week);
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
        told::refusal(refusal, self.schedule)
    }

    /// Returns the reason for a place.
    pub(crate) fn place_reason(&self, reason: &PlaceReason) -> String {
        told::place_reason(reason, |slot| self.place(slot).unwrap_or_default())
    }
}
