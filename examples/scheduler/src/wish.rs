//! The effects of a call as text for a person: names, dates and clock times in place of ids and
//! numbers.
use fugato::state::ToolCall;
use serde::de::DeserializeOwned;

use crate::{
    schedule::{
        Slot,
        tools::{
            ArrangeArgs, Arrangement, BatchMoveArgs, MarkArgs, MoveArgs, PartStart, PlaceArgs,
            SwapArgs, UnplaceArgs,
        },
    },
    tools::{
        ARRANGE, EDIT_TASK_CLASS, EditClassArgs, KEEP_FREE, KeepFreeArgs, MARK_TASK,
        PreferenceArgs, SET_PREFERENCES,
    },
    understand::Words,
};

/// The sections of an item that does not exist yet.
const NEW_ITEM: u8 = 2;

/// Describes the effect of a call on this schedule, a line for each task; none for calls that
/// change no place, and for those that name unknown tasks.
pub(crate) fn in_words(call: &ToolCall, words: &Words<'_>) -> Option<String> {
    match call.name.as_str() {
        "place" => {
            let PlaceArgs {
                task_id,
                day,
                slot_start,
            } = arguments(call)?;
            goes(words, task_id, day, slot_start)
        }
        "move" => moves(words, &arguments(call)?),
        "batch_move" => {
            let BatchMoveArgs { moves: all } = arguments(call)?;
            lines(all.iter().map(|one| moves(words, one)))
        }
        "swap" => {
            let SwapArgs { task_a, task_b } = arguments(call)?;
            let (a, b) = (words.name(task_a)?, words.name(task_b)?);
            Some(words.lang.pick(
                format!("{a} and {b} change places"),
                format!("{a}与{b}互换位置"),
            ))
        }
        "unplace" => {
            let UnplaceArgs { task_id } = arguments(call)?;
            out(words, task_id)
        }
        ARRANGE => {
            let ArrangeArgs { tasks } = arguments(call)?;
            lines(
                tasks
                    .iter()
                    .map(|to: &Arrangement| match to.day.zip(to.slot_start) {
                        Some(first) => match to.rest {
                            Some(rest) => parts(words, to.task_id, first, rest),
                            None => comes(words, to.task_id, first.0, first.1),
                        },
                        None => out(words, to.task_id),
                    }),
            )
        }
        MARK_TASK => marks(words, &arguments(call)?),
        EDIT_TASK_CLASS => edits(words, &arguments(call)?),
        SET_PREFERENCES => {
            let args: PreferenceArgs = arguments(call)?;
            let after = args.applied(words.schedule).ok()?;
            let told = words.preferred_anew(words.schedule.preferences.as_ref(), after.as_ref());
            let head = words.lang.pick("From now on", "以后");
            lines(told.iter().map(|line| {
                Some(
                    words
                        .lang
                        .pick(format!("{head}: {line}"), format!("{head}：{line}")),
                )
            }))
        }
        KEEP_FREE => {
            let KeepFreeArgs {
                days, give_back, ..
            } = arguments(call)?;
            lines(days.iter().map(|day| {
                let day = words.day(*day)?;
                Some(if give_back {
                    words.lang.pick(
                        format!("{day} can be used again"),
                        format!("{day}又可以安排"),
                    )
                } else {
                    words
                        .lang
                        .pick(format!("{day} is kept free"), format!("{day}空着"))
                })
            }))
        }
        _ => None,
    }
}

fn arguments<T: DeserializeOwned>(call: &ToolCall) -> Option<T> {
    serde_json::from_value(call.arguments.clone()).ok()
}

fn lines(all: impl Iterator<Item = Option<String>>) -> Option<String> {
    let lines: Option<Vec<_>> = all.collect();
    Some(lines?.join("\n"))
}

/// Describes a move with the old place, or a first place.
fn comes(words: &Words<'_>, task: u32, day: u16, section: u8) -> Option<String> {
    let goes = goes(words, task, day, section).or_else(|| {
        // An item that another call of the same plan makes.
        let place = words.place(&Slot::starting_at(day, section, NEW_ITEM))?;
        Some(words.lang.pick(
            format!("the new item goes to {place}"),
            format!("新的一项安排到{place}"),
        ))
    })?;
    let task = words.schedule.task(task);
    let Some(was) = task.and_then(|task| words.place(task.slots.first()?)) else {
        return Some(goes);
    };
    Some(words.lang.pick(
        format!("{goes} (was {was})"),
        format!("{goes}（原来{was}）"),
    ))
}

/// Describes an item that is done in two parts.
fn parts(words: &Words<'_>, task: u32, (day, start): (u16, u8), rest: PartStart) -> Option<String> {
    let [first, second] = words.schedule.parts(words.schedule.task(task)?)?;
    let first = words.place(&Slot::starting_at(day, start, first))?;
    let second = words.place(&Slot::starting_at(rest.day, rest.slot_start, second))?;
    let (name, was) = (words.name(task)?, words.lies(task));
    Some(words.lang.pick(
        format!("{name} is done in two parts: {first} and {second} (was {was})"),
        format!("{name}分两次完成：{first}和{second}（原来{was}）"),
    ))
}

fn moves(words: &Words<'_>, args: &MoveArgs) -> Option<String> {
    goes(words, args.task_id, args.new_day, args.new_slot_start)
}

fn goes(words: &Words<'_>, task: u32, day: u16, section: u8) -> Option<String> {
    let (name, duration) = (words.name(task)?, words.schedule.task(task)?.duration);
    let place = words.place(&Slot::starting_at(day, section, duration))?;
    Some(words.lang.pick(
        format!("{name} goes to {place}"),
        format!("{name}安排到{place}"),
    ))
}

fn out(words: &Words<'_>, task: u32) -> Option<String> {
    let name = words.name(task)?;
    Some(words.lang.pick(
        format!("{name} is taken out, and wants a place again"),
        format!("取消{name}的安排，重新待排"),
    ))
}

fn marks(words: &Words<'_>, args: &MarkArgs) -> Option<String> {
    let lang = words.lang;
    let names: Option<Vec<_>> = args.task_ids.iter().map(|id| words.name(*id)).collect();
    let names = names?.join(lang.pick(", ", "、"));
    let done = args.done.map(|done| {
        if done {
            lang.pick("marked as done", "标记为已完成").to_owned()
        } else {
            lang.pick("marked as not done", "标记为未完成").to_owned()
        }
    });
    let deadline = args.deadline.as_deref().map(|date| {
        if date.is_empty() {
            lang.pick("without a deadline", "去掉截止日期").to_owned()
        } else {
            lang.pick(format!("on {date} at the latest"), format!("最晚 {date}"))
        }
    });
    let told = done.into_iter().chain(deadline);
    lines(told.map(|told| Some(lang.pick(format!("{names}: {told}"), format!("{names}：{told}")))))
}

fn edits(words: &Words<'_>, args: &EditClassArgs) -> Option<String> {
    let lang = words.lang;
    let known = words.schedule.class(args.class_id)?;
    let class = &known.name;
    let class = lang.pick(format!("“{class}”"), format!("《{class}》"));
    let mut lines = vec![];
    let restored = args.restore.iter().map(|item| &item.content);
    for text in args.add.iter().chain(restored) {
        lines.push(lang.pick(
            format!("“{text}” is added to {class}"),
            format!("在{class}中添加《{text}》"),
        ));
    }
    for id in &args.remove {
        let name = words.name(*id)?;
        lines.push(lang.pick(
            format!("{name} is removed from {class}"),
            format!("从{class}中删除{name}"),
        ));
    }
    let was = known.end_date.as_deref().map_or(String::new(), |end| {
        lang.pick(format!(" (was {end})"), format!("（原来 {end}）"))
    });
    if args.end_date.as_deref() == Some("") && args.total_slots.is_none() {
        lines.push(lang.pick(
            format!("{class} has no last date any more{was}"),
            format!("{class}不再有截止日期{was}"),
        ));
    }
    if let Some(date) = args.end_date.as_deref().filter(|date| !date.is_empty()) {
        lines.push(lang.pick(
            format!("{class} has to be finished on {date}{was}"),
            format!("{class}最晚 {date} 完成{was}"),
        ));
    }
    for edit in &args.terms {
        let name = match edit.task_id {
            Some(id) => words.name(id)?,
            None => class.clone(),
        };
        lines.extend(words.terms_edit(&name, edit));
    }
    if lines.is_empty() {
        lines.push(lang.pick(
            format!("{class} is as before again"),
            format!("{class}恢复原样"),
        ));
    }
    Some(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        calendar::{Lang, Sections},
        schedule::{ScheduleState, ScheduleTask, Window},
    };

    fn item(state_id: u32) -> ScheduleTask {
        ScheduleTask {
            state_id,
            name: format!("Item {state_id}"),
            ..ScheduleTask::default()
        }
    }

    fn words(name: &str, arguments: Value, lang: Lang) -> Option<String> {
        let schedule = ScheduleState {
            window: Window::starting(jiff::civil::date(2026, 9, 14), 7),
            tasks: vec![item(1), item(2)],
            ..ScheduleState::default()
        };
        let words = Words {
            schedule: &schedule,
            sections: Some(&Sections::default()),
            lang,
        };
        in_words(&ToolCall::new("c", name, arguments), &words)
    }

    #[test]
    fn a_person_agrees_to_names_and_dates() {
        let place = json!({ "task_id": 1, "day": 3, "slot_start": 5 });
        let en = words("place", place.clone(), Lang::En);
        assert_eq!(
            en.as_deref(),
            Some("“Item 1” goes to Wed 2026-09-16, 14:00–15:40")
        );
        let zh = words("place", place, Lang::Zh);
        assert_eq!(
            zh.as_deref(),
            Some("《Item 1》安排到周三 2026-09-16 14:00–15:40")
        );
        let swap = words("swap", json!({ "task_a": 1, "task_b": 2 }), Lang::En);
        assert_eq!(swap.as_deref(), Some("“Item 1” and “Item 2” change places"));
        let one = |task: u32| json!({ "task_id": task, "new_day": task, "new_slot_start": 1 });
        let both = words("batch_move", json!({ "moves": [one(1), one(2)] }), Lang::En);
        let lines = "“Item 1” goes to Mon 2026-09-14, 08:00–09:40\n\
                     “Item 2” goes to Tue 2026-09-15, 08:00–09:40";
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
