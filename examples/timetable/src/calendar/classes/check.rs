//! Checks of the values of the file, alone and against each other.
use std::collections::BTreeSet;
use std::fmt::Display;

use crate::calendar::ics::known;
use crate::calendar::sections::Sections;
use crate::schedule::SECTIONS;

use super::raw::{RawClass, RawClasses, RawDate, RawItem};
use super::{Class, Classes, ClassesError, Item};

/// The longest window in weeks: half a year, while a window is a part of a term.
const MOST_WEEKS: u16 = 26;
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
    let mut names = BTreeSet::new();
    let mut classes = Vec::new();
    for (class, number) in raw.classes.iter().zip(1_usize..) {
        let place = format!("classes[{number}]");
        let class = checked_class(&place, class)?;
        if !names.insert(class.name.clone()) {
            let message = format!("is `{}`, the name of a class before it", class.name);
            return Err(wrong(format!("{place}.name"), message));
        }
        classes.push(class);
    }
    let sections = sections.transpose()?.unwrap_or_default();
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

fn checked_class(place: &str, raw: &RawClass) -> Result<Class, ClassFileError> {
    let at = |key: &str| format!("{place}.{key}");
    let name = filled(&at("name"), &raw.name)?;
    let items = checked_items(&at("items"), &raw.items)?;
    if let Some(slots) = raw.total_slots {
        within(&at("total_slots"), slots, 1, longest(items.len()))?;
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
            6,
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
        items,
    })
}

/// Returns the most sections that the items can take; no item takes more than a day.
fn longest(items: usize) -> u32 {
    u32::try_from(items)
        .unwrap_or(u32::MAX)
        .saturating_mul(SECTIONS.into())
}

/// Checks the items and sorts them by order. An item without an order comes after the one before
/// it.
fn checked_items(place: &str, raw: &[RawItem]) -> Result<Vec<Item>, ClassFileError> {
    if raw.is_empty() || raw.len() > MOST_ITEMS {
        let message = format!("has {} entries; allowed are 1 to {MOST_ITEMS}", raw.len());
        return Err(wrong(place, message));
    }
    let mut items: Vec<Item> = Vec::new();
    let mut last = 0_u32;
    for (item, number) in raw.iter().zip(1_usize..) {
        let place = format!("{place}[{number}]");
        let content = filled(&format!("{place}.content"), &item.content)?;
        let order = item.order.unwrap_or(last.saturating_add(1));
        within(&format!("{place}.order"), order, 1, 1_000_000)?;
        if let Some(same) = items.iter().find(|before| before.order == order) {
            let message = format!("is {order}, the order of `{}` before it", same.content);
            return Err(wrong(format!("{place}.order"), message));
        }
        last = order;
        items.push(Item { content, order });
    }
    items.sort_by_key(|item| item.order);
    Ok(items)
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
