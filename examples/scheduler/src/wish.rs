//! The effects of a call as text for a person: names and dates in place of ids and numbers.
use fugato::state::ToolCall;
use serde::de::DeserializeOwned;

use crate::{
    calendar::Lang,
    schedule::{
        ScheduleState,
        tools::{
            ArrangeArgs, Arrangement, BatchMoveArgs, MarkArgs, MoveArgs, PlaceArgs, SwapArgs,
            UnplaceArgs,
        },
    },
    tools::{ARRANGE, EDIT_TASK_CLASS, EditClassArgs, MARK_TASK},
};

/// Describes the effect of a call on this schedule, a line for each task; none for calls that
/// change no place, and for those that name unknown tasks.
pub(crate) fn in_words(call: &ToolCall, schedule: &ScheduleState, lang: Lang) -> Option<String> {
    let words = Words { schedule, lang };
    match call.name.as_str() {
        "place" => {
            let PlaceArgs {
                task_id,
                day,
                slot_start,
            } = arguments(call)?;
            words.goes(task_id, day, slot_start)
        }
        "move" => words.moves(&arguments(call)?),
        "batch_move" => {
            let BatchMoveArgs { moves } = arguments(call)?;
            let lines: Option<Vec<_>> = moves.iter().map(|one| words.moves(one)).collect();
            Some(lines?.join("\n"))
        }
        "swap" => {
            let SwapArgs { task_a, task_b } = arguments(call)?;
            let (a, b) = (words.name(task_a)?, words.name(task_b)?);
            Some(lang.pick(
                format!("{a} and {b} change places"),
                format!("{a}与{b}互换位置"),
            ))
        }
        "unplace" => {
            let UnplaceArgs { task_id } = arguments(call)?;
            let name = words.name(task_id)?;
            Some(lang.pick(
                format!("{name} is taken out, and wants a place again"),
                format!("取消{name}的安排，重新待排"),
            ))
        }
        ARRANGE => {
            let ArrangeArgs { tasks } = arguments(call)?;
            let line = |to: &Arrangement| match to.day.zip(to.slot_start) {
                Some((day, start)) => words.comes(to.task_id, day, start),
                None => words.out(to.task_id),
            };
            let lines: Option<Vec<_>> = tasks.iter().map(line).collect();
            Some(lines?.join("\n"))
        }
        MARK_TASK => words.marks(&arguments(call)?),
        EDIT_TASK_CLASS => words.edits(&arguments(call)?),
        _ => None,
    }
}

fn arguments<T: DeserializeOwned>(call: &ToolCall) -> Option<T> {
    serde_json::from_value(call.arguments.clone()).ok()
}

struct Words<'a> {
    schedule: &'a ScheduleState,
    lang: Lang,
}

impl Words<'_> {
    /// Describes a move with the old place, or a first place.
    fn comes(&self, task: u32, day: u16, section: u8) -> Option<String> {
        let goes = self.goes(task, day, section).or_else(|| {
            // An item that another call of the same plan makes.
            let day = self.day(day)?;
            Some(self.lang.pick(
                format!("the new item goes to {day}, from section {section}"),
                format!("新的一项安排到{day}，第{section}节起"),
            ))
        })?;
        let was = self.schedule.task(task).and_then(|task| task.slots.first());
        let Some((was, slot)) = was.and_then(|slot| Some((self.day(slot.day)?, slot))) else {
            return Some(goes);
        };
        let start = slot.slot_start;
        Some(self.lang.pick(
            format!("{goes} (was {was}, section {start})"),
            format!("{goes}（原来{was}，第{start}节）"),
        ))
    }

    fn out(&self, task: u32) -> Option<String> {
        let name = self.name(task)?;
        Some(self.lang.pick(
            format!("{name} is taken out, and wants a place again"),
            format!("取消{name}的安排，重新待排"),
        ))
    }

    fn marks(&self, args: &MarkArgs) -> Option<String> {
        let names: Option<Vec<_>> = args.task_ids.iter().map(|id| self.name(*id)).collect();
        let names = names?.join(self.lang.pick(", ", "、"));
        let mut lines = vec![];
        match args.done {
            Some(true) => lines.push(self.lang.pick(
                format!("{names}: marked as done"),
                format!("{names}：标记为已完成"),
            )),
            Some(false) => lines.push(self.lang.pick(
                format!("{names}: marked as not done"),
                format!("{names}：标记为未完成"),
            )),
            None => {}
        }
        match args.deadline.as_deref() {
            Some("") => lines.push(self.lang.pick(
                format!("{names}: without a deadline"),
                format!("{names}：去掉截止日期"),
            )),
            Some(date) => lines.push(self.lang.pick(
                format!("{names}: on {date} at the latest"),
                format!("{names}：最晚 {date}"),
            )),
            None => {}
        }
        Some(lines.join("\n"))
    }

    fn edits(&self, args: &EditClassArgs) -> Option<String> {
        let class = &self.schedule.class(args.class_id)?.name;
        let class = self.lang.pick(format!("“{class}”"), format!("《{class}》"));
        let mut lines = vec![];
        let restored = args.restore.iter().map(|item| &item.content);
        for text in args.add.iter().chain(restored) {
            lines.push(self.lang.pick(
                format!("“{text}” is added to {class}"),
                format!("在{class}中添加《{text}》"),
            ));
        }
        for id in &args.remove {
            let name = self.name(*id)?;
            lines.push(self.lang.pick(
                format!("{name} is removed from {class}"),
                format!("从{class}中删除{name}"),
            ));
        }
        match args.end_date.as_deref() {
            Some("") | None => {}
            Some(date) => lines.push(self.lang.pick(
                format!("{class} has to be finished on {date}"),
                format!("{class}最晚 {date} 完成"),
            )),
        }
        if lines.is_empty() {
            lines.push(self.lang.pick(
                format!("{class} is as before again"),
                format!("{class}恢复原样"),
            ));
        }
        Some(lines.join("\n"))
    }

    fn moves(&self, args: &MoveArgs) -> Option<String> {
        self.goes(args.task_id, args.new_day, args.new_slot_start)
    }

    fn goes(&self, task: u32, day: u16, section: u8) -> Option<String> {
        let (name, day) = (self.name(task)?, self.day(day)?);
        Some(self.lang.pick(
            format!("{name} goes to {day}, from section {section}"),
            format!("{name}安排到{day}，第{section}节起"),
        ))
    }

    fn name(&self, task: u32) -> Option<String> {
        let name = &self.schedule.task(task)?.name;
        Some(self.lang.pick(format!("“{name}”"), format!("《{name}》")))
    }

    fn day(&self, day: u16) -> Option<String> {
        const EN: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
        const ZH: [&str; 7] = ["周一", "周二", "周三", "周四", "周五", "周六", "周日"];
        let day = self.schedule.day(day)?;
        let names = self.lang.pick(EN, ZH);
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
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::schedule::{EventType, PlacementStatus, ScheduleTask, Source, Window};

    fn item(state_id: u32) -> ScheduleTask {
        ScheduleTask {
            state_id,
            source: Source::TaskItem,
            source_id: state_id.to_string(),
            name: format!("Item {state_id}"),
            category: "Items".into(),
            status: PlacementStatus::Pending,
            locked: false,
            slots: vec![],
            duration: 2,
            task_class_id: None,
            task_order: state_id,
            can_embed: false,
            embedded_by: None,
            embed_host: None,
            event_type: EventType::Task,
            marks: crate::schedule::Marks::default(),
            terms: crate::schedule::Terms::default(),
        }
    }

    fn words(name: &str, arguments: Value, lang: Lang) -> Option<String> {
        let schedule = ScheduleState {
            preferences: None,
            window: Window::starting(jiff::civil::date(2026, 9, 14), 7),
            tasks: vec![item(1), item(2)],
            task_classes: vec![],
        };
        in_words(&ToolCall::new("c", name, arguments), &schedule, lang)
    }

    #[test]
    fn a_person_agrees_to_names_and_dates() {
        let place = json!({ "task_id": 1, "day": 3, "slot_start": 5 });
        let en = words("place", place.clone(), Lang::En);
        assert_eq!(
            en.as_deref(),
            Some("“Item 1” goes to Wed 2026-09-16, from section 5")
        );
        let zh = words("place", place, Lang::Zh);
        assert_eq!(
            zh.as_deref(),
            Some("《Item 1》安排到周三 2026-09-16，第5节起")
        );
        let swap = words("swap", json!({ "task_a": 1, "task_b": 2 }), Lang::En);
        assert_eq!(swap.as_deref(), Some("“Item 1” and “Item 2” change places"));
        let one = |task: u32| json!({ "task_id": task, "new_day": task, "new_slot_start": 1 });
        let both = words("batch_move", json!({ "moves": [one(1), one(2)] }), Lang::En);
        let lines = "“Item 1” goes to Mon 2026-09-14, from section 1\n\
                     “Item 2” goes to Tue 2026-09-15, from section 1";
        assert_eq!(both.as_deref(), Some(lines));
    }

    #[test]
    fn what_is_not_there_is_not_named() {
        let nowhere = json!({ "task_id": 9, "day": 3, "slot_start": 5 });
        assert_eq!(words("place", nowhere, Lang::En), None);
        let never = json!({ "task_id": 1, "day": 99, "slot_start": 5 });
        assert_eq!(words("place", never, Lang::En), None);
        assert_eq!(words("make_note", json!({ "text": "x" }), Lang::En), None);
    }
}
