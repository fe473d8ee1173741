//! Places, changes and refusals in the words of a person: names, dates and clock times. What errors
//! say has ids and day numbers, which are for a model.
use jiff::civil::Weekday;

use super::{
    BrokenRule, Change, ClosedTime, Difference, Discomfort, FixedTime, Location, Marks,
    ObjectiveTerm, Obstacle, ObstacleReason, OtherPlace, PlaceChange, PlaceReason, ScheduleState,
    Sections, Slot, Strategy, TaskClass, WriteRefusal, differences,
    rough_build::{ItemsLeft, NoRoom, PlacementMismatch, RoughBuildError},
};
use crate::lang::Lang;

/// Returns what changes, a line for each item in the order of time, under the class that it belongs
/// to and the rule by which that is spread.
pub fn listed(schedule: &ScheduleState, changes: &[Difference]) -> String {
    let class_of = |change: &Difference| schedule.task(change.task)?.task_class_id;
    let mut changes: Vec<&Difference> = changes.iter().collect();
    changes.sort_by_key(|change| (class_of(change), begins(&change.step)));
    let mut lines = vec![];
    let mut class = None;
    for change in changes {
        let own = class_of(change);
        if own != class
            && let Some(named) = schedule.task_classes.iter().find(|it| Some(it.id) == own)
        {
            lines.push(rule(named));
        }
        class = own;
        lines.push(line(change, &schedule.window.sections));
    }
    lines.join("\n")
}

fn begins(step: &PlaceChange) -> (u16, u8) {
    let at = step.to().or_else(|| step.from());
    let first = at.and_then(|at| at.sections.first());
    first.map_or((0, 0), |at| (at.day, at.section))
}

/// Returns the name of a class, and the rule by which its items are placed.
fn rule(class: &TaskClass) -> String {
    let mut rules = vec![match class.strategy {
        Strategy::Steady => say!("spread evenly", "均匀分布"),
        Strategy::Rapid => say!("as early as possible", "尽早安排"),
    }];
    if !class.excluded_days_of_week.is_empty() {
        let days = class.excluded_days_of_week.iter();
        let days: Vec<_> = days.map(|day| weekday(*day)).collect();
        let days = days.join(&say!(", ", "、"));
        rules.push(say!("never on {days}", "避开{days}"));
    }
    if let Some(date) = &class.end_date {
        rules.push(say!("done by {date}", "{date} 前完成"));
    }
    let (name, rules) = (&class.name, rules.join(&say!(", ", "，")));
    say!("{name} ({rules})", "{name}（{rules}）")
}

fn line(change: &Difference, times: &Sections) -> String {
    let name = &change.name;
    let location = |at| location(at, times);
    match &change.step {
        PlaceChange::Place { to } => format!("  {}  {name}", location(to)),
        PlaceChange::Move { from, to } => {
            let (from, to) = (location(from), location(to));
            say!(
                "  {to}  {name} (was {from})",
                "  {to}  {name}（原为{from}）"
            )
        }
        PlaceChange::Mark {
            to, before, after, ..
        } => {
            let at = to.as_ref().map(location).unwrap_or_default();
            let marked = marked(before, after);
            say!("  {at}  {name} ({marked})", "  {at}  {name}（{marked}）")
        }
        PlaceChange::Unplace { from } => {
            let from = location(from);
            say!(
                "  {name} loses its place ({from})",
                "  {name} 取消安排（原为{from}）"
            )
        }
    }
}

/// Returns how marks changed, in the words of a person.
pub fn marked(before: &Marks, after: &Marks) -> String {
    let done = (before.done != after.done).then(|| {
        if after.done {
            say!("done", "已完成")
        } else {
            say!("not done", "未完成")
        }
    });
    let deadline = (before.deadline != after.deadline).then(|| match &after.deadline {
        Some(date) => say!("on {date} at the latest", "最晚 {date}"),
        None => say!("without a deadline", "去掉截止日期"),
    });
    let marks: Vec<_> = done.into_iter().chain(deadline).collect();
    marks.join(&say!(", ", "，"))
}

/// Returns a place in the words of a person: each day with its date, and the times on it.
pub fn location(at: &Location, times: &Sections) -> String {
    let each = at.sections.iter();
    let slots = each.map(|at| Slot::new(at.day, at.section, at.section));
    let places = Slot::compress(slots.collect()).into_iter();
    let places = places.filter_map(|slot| {
        let first = at.sections.iter().find(|at| at.day == slot.day)?;
        let day = day(first.day_of_week, &first.date, first.day);
        let hours = hours(slot, times);
        Some(say!("{day}, {hours}", "{day} {hours}"))
    });
    let places: Vec<_> = places.collect();
    if places.is_empty() {
        return say!("no place", "未安排");
    }
    places.join(&say!(" and ", "和"))
}

/// Returns a day in the words of a person; its number if it has no date.
pub fn day(day_of_week: u8, date: &str, number: u16) -> String {
    let name = weekday(day_of_week);
    if date.is_empty() {
        return say!("{name}, day {number}", "{name}（第 {number} 天）");
    }
    format!("{name} {date}")
}

/// Returns the short name of a day of the week; Monday is 1.
pub fn weekday(day_of_week: u8) -> &'static str {
    crate::lang::weekday(Lang::current(), day_of_week)
}

/// Returns the effect of changes in one line: each item with its marks, its new place and its old one.
pub fn changed(schedule: &ScheduleState, changes: &[Change]) -> Option<String> {
    let mut after = schedule.clone();
    for change in changes {
        after.apply(change);
    }
    let lines = differences(schedule, &after);
    let lines = lines.iter().map(|change| {
        let name = &change.name;
        let times = &schedule.window.sections;
        let place = |at: Option<&_>| {
            at.map_or_else(|| say!("no place", "未安排"), |at| location(at, times))
        };
        let (from, to) = (change.step.from(), change.step.to());
        let moved = match from {
            _ if from == to => None,
            None => Some(place(to)),
            Some(_) => Some(format!("{} → {}", place(from), place(to))),
        };
        let marked = match &change.step {
            PlaceChange::Mark { before, after, .. } => Some(marked(before, after)),
            _ => None,
        };
        let both: Vec<String> = marked.into_iter().chain(moved).collect();
        format!("{name}: {}", both.join(", "))
    });
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("; "))
}

/// Returns why a change was refused.
pub fn refusal(why: &WriteRefusal, schedule: &ScheduleState) -> String {
    let name = |id: u32| named(schedule, id);
    match why {
        WriteRefusal::UnknownTask(_) => say!("there is no such item", "没有这一项"),
        WriteRefusal::UnknownDay { .. } => say!(
            "that day lies outside of these weeks",
            "这一天不在这几周之内"
        ),
        WriteRefusal::OutsideDay { duration, .. } => say!(
            "its {duration} sections do not fit into that day from there on",
            "从那一节开始放不下它的 {duration} 节"
        ),
        WriteRefusal::NotPending(id) => say!("“{}” has a place already", "“{}”已有位置", name(*id)),
        WriteRefusal::NotPlaced(id) => say!("“{}” has no place yet", "“{}”还没有位置", name(*id)),
        WriteRefusal::Locked { name, .. } => say!(
            "“{name}” is a fixed course and stays where it is",
            "“{name}”是固定课程，不能改动"
        ),
        WriteRefusal::Existing { name, .. } => say!(
            "“{name}” was agreed to before and stays where it is",
            "“{name}”是之前确认过的，不能改动"
        ),
        other => refused_place(other, schedule),
    }
}

/// Returns why an item cannot have a place, which is free or another's.
fn refused_place(why: &WriteRefusal, schedule: &ScheduleState) -> String {
    let times = &schedule.window.sections;
    let name = |id: u32| named(schedule, id);
    match why {
        WriteRefusal::HasGuest { task, guest } => say!(
            "“{}” lies inside “{}”; move it first",
            "“{}”在“{}”之内，请先移动它",
            name(*guest),
            name(*task)
        ),
        WriteRefusal::SeveralRanges(id) => say!(
            "“{}” lies in several parts and cannot be moved as one",
            "“{}”分成几段，不能整体移动",
            name(*id)
        ),
        WriteRefusal::AlreadyThere(id) => {
            say!("“{}” is there already", "“{}”已经在那里", name(*id))
        }
        WriteRefusal::Conflict { slot: at, name, .. } => {
            let at = slot(*at, schedule);
            say!("{at} is taken by “{name}”", "{at}已被“{name}”占用")
        }
        WriteRefusal::Past { slot: at, .. } => {
            let at = slot(*at, schedule);
            say!("{at} is over already", "{at}已经过去")
        }
        WriteRefusal::KeptFree { slot: at, .. } => {
            let at = slot(*at, schedule);
            say!("{at} is to be kept free", "{at}要空着")
        }
        WriteRefusal::Order {
            task,
            order,
            sibling,
            sibling_order,
            at,
        } => {
            let sibling = format!("“{}”", name(*sibling));
            let place = day_of(at.0, schedule);
            let later = order > sibling_order;
            let told = out_of_order(&name(*task), &sibling, &place, later);
            say!("{told}, by the order of its class", "按本类的顺序，{told}")
        }
        WriteRefusal::ClassRule { class, rule, .. } => broken(class, rule, times),
        WriteRefusal::Terms { task, rule } => broken(&name(*task), rule, times),
        WriteRefusal::Dependency { task, before, end } => {
            let place = day_of(end.0, schedule);
            let before = format!("“{}”", name(*before));
            out_of_order(&name(*task), &before, &place, true)
        }
        WriteRefusal::OutsideScope { day: at, .. } => {
            let at = day_of(*at, schedule);
            say!(
                "the request does not allow any change on {at}",
                "请求不允许改动{at}"
            )
        }
        WriteRefusal::ReorderForbidden => say!(
            "this changes the order of the items, which you have not allowed",
            "这会改变任务的顺序，而你没有允许"
        ),
        WriteRefusal::DifferentDurations {
            task_a,
            task_b,
            a,
            b,
        } => say!(
            "“{}” takes {a} sections and “{}” takes {b}, so they cannot change places",
            "“{}”占 {a} 节，“{}”占 {b} 节，不能交换",
            name(*task_a),
            name(*task_b)
        ),
        WriteRefusal::ItemDeadline { task, last } => say!(
            "“{}” has to be done by {last}",
            "“{}”须在 {last} 前完成",
            name(*task)
        ),
        WriteRefusal::Done(id) => say!(
            "“{}” is marked as done and stays where it is; take the mark away first",
            "“{}”已标记为完成，留在原位；请先取消标记",
            name(*id)
        ),
        WriteRefusal::Repeated(id) => say!("“{}” is named twice", "“{}”出现了两次", name(*id)),
        other => other.to_string(),
    }
}

/// Returns that an item has to come after another one, or before it.
fn out_of_order(task: &str, sibling: &str, place: &str, later: bool) -> String {
    let side = if later {
        say!("after", "后")
    } else {
        say!("before", "前")
    };
    say!(
        "“{task}” has to come {side} {sibling}, which is on {place}",
        "“{task}”必须排在{sibling}（{place}）之{side}"
    )
}

fn broken(class: &str, rule: &BrokenRule, times: &Sections) -> String {
    match rule {
        BrokenRule::Block(block) => {
            let time = hours(Slot::new(1, block * 2 - 1, block * 2), times);
            say!("“{class}” does not use {time}", "“{class}”不排在{time}")
        }
        BrokenRule::DayOfWeek(day) => {
            let full = Weekday::from_monday_one_offset(i8::try_from(*day).unwrap_or_default());
            let full = full.map_or_else(|_| String::new(), |day| format!("{day:?}"));
            let day = Lang::current().pick(full, weekday(*day).to_owned());
            say!("“{class}” is never on a {day}", "“{class}”不排在{day}")
        }
        BrokenRule::TooEarly(date) => say!("“{class}” begins on {date}", "“{class}”从 {date} 开始"),
        BrokenRule::TooLate(date) => say!(
            "“{class}” has to be done by {date}",
            "“{class}”须在 {date} 前完成"
        ),
        BrokenRule::Filler => say!(
            "items of “{class}” do not lie inside courses",
            "“{class}”的任务不嵌入课程"
        ),
        BrokenRule::Fixed(at) => {
            let at = fixed(at);
            say!("“{class}” begins at {at}", "“{class}”固定在{at}开始")
        }
        BrokenRule::OnePiece => say!(
            "“{class}” has to be done in one piece",
            "“{class}”必须一次做完"
        ),
        BrokenRule::Closed(time) => {
            let time = closed(time);
            say!("“{class}” must not be on {time}", "“{class}”不能排在{time}")
        }
    }
}

/// Returns a fixed time in words.
fn fixed(at: &FixedTime) -> String {
    let day = at.day_of_week.map(|day| weekday(day).to_owned());
    let day = at.date.clone().or(day);
    let day = day.map(|day| format!("{day} ")).unwrap_or_default();
    format!("{day}{}", at.time.strftime("%H:%M"))
}

/// Returns a closed time in words.
fn closed(time: &ClosedTime) -> String {
    let days = time.days_of_week.iter().map(|day| weekday(*day));
    let days: Vec<&str> = days.collect();
    let (from, to) = (time.from.strftime("%H:%M"), time.to.strftime("%H:%M"));
    let days = days.join(&say!(", ", "、"));
    format!("{days} {from}–{to}").trim_start().to_owned()
}

/// Returns why nothing could be placed.
pub fn unplaced(error: &RoughBuildError) -> String {
    match error {
        RoughBuildError::WindowMissing => say!(
            "the calendar has no days to place anything in",
            "日历中没有可安排的日期"
        ),
        RoughBuildError::UnknownClass(_) => say!(
            "a class of the request is not in the calendar",
            "请求中的任务类不在日历中"
        ),
        RoughBuildError::BadDate { name, date } => say!(
            "“{name}” has the date “{date}”, which is not of the form YYYY-MM-DD",
            "“{name}”的日期“{date}”不是 YYYY-MM-DD 的格式"
        ),
        RoughBuildError::TimeNotEnough {
            name,
            needed,
            open,
            rivals,
            ..
        } => {
            let others = together(rivals);
            say!(
                "there is not enough time for “{name}”: it needs {needed} blocks of two sections{others}, and only {open} are open",
                "“{name}”的时间不够：需要 {needed} 个两节的时段{others}，只有 {open} 个可用"
            )
        }
        RoughBuildError::NoPlace {
            name, item, why, ..
        } => {
            let why = no_room(why);
            say!(
                "“{item}” of “{name}” has no place, because {why}",
                "“{name}”的“{item}”排不下，因为{why}"
            )
        }
        other => say!(
            "an item does not fit the calendar: {other}",
            "有一项与日历不符：{other}"
        ),
    }
}

/// Returns the classes with which another one competes.
fn together(rivals: &[String]) -> String {
    let names = rivals.join(&say!(", ", "、"));
    match rivals {
        [] => names,
        _ => say!(" together with {names}", "（与{names}合计）"),
    }
}

/// Returns what found no place and why, class by class, with the choices of the person in words.
pub fn account(left: &[ItemsLeft], placed: usize, choices: &str) -> String {
    let missing: usize = left.iter().map(|left| left.items.len()).sum();
    let of = missing + placed;
    let lines = left.iter().map(|left| {
        let (name, count, of) = (&left.name, left.items.len(), left.of);
        let why = no_room(&left.why);
        say!(
            "\n  {name}: {count} of {of}, because {why}",
            "\n  {name}：{of} 项中的 {count} 项，因为{why}"
        )
    });
    let lines: String = lines.collect();
    say!(
        "{missing} of {of} items do not fit:{lines}\n{choices} A yes keeps what fits.",
        "{of} 项中有 {missing} 项排不下：{lines}\n{choices}同意即保存已排下的部分。"
    )
}

/// Returns why nothing of some classes found a place.
pub fn left_out(left: &[ItemsLeft]) -> String {
    let lines = left.iter().map(|left| {
        let why = no_room(&left.why);
        say!("“{}”: {why}", "“{}”：{why}", left.name)
    });
    lines.collect::<Vec<_>>().join(&say!("; ", "；"))
}

fn no_room(why: &NoRoom) -> String {
    match why {
        NoRoom::BadDate { date } => say!(
            "its date “{date}” is not of the form YYYY-MM-DD",
            "日期“{date}”不是 YYYY-MM-DD 的格式"
        ),
        NoRoom::Past => say!("all its days are over", "可用的日子都已过去"),
        NoRoom::Days => say!("every day of its weeks is excluded", "每一天都被排除"),
        NoRoom::Blocks => say!("every time of the day is excluded", "每个时段都被排除"),
        NoRoom::Dates => say!(
            "no day of the calendar lies between its dates",
            "日历中没有它的起止日期之间的日子"
        ),
        NoRoom::Taken {
            open,
            wanted,
            rivals,
        } => {
            let others = together(rivals);
            say!(
                "{wanted} items{others} want a block of two sections, and only {open} are open",
                "共 {wanted} 项{others}需要两节的时段，只有 {open} 个可用"
            )
        }
        NoRoom::Fixed { at } => {
            let at = fixed(at);
            say!("nothing is free at {at}", "{at}没有空闲")
        }
        NoRoom::Deadline { date } => say!("nothing is free until {date}", "{date} 之前没有空闲"),
        NoRoom::Earliest { date } => say!("nothing is free from {date} on", "{date} 之后没有空闲"),
        NoRoom::After { names } => {
            let names = names.join(&say!(", ", "、"));
            say!("nothing is free after {names}", "在“{names}”之后没有空闲")
        }
        NoRoom::Closed { times } => {
            let times: Vec<String> = times.iter().map(closed).collect();
            let times = times.join(&say!(", ", "、"));
            say!(
                "nothing is free outside of {times}",
                "除去{times}之后没有空闲"
            )
        }
        NoRoom::Long { sections } => say!(
            "no day has {sections} free sections in a row",
            "没有一天有连续 {sections} 节空闲"
        ),
    }
}

/// Returns how a placement differs from the settings of a class.
pub fn mismatch(issue: &PlacementMismatch) -> String {
    match issue {
        PlacementMismatch::LengthDiffers {
            name,
            total_slots,
            items,
            ..
        } => say!(
            "“{name}” wants {total_slots} sections for {items} items; every item was given 2, because only “minutes” gives items another length",
            "“{name}”的 {items} 项共需 {total_slots} 节；每项按 2 节安排，因为只有“minutes”能改变任务的长度"
        ),
    }
}

fn named(schedule: &ScheduleState, id: u32) -> String {
    let task = schedule.task(id).map(|task| task.name.clone());
    task.unwrap_or_else(|| say!("the item", "这一项"))
}

/// Returns the day of a schedule with this number.
pub fn day_of(number: u16, schedule: &ScheduleState) -> String {
    let known = schedule.day(number);
    known.map_or_else(
        || say!("day {number}", "第 {number} 天"),
        |known| day(known.day_of_week, &known.date, number),
    )
}

/// Returns a place.
fn slot(at: Slot, schedule: &ScheduleState) -> String {
    let time = hours(at, &schedule.window.sections);
    let day = day_of(at.day, schedule);
    say!("{day}, {time},", "{day} {time}")
}

/// Returns the clock times of a slot; its sections where the table lacks them.
pub fn hours(at: Slot, times: &Sections) -> String {
    if let Some((begin, end)) = times.times(&at) {
        return format!("{}–{}", begin.strftime("%H:%M"), end.strftime("%H:%M"));
    }
    let (first, last) = (at.slot_start, at.slot_end);
    say!("sections {first}–{last}", "第 {first}–{last} 节")
}

/// Returns what a place costs by the wishes of the person, what keeps the item away from cheaper
/// places, and what the best other place would cost; `place` names a place.
pub fn place_reason(reason: &PlaceReason, place: impl Fn(&Slot) -> String) -> String {
    let costs = unmet(&reason.unmet);
    let mut parts = vec![if costs.is_empty() {
        say!("The place costs nothing.", "这个位置没有任何代价。")
    } else {
        let cost = reason.cost;
        say!(
            "The place costs {cost} points: {costs}.",
            "这个位置的代价是 {cost} 分：{costs}。"
        )
    }];
    if !reason.obstacles.is_empty() {
        let closed = reason.obstacles.iter().map(obstacle);
        let closed = closed.collect::<Vec<_>>().join(&say!(", ", "，"));
        parts.push(say!(
            "Cheaper places are closed: {closed}.",
            "更好的位置不可用：{closed}。"
        ));
    }
    parts.push(match reason.others.first() {
        Some(there) => other(there, reason.cost, &place(&there.slot)),
        None => say!("No other place is open to it.", "没有别的位置可用。"),
    });
    parts.join(&say!(" ", ""))
}

fn other(other: &OtherPlace, cost: i64, place: &str) -> String {
    let more = other.cost - cost;
    let price = match more {
        0 => say!("at the same cost", "代价相同"),
        1.. => say!("for {more} points more", "代价多 {more} 分"),
        _ => say!("for {} points less", "代价少 {} 分", -more),
    };
    let unmet = unmet(&other.unmet);
    let why = if unmet.is_empty() || more <= 0 {
        String::new()
    } else {
        say!(": {unmet}", "：{unmet}")
    };
    say!(
        "It could also lie on {place}, {price}{why}.",
        "也可以改到 {place}，{price}{why}。"
    )
}

fn unmet(unmet: &[Discomfort]) -> String {
    let words = unmet.iter().map(|unmet| {
        let (wish, points) = (wish(unmet.wish), unmet.points);
        say!("{wish} ({points})", "{wish}（{points}）")
    });
    words.collect::<Vec<_>>().join(&say!(", ", "，"))
}

/// Returns what a wish would rather not have.
fn wish(wish: ObjectiveTerm) -> &'static str {
    let (en, zh) = match wish {
        ObjectiveTerm::CalmNeighbours => {
            ("two demanding subjects side by side", "两门高强度科目相邻")
        }
        ObjectiveTerm::FewSwitches => ("another switch between subjects", "多一次科目切换"),
        ObjectiveTerm::EvenDays => ("a fuller day than others", "当天比别的日子更满"),
        ObjectiveTerm::Evening => ("in the evening", "在晚上"),
        ObjectiveTerm::Late => ("late in the evening", "在深夜时段"),
        ObjectiveTerm::Lunch => ("at the time to eat", "在用餐时间"),
        ObjectiveTerm::Weekend => ("on a weekend", "在周末"),
        ObjectiveTerm::QuietDay => ("on a day that is to be quiet", "在想要清静的日子"),
        ObjectiveTerm::Time => (
            "at a time that you would rather not use",
            "在你不想用的时间",
        ),
        ObjectiveTerm::DailyLimit => ("beyond the limit of a day", "超过每天的上限"),
        ObjectiveTerm::Break => ("without a break", "没有休息"),
        ObjectiveTerm::Buffer => ("right beside a course", "紧挨着课程"),
        ObjectiveTerm::EvenWeeks => ("many of its class in that week", "同类任务在那一周较多"),
        ObjectiveTerm::Stability => ("it was agreed to elsewhere", "之前确认过别的位置"),
    };
    Lang::current().pick(en, zh)
}

fn obstacle(obstacle: &Obstacle) -> String {
    let places = obstacle.places;
    let (en, zh) = match obstacle.reason {
        ObstacleReason::Course => ("taken by courses", "被课程占用"),
        ObstacleReason::Item => ("taken by other items", "被其他事项占用"),
        ObstacleReason::Order => ("against the order of its class", "不符合本类顺序"),
        ObstacleReason::Time => ("at times that its class excludes", "在本类排除的时段"),
        ObstacleReason::Weekday => ("on days that its class excludes", "在本类排除的日子"),
        ObstacleReason::Dates => ("outside of its dates", "不在起止日期之内"),
        ObstacleReason::Past => ("over already", "已经过去"),
        ObstacleReason::KeptFree => ("kept free by your wish", "按你的要求空着"),
        ObstacleReason::Rule => ("against another rule", "不符合其他规则"),
    };
    let why = Lang::current().pick(en, zh);
    say!("{places} {why}", "{places} 处{why}")
}
