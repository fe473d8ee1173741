//! The reasons of the schedule in the words of a person: names, dates and weekdays. The texts of
//! the tools have ids and day numbers, which are for the model.
use fugato::tool::ToolResult;
use serde_json::{Value, json};

use crate::{
    agent::{AgentState, Update},
    calendar::Lang,
    draft::{day, location, weekday},
    rules,
    schedule::{
        BrokenRule, Change, ClosedTime, FixedTime, ScheduleState, Slot, WriteRefusal, differences,
        rough_build::{ItemsLeft, NoRoom, PlacementMismatch, RoughBuildError},
    },
    store::{Conflict, StaleFact},
};

/// The key of the reason in the data of a failure, in each language.
const TOLD: &str = "told";

/// Returns a refusal in both languages, as data of a failure.
pub(crate) fn data(why: &WriteRefusal, schedule: &ScheduleState) -> Value {
    let said = |lang| refusal(why, schedule, lang);
    json!({ TOLD: { "en": said(Lang::En), "zh": said(Lang::Zh) } })
}

/// Returns what others changed meanwhile in both languages, as data of a failure.
pub(crate) fn conflict_data(stale: &Conflict, schedule: &ScheduleState) -> Value {
    let said = |lang: Lang| {
        let begin = lang.pick("the calendar changed meanwhile", "日程在此期间有变动");
        let changed = conflict(stale, schedule, lang).replace('\n', "; ");
        format!("{begin}: {changed}")
    };
    json!({ TOLD: { "en": said(Lang::En), "zh": said(Lang::Zh) } })
}

/// Returns the reason in the data of a failure; none if it has none.
fn of_data(data: &Value, lang: Lang) -> Option<&str> {
    data.get(TOLD)?.get(lang.pick("en", "zh"))?.as_str()
}

/// Returns the result of a call for the person; none if the line of the tool says it as well.
pub(crate) fn told(agent: &AgentState, tool: &str, result: &ToolResult<Update>) -> Option<String> {
    let lang = agent.lang;
    if !result.is_ok() {
        return of_data(&result.data, lang).map(str::to_owned);
    }
    if tool == "analyze_health" {
        return advised(&result.summary, lang).map(str::to_owned);
    }
    let changes = result.updates.iter().filter_map(|update| match update {
        Update::Scheduled(changes) => Some(changes.as_slice()),
        _ => None,
    });
    let changes: Vec<Change> = changes.flatten().cloned().collect();
    changed(agent.schedule.as_ref()?, &changes, lang)
}

/// Returns the effect of changes in one line: each item with its new place and its old one.
fn changed(schedule: &ScheduleState, changes: &[Change], lang: Lang) -> Option<String> {
    let mut after = schedule.clone();
    for change in changes {
        after.apply(change);
    }
    let lines = differences(schedule, &after);
    let lines = lines.iter().map(|change| {
        let name = &change.name;
        let place = |at: Option<&_>| {
            at.map_or_else(
                || lang.pick("no place", "未安排").to_owned(),
                |at| location(at, lang),
            )
        };
        let (from, to) = (change.step.from(), change.step.to());
        match from {
            None => format!("{name}: {}", place(to)),
            Some(_) => format!("{name}: {} → {}", place(from), place(to)),
        }
    });
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("; "))
}

/// Returns what a diagnosis advises.
fn advised(operation: &str, lang: Lang) -> Option<&'static str> {
    Some(match operation {
        "swap" => lang.pick("two items should change places", "建议交换两项的位置"),
        "move" => lang.pick("an item should move", "建议移动一项"),
        "close" => lang.pick("nothing is left to improve", "没有需要改进之处"),
        "askuser" => lang.pick("you are asked first", "需要先问你"),
        _ => return None,
    })
}

/// Returns why a change was refused.
pub(crate) fn refusal(why: &WriteRefusal, schedule: &ScheduleState, lang: Lang) -> String {
    let name = |id: u32| named(schedule, id, lang);
    match why {
        WriteRefusal::UnknownTask(_) => lang.pick("there is no such item", "没有这一项").to_owned(),
        WriteRefusal::UnknownDay { .. } => lang
            .pick(
                "that day lies outside of these weeks",
                "这一天不在这几周之内",
            )
            .to_owned(),
        WriteRefusal::OutsideDay { duration, .. } => lang.pick(
            format!("its {duration} sections do not fit into that day from there on"),
            format!("从那一节开始放不下它的 {duration} 节"),
        ),
        WriteRefusal::NotPending(id) => lang.pick(
            format!("“{}” has a place already", name(*id)),
            format!("“{}”已有位置", name(*id)),
        ),
        WriteRefusal::NotPlaced(id) => lang.pick(
            format!("“{}” has no place yet", name(*id)),
            format!("“{}”还没有位置", name(*id)),
        ),
        WriteRefusal::Locked { name, .. } => lang.pick(
            format!("“{name}” is a fixed course and stays where it is"),
            format!("“{name}”是固定课程，不能改动"),
        ),
        WriteRefusal::Existing { name, .. } => lang.pick(
            format!("“{name}” was agreed to before and stays where it is"),
            format!("“{name}”是之前确认过的，不能改动"),
        ),
        other => refused_place(other, schedule, lang),
    }
}

/// Returns why an item cannot have a place, which is free or another's.
fn refused_place(why: &WriteRefusal, schedule: &ScheduleState, lang: Lang) -> String {
    let name = |id: u32| named(schedule, id, lang);
    match why {
        WriteRefusal::HasGuest { task, guest } => lang.pick(
            format!(
                "“{}” lies inside “{}”; move it first",
                name(*guest),
                name(*task)
            ),
            format!("“{}”在“{}”之内，请先移动它", name(*guest), name(*task)),
        ),
        WriteRefusal::SeveralRanges(id) => lang.pick(
            format!(
                "“{}” lies in several parts and cannot be moved as one",
                name(*id)
            ),
            format!("“{}”分成几段，不能整体移动", name(*id)),
        ),
        WriteRefusal::AlreadyThere(id) => lang.pick(
            format!("“{}” is there already", name(*id)),
            format!("“{}”已经在那里", name(*id)),
        ),
        WriteRefusal::Conflict { slot: at, name, .. } => {
            let at = slot(*at, schedule, lang);
            lang.pick(
                format!("{at} is taken by “{name}”"),
                format!("{at}已被“{name}”占用"),
            )
        }
        WriteRefusal::Past { slot: at, .. } => {
            let at = slot(*at, schedule, lang);
            lang.pick(format!("{at} is over already"), format!("{at}已经过去"))
        }
        WriteRefusal::KeptFree { slot: at, .. } => {
            let at = slot(*at, schedule, lang);
            lang.pick(format!("{at} is to be kept free"), format!("{at}要空着"))
        }
        WriteRefusal::Order {
            task,
            order,
            sibling,
            sibling_order,
            at,
        } => {
            let sibling = format!("“{}”", name(*sibling));
            let place = day_of(at.0, schedule, lang);
            let (task, later) = (name(*task), order > sibling_order);
            out_of_order(&task, &sibling, &place, (later, lang))
        }
        WriteRefusal::ClassRule { class, rule, .. } => broken(class, rule, lang),
        WriteRefusal::Terms { task, rule } => broken(&name(*task), rule, lang),
        WriteRefusal::Dependency { task, before, end } => {
            let place = day_of(end.0, schedule, lang);
            let before = format!("“{}”", name(*before));
            out_of_order(&name(*task), &before, &place, (true, lang))
        }
        WriteRefusal::OutsideScope { day: at, .. } => {
            let at = day_of(*at, schedule, lang);
            lang.pick(
                format!("the request does not allow any change on {at}"),
                format!("请求不允许改动{at}"),
            )
        }
        WriteRefusal::ReorderForbidden => lang
            .pick(
                "this changes the order of the items, which you have not allowed",
                "这会改变任务的顺序，而你没有允许",
            )
            .to_owned(),
        WriteRefusal::DifferentDurations {
            task_a,
            task_b,
            a,
            b,
        } => lang.pick(
            format!(
                "“{}” takes {a} sections and “{}” takes {b}, so they cannot change places",
                name(*task_a),
                name(*task_b)
            ),
            format!(
                "“{}”占 {a} 节，“{}”占 {b} 节，不能交换",
                name(*task_a),
                name(*task_b)
            ),
        ),
        other => other.to_string(),
    }
}

/// Returns that an item has to come after another one, or before it.
fn out_of_order(task: &str, sibling: &str, place: &str, (later, lang): (bool, Lang)) -> String {
    let side = if later {
        lang.pick("after", "后")
    } else {
        lang.pick("before", "前")
    };
    lang.pick(
        format!("“{task}” has to come {side} {sibling}, which is on {place}"),
        format!("“{task}”必须排在{sibling}（{place}）之{side}"),
    )
}

fn broken(class: &str, rule: &BrokenRule, lang: Lang) -> String {
    match rule {
        BrokenRule::Block(block) => {
            let (first, last) = (block * 2 - 1, block * 2);
            lang.pick(
                format!("“{class}” is never in sections {first}–{last}"),
                format!("“{class}”不排在第 {first}–{last} 节"),
            )
        }
        BrokenRule::DayOfWeek(day) => {
            let day = weekday(*day, lang);
            lang.pick(
                format!("“{class}” is never on {day}"),
                format!("“{class}”不排在{day}"),
            )
        }
        BrokenRule::TooEarly(date) => lang.pick(
            format!("“{class}” begins on {date}"),
            format!("“{class}”从 {date} 开始"),
        ),
        BrokenRule::TooLate(date) => lang.pick(
            format!("“{class}” has to be done by {date}"),
            format!("“{class}”须在 {date} 前完成"),
        ),
        BrokenRule::Filler => lang.pick(
            format!("items of “{class}” do not lie inside courses"),
            format!("“{class}”的任务不嵌入课程"),
        ),
        BrokenRule::Fixed(at) => {
            let at = fixed(at, lang);
            lang.pick(
                format!("“{class}” begins at {at}"),
                format!("“{class}”固定在{at}开始"),
            )
        }
        BrokenRule::Closed(time) => {
            let time = closed(time, lang);
            lang.pick(
                format!("“{class}” must not be on {time}"),
                format!("“{class}”不能排在{time}"),
            )
        }
        other => format!("“{class}”: {other}"),
    }
}

/// Returns a fixed time in words.
fn fixed(at: &FixedTime, lang: Lang) -> String {
    let day = at.day_of_week.map(|day| weekday(day, lang).to_owned());
    let day = at.date.clone().or(day);
    let day = day.map(|day| format!("{day} ")).unwrap_or_default();
    format!("{day}{}", at.time.strftime("%H:%M"))
}

/// Returns a closed time in words.
fn closed(time: &ClosedTime, lang: Lang) -> String {
    let days = time.days_of_week.iter().map(|day| weekday(*day, lang));
    let days: Vec<&str> = days.collect();
    let (from, to) = (time.from.strftime("%H:%M"), time.to.strftime("%H:%M"));
    let days = days.join(lang.pick(", ", "、"));
    format!("{days} {from}–{to}").trim_start().to_owned()
}

/// Returns why nothing could be placed.
pub(crate) fn unplaced(error: &RoughBuildError, lang: Lang) -> String {
    match error {
        RoughBuildError::WindowMissing => lang
            .pick(
                "the calendar has no days to place anything in",
                "日历中没有可安排的日期",
            )
            .to_owned(),
        RoughBuildError::UnknownClass(_) => lang
            .pick(
                "a class of the request is not in the calendar",
                "请求中的任务类不在日历中",
            )
            .to_owned(),
        RoughBuildError::BadDate { name, date } => lang.pick(
            format!("“{name}” has the date “{date}”, which is not of the form YYYY-MM-DD"),
            format!("“{name}”的日期“{date}”不是 YYYY-MM-DD 的格式"),
        ),
        RoughBuildError::TimeNotEnough {
            name,
            needed,
            open,
            rivals,
            ..
        } => {
            let others = match rivals.as_slice() {
                [] => String::new(),
                rivals => lang.pick(
                    format!(" together with {}", rivals.join(", ")),
                    format!("（与{}合计）", rivals.join("、")),
                ),
            };
            lang.pick(
                format!("there is not enough time for “{name}”: it needs {needed} blocks of two sections{others}, and only {open} are open"),
                format!("“{name}”的时间不够：需要 {needed} 个两节的时段{others}，只有 {open} 个可用"),
            )
        }
        RoughBuildError::NoPlace {
            name, item, why, ..
        } => {
            let why = no_room(why, lang);
            lang.pick(
                format!("“{item}” of “{name}” has no place, because {why}"),
                format!("“{name}”的“{item}”排不下，因为{why}"),
            )
        }
        other => lang.pick(
            format!("an item does not fit the calendar: {other}"),
            "有一项与日历不符".to_owned(),
        ),
    }
}

/// Returns what found no place and why, class by class, with the choices of the person.
pub(crate) fn account(left: &[ItemsLeft], placed: usize, lang: Lang) -> String {
    let missing: usize = left.iter().map(|left| left.items.len()).sum();
    let of = missing + placed;
    let lines = left.iter().map(|left| {
        let (name, count, of) = (&left.name, left.items.len(), left.of);
        let why = no_room(&left.why, lang);
        lang.pick(
            format!("\n  {name}: {count} of {of}, because {why}"),
            format!("\n  {name}：{of} 项中的 {count} 项，因为{why}"),
        )
    });
    let lines: String = lines.collect();
    let choices = rules::choices(lang);
    lang.pick(
        format!("{missing} of {of} items do not fit:{lines}\n{choices} A yes keeps what fits."),
        format!("{of} 项中有 {missing} 项排不下：{lines}\n{choices}同意即保存已排下的部分。"),
    )
}

/// Returns why nothing of some classes found a place.
pub(crate) fn left(left: &[ItemsLeft], lang: Lang) -> String {
    let lines = left.iter().map(|left| {
        let why = no_room(&left.why, lang);
        lang.pick(
            format!("“{}”: {why}", left.name),
            format!("“{}”：{why}", left.name),
        )
    });
    lines.collect::<Vec<_>>().join(lang.pick("; ", "；"))
}

fn no_room(why: &NoRoom, lang: Lang) -> String {
    match why {
        NoRoom::BadDate { date } => lang.pick(
            format!("its date “{date}” is not of the form YYYY-MM-DD"),
            format!("日期“{date}”不是 YYYY-MM-DD 的格式"),
        ),
        NoRoom::Past => lang
            .pick("all its days are over", "可用的日子都已过去")
            .to_owned(),
        NoRoom::Days => lang
            .pick("every day of its weeks is excluded", "每一天都被排除")
            .to_owned(),
        NoRoom::Blocks => lang
            .pick("every time of the day is excluded", "每个时段都被排除")
            .to_owned(),
        NoRoom::Dates => lang
            .pick(
                "no day of the calendar lies between its dates",
                "日历中没有它的起止日期之间的日子",
            )
            .to_owned(),
        NoRoom::Taken {
            open,
            wanted,
            rivals,
        } => {
            let others = match rivals.as_slice() {
                [] => String::new(),
                rivals => lang.pick(
                    format!(" together with {}", rivals.join(", ")),
                    format!("（与{}合计）", rivals.join("、")),
                ),
            };
            lang.pick(
                format!(
                    "{wanted} items{others} want a block of two sections, and only {open} are open"
                ),
                format!("共 {wanted} 项{others}需要两节的时段，只有 {open} 个可用"),
            )
        }
        NoRoom::Fixed { at } => {
            let at = fixed(at, lang);
            lang.pick(format!("nothing is free at {at}"), format!("{at}没有空闲"))
        }
        NoRoom::Deadline { date } => lang.pick(
            format!("nothing is free until {date}"),
            format!("{date} 之前没有空闲"),
        ),
        NoRoom::Earliest { date } => lang.pick(
            format!("nothing is free from {date} on"),
            format!("{date} 之后没有空闲"),
        ),
        NoRoom::After { names } => {
            let names = names.join(lang.pick(", ", "、"));
            lang.pick(
                format!("nothing is free after {names}"),
                format!("在“{names}”之后没有空闲"),
            )
        }
        NoRoom::Closed { times } => {
            let times: Vec<String> = times.iter().map(|time| closed(time, lang)).collect();
            let times = times.join(lang.pick(", ", "、"));
            lang.pick(
                format!("nothing is free outside of {times}"),
                format!("除去{times}之后没有空闲"),
            )
        }
        NoRoom::Long { sections } => lang.pick(
            format!("no day has {sections} free sections in a row"),
            format!("没有一天有连续 {sections} 节空闲"),
        ),
        other => other.to_string(),
    }
}

/// Returns how a placement differs from the settings of a class.
pub(crate) fn mismatch(issue: &PlacementMismatch, lang: Lang) -> String {
    match issue {
        PlacementMismatch::LengthDiffers {
            name,
            total_slots,
            items,
            ..
        } => lang.pick(
            format!(
                "“{name}” wants {total_slots} sections for {items} items; every item was given 2, because only “minutes” gives items another length"
            ),
            format!("“{name}”的 {items} 项共需 {total_slots} 节；每项按 2 节安排，因为只有“minutes”能改变任务的长度"),
        ),
        other => other.to_string(),
    }
}

fn named(schedule: &ScheduleState, id: u32, lang: Lang) -> String {
    let task = schedule.task(id).map(|task| task.name.clone());
    task.unwrap_or_else(|| lang.pick("the item", "这一项").to_owned())
}

fn day_of(number: u16, schedule: &ScheduleState, lang: Lang) -> String {
    let known = schedule.day(number);
    known.map_or_else(
        || lang.pick(format!("day {number}"), format!("第 {number} 天")),
        |known| day(known.day_of_week, &known.date, number, lang),
    )
}

fn slot(at: Slot, schedule: &ScheduleState, lang: Lang) -> String {
    let (first, last) = (at.slot_start, at.slot_end);
    let day = day_of(at.day, schedule, lang);
    lang.pick(
        format!("{day}, sections {first}–{last},"),
        format!("{day} 第 {first}–{last} 节"),
    )
}

/// Returns what others changed meanwhile, a line for each item.
pub(crate) fn conflict(conflict: &Conflict, schedule: &ScheduleState, lang: Lang) -> String {
    let lines = conflict
        .changed
        .iter()
        .map(|fact| stale(fact, schedule, lang));
    lines.collect::<Vec<_>>().join("\n")
}

fn stale(fact: &StaleFact, schedule: &ScheduleState, lang: Lang) -> String {
    match fact {
        StaleFact::Gone { name, .. } => lang.pick(
            format!("“{name}” is no longer in the calendar"),
            format!("“{name}”已不在日历中"),
        ),
        StaleFact::Elsewhere { name, found, .. } => match found {
            Some(found) => {
                let found = location(found, lang);
                lang.pick(
                    format!("“{name}” is on {found} now"),
                    format!("“{name}”现在在{found}"),
                )
            }
            None => lang.pick(
                format!("“{name}” has lost its place"),
                format!("“{name}”已没有位置"),
            ),
        },
        StaleFact::Marked { name, .. } => lang.pick(
            format!("“{name}” was marked meanwhile"),
            format!("“{name}”已被另行标记"),
        ),
        StaleFact::Taken { name, by, .. } => lang.pick(
            format!("the place for “{name}” is taken by “{by}”"),
            format!("“{name}”的位置已被“{by}”占用"),
        ),
        StaleFact::NoHost { name, .. } => lang.pick(
            format!("“{name}” has no room inside its course any more"),
            format!("“{name}”所在的课程已没有空位"),
        ),
        StaleFact::NoDay { name, day, .. } => {
            let day = day_of(*day, schedule, lang);
            lang.pick(
                format!("“{name}” cannot lie on {day}, which the calendar no longer has"),
                format!("日历中已没有{day}，“{name}”无法排在那天"),
            )
        }
    }
}
