//! Checks of the values of the file, alone and against each other.
use std::collections::BTreeSet;
use std::fmt::Display;

use crate::calendar::ics::known;
use crate::schedule::{ClosedTime, Sections};

use super::raw::{
    OneOrMany, RawClass, RawClasses, RawClosed, RawDate, RawFixed, RawItem, TextOrItem,
};
use super::{Class, Classes, ClassesError, Item};

/// The longest window in weeks: a year.
const MOST_WEEKS: u16 = 53;
/// The most items of a class: more than fit into the longest window.
const MOST_ITEMS: usize = 1_000;

/// A place in the file and the problem there.
struct ClassFileError {
    place: String,
    message: String,
}

fn wrong(place: impl Into<String>, message: impl Into<String>) -> ClassFileError {
    ClassFileError {
        place: place.into(),
        message: message.into(),
    }
}

pub(super) fn check(file: &str, raw: RawClasses) -> Result<Classes, ClassesError> {
    checked(raw).map_err(|ClassFileError { place, message }| {
        let file = file.to_owned();
        ClassesError::Value {
            file,
            place,
            message,
        }
    })
}

fn checked(raw: RawClasses) -> Result<Classes, ClassFileError> {
    let RawDate(start) = raw.window.start;
    within("window.weeks", raw.window.weeks, 1, MOST_WEEKS)?;
    if !(1900..=2200).contains(&start.year()) {
        return Err(wrong(
            "window.start",
            format!("is {start}; allowed are years 1900 to 2200"),
        ));
    }
    let zone = raw.zone.map(|name| {
        known(&name).ok_or_else(|| {
            let allowed = "allowed are IANA names such as Asia/Shanghai";
            wrong(
                "zone",
                format!("is `{name}`, which is not known; {allowed}"),
            )
        })
    });
    let sections = raw.sections.map(|texts| {
        Sections::parse(&texts).map_err(|error| wrong("sections:", error.to_string()))
    });
    let sections = sections.transpose()?.unwrap_or_default();
    let mut names = BTreeSet::new();
    let mut classes = Vec::new();
    for (class, number) in raw.classes.iter().zip(1_usize..) {
        let place = format!("classes[{number}]");
        let class = checked_class(&place, class, &sections)?;
        if !names.insert(class.name.clone()) {
            let message = format!("is `{}`, the name of a class before it", class.name);
            return Err(wrong(format!("{place}.name"), message));
        }
        classes.push(class);
    }
    check_predecessors(&classes)?;
    let preferences = raw.preferences.resolve(&sections);
    let preferences =
        preferences.map_err(|(key, message)| wrong(format!("preferences.{key}"), message))?;
    Ok(Classes {
        start,
        weeks: raw.window.weeks,
        zone: zone.transpose()?,
        sections,
        preferences,
        embeddable: raw.embeddable,
        ignore: raw.ignore,
        classes,
    })
}

fn checked_class(
    place: &str,
    raw: &RawClass,
    sections: &Sections,
) -> Result<Class, ClassFileError> {
    let at = |key: &str| format!("{place}.{key}");
    let name = filled(&at("name"), &raw.name)?;
    let minutes = raw.minutes.map(|minutes| minutes.0);
    fitting(&at("minutes"), minutes, sections)?;
    let items = checked_items(&at("items"), &raw.items, sections)?;
    if let Some(slots) = raw.total_slots {
        within(&at("total_slots"), slots, 1, longest(items.len(), sections))?;
    }
    let (start_date, end_date) = (
        raw.start_date.map(|date| date.0),
        raw.end_date.map(|date| date.0),
    );
    if let (Some(start), Some(end)) = (start_date, end_date)
        && end < start
    {
        let message = format!("is {end}; it must not be before start_date, {start}");
        return Err(wrong(at("end_date"), message));
    }
    Ok(Class {
        name,
        strategy: raw.strategy,
        total_slots: raw.total_slots,
        allow_filler_course: raw.allow_filler_course,
        excluded_slots: numbers(
            &at("excluded_slots"),
            raw.excluded_slots.iter().map(|block| block.0),
            sections.count().div_ceil(2),
        )?,
        excluded_days_of_week: numbers(
            &at("excluded_days_of_week"),
            raw.excluded_days_of_week.iter().map(|day| day.0),
            7,
        )?,
        start_date,
        end_date,
        subject_type: raw.subject_type,
        difficulty_level: raw.difficulty_level,
        cognitive_intensity: raw.cognitive_intensity,
        minutes,
        priority: raw.priority,
        not: closed(&raw.not),
        items,
    })
}

/// Returns the most sections that the items can take; no item takes more than a day.
fn longest(items: usize, sections: &Sections) -> u32 {
    u32::try_from(items)
        .unwrap_or(u32::MAX)
        .saturating_mul(sections.count().into())
}

/// Checks the items and sorts them by order. An item without an order comes after the one before
/// it.
fn checked_items(
    place: &str,
    raw: &[TextOrItem],
    sections: &Sections,
) -> Result<Vec<Item>, ClassFileError> {
    if raw.is_empty() || raw.len() > MOST_ITEMS {
        let message = format!("has {} entries; allowed are 1 to {MOST_ITEMS}", raw.len());
        return Err(wrong(place, message));
    }
    let mut items: Vec<Item> = Vec::new();
    let mut last = 0_u32;
    for (TextOrItem(item), number) in raw.iter().zip(1_usize..) {
        let place = format!("{place}[{number}]");
        let content = filled(&format!("{place}.content"), &item.content)?;
        let order = item.order.unwrap_or(last.saturating_add(1));
        within(&format!("{place}.order"), order, 1, 1_000_000)?;
        if let Some(same) = items.iter().find(|before| before.order == order) {
            let message = format!("is {order}, the order of `{}` before it", same.content);
            return Err(wrong(format!("{place}.order"), message));
        }
        last = order;
        items.push(checked_item(&place, item, (content, order), sections)?);
    }
    items.sort_by_key(|item| item.order);
    Ok(items)
}

/// Checks the terms of an item.
fn checked_item(
    place: &str,
    raw: &RawItem,
    (content, order): (String, u32),
    sections: &Sections,
) -> Result<Item, ClassFileError> {
    let at = |key: &str| format!("{place}.{key}");
    let (minutes, split) = (raw.minutes.map(|it| it.0), raw.split.map(|it| it.0));
    fitting(&at("split"), split, sections)?;
    match (minutes, split) {
        (None, Some(_)) => {
            let message = "is the length of the parts; it needs `minutes`, the whole length";
            return Err(wrong(at("split"), message));
        }
        (minutes, None) => fitting(&at("minutes"), minutes, sections)?,
        (Some(minutes), Some(split)) if minutes / split >= 100 => {
            let message = format!("is {split}, which makes more than 100 parts of {minutes}");
            return Err(wrong(at("split"), message));
        }
        _ => {}
    }
    let (earliest, deadline) = (raw.earliest.map(|it| it.0), raw.deadline.map(|it| it.0));
    if let Some((earliest, deadline)) = earliest.zip(deadline)
        && deadline < earliest
    {
        let message = format!("is {deadline}; it must not be before earliest, {earliest}");
        return Err(wrong(at("deadline"), message));
    }
    if let Some(RawFixed(fixed)) = &raw.at
        && !sections.begin().any(|begin| begin == fixed.time)
    {
        let begins: Vec<String> = sections
            .begin()
            .map(|it| it.strftime("%H:%M").to_string())
            .collect();
        let message = format!(
            "is {fixed}, when no section begins; allowed are {}",
            begins.join(", ")
        );
        return Err(wrong(at("at"), message));
    }
    Ok(Item {
        content,
        order,
        minutes,
        split,
        earliest,
        deadline,
        priority: raw.priority,
        at: raw.at.as_ref().map(|at| at.0.clone()),
        after: raw
            .after
            .0
            .iter()
            .map(|name| name.trim().to_owned())
            .collect(),
        not: closed(&raw.not),
    })
}

fn closed(raw: &OneOrMany<RawClosed>) -> Vec<ClosedTime> {
    raw.0.iter().map(|closed| closed.0.clone()).collect()
}

/// Checks that a day has room for a length.
fn fitting(place: &str, minutes: Option<u16>, sections: &Sections) -> Result<(), ClassFileError> {
    let long = minutes.filter(|minutes| sections.holding(*minutes).is_none());
    let Some(minutes) = long else { return Ok(()) };
    let most = (1..minutes)
        .rev()
        .find(|less| sections.holding(*less).is_some());
    let most = most.unwrap_or_default();
    Err(wrong(
        place,
        format!(
            "is {minutes}; a day holds at most {most}, and `split` makes parts of a longer item"
        ),
    ))
}

/// Checks that the items that others have to follow are there, and that nothing follows itself.
fn check_predecessors(classes: &[Class]) -> Result<(), ClassFileError> {
    let all = || {
        classes
            .iter()
            .enumerate()
            .flat_map(|(at, class)| class.items.iter().map(move |item| (at, item)))
    };
    let mut waits = Vec::new();
    for (at, item) in all() {
        let place = format!("classes[{}].items `{}`.after", at + 1, item.content);
        let mut before: Vec<(usize, &Item)> = Vec::new();
        for name in &item.after {
            let found: Vec<_> = all().filter(|(_, other)| other.content == *name).collect();
            match found.as_slice() {
                [one] => before.push(*one),
                [] => return Err(wrong(place, format!("is `{name}`; no item has that text"))),
                _ => {
                    let message = format!(
                        "is `{name}`, the text of {} items; it must be of one",
                        found.len()
                    );
                    return Err(wrong(place, message));
                }
            }
        }
        let same = |(other, _): &(usize, &Item)| *other == at;
        let mut earlier = all()
            .filter(same)
            .filter(|(_, other)| other.order < item.order);
        before.extend(earlier.by_ref().max_by_key(|(_, other)| other.order));
        waits.push((at, item, before));
    }
    // What waits only for items that are done is done.
    let mut done: Vec<(usize, u32)> = Vec::new();
    loop {
        let is_done = |(at, item): &(usize, &Item)| done.contains(&(*at, item.order));
        let (ready, rest): (Vec<_>, Vec<_>) = waits
            .into_iter()
            .partition(|(.., before)| before.iter().all(is_done));
        if let (true, Some((at, item, _))) = (
            ready.is_empty(),
            rest.iter().find(|(_, item, _)| !item.after.is_empty()),
        ) {
            let place = format!("classes[{}].items `{}`.after", at + 1, item.content);
            return Err(wrong(
                place,
                "makes a circle: by it, the item has to follow itself",
            ));
        }
        if ready.is_empty() {
            return Ok(());
        }
        done.extend(ready.iter().map(|(at, item, _)| (*at, item.order)));
        waits = rest;
    }
}

fn filled(place: &str, text: &str) -> Result<String, ClassFileError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(wrong(place, "is empty; it needs a text"));
    }
    Ok(text.to_owned())
}

fn numbers(
    place: &str,
    numbers: impl Iterator<Item = u8>,
    most: u8,
) -> Result<Vec<u8>, ClassFileError> {
    let mut sorted = BTreeSet::new();
    for (number, index) in numbers.zip(1_usize..) {
        within(&format!("{place}[{index}]"), number, 1, most)?;
        sorted.insert(number);
    }
    Ok(sorted.into_iter().collect())
}

fn within<T: PartialOrd + Display + Copy>(
    place: &str,
    is: T,
    least: T,
    most: T,
) -> Result<(), ClassFileError> {
    if is < least || is > most {
        return Err(wrong(
            place,
            format!("is {is}; allowed are {least} to {most}"),
        ));
    }
    Ok(())
}
