//! What fits into a field, and how it is written there.
use fugato::words::{decimal, money};
use jiff::civil::Date;
use serde_json::{Value, json};

use super::{Field, FieldKind, Fields};

/// Whether a value says nothing, as models and pages leave fields open.
pub(super) fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// The canonical form of a value, or what is allowed.
pub(super) fn read(field: &Field, value: &Value) -> Result<Value, String> {
    let text = value.as_str().map(str::trim);
    match field.kind {
        FieldKind::Text | FieldKind::Document => match text {
            Some(text) => Ok(json!(text)),
            None => Err("a text is allowed".into()),
        },
        FieldKind::Day => match text.and_then(day) {
            Some(day) => Ok(json!(day.to_string())),
            None => Err("a day is allowed, such as 2026-03-02".into()),
        },
        FieldKind::Amount => match cents(value) {
            Some(cents) if cents > 0 => Ok(amount_value(cents)),
            _ => Err("a positive amount with at most two decimals is allowed".into()),
        },
        FieldKind::Choice => choice(field, text),
        FieldKind::Files => files(value),
    }
}

fn choice(field: &Field, text: Option<&str>) -> Result<Value, String> {
    let choices = field.choices();
    let exact = text.filter(|text| choices.contains(text));
    let meant = exact.or_else(|| field.chosen(text?));
    let allowed = || format!("allowed are {}", choices.join(", "));
    meant.map(|word| json!(word)).ok_or_else(allowed)
}

fn files(value: &Value) -> Result<Value, String> {
    let listed = match value {
        Value::Array(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    let mut names: Vec<&str> = vec![];
    for name in listed {
        match name.as_str().map(str::trim) {
            None | Some("") => return Err("a list of file names is allowed".into()),
            Some(name) if names.contains(&name) => {}
            Some(name) => names.push(name),
        }
    }
    Ok(json!(names))
}

/// The text in a field; empty if there is none.
pub(crate) fn text<'a>(fields: &'a Fields, name: &str) -> &'a str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The texts in a list.
pub(crate) fn strings(list: Option<&Value>) -> impl Iterator<Item = &str> {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str)
}

/// A value as a person reads it.
pub(crate) fn shown(name: &str, value: &Value) -> String {
    match value {
        Value::Array(_) => strings(Some(value)).collect::<Vec<_>>().join(", "),
        Value::String(text) => text.clone(),
        value if name.ends_with("amount") => amount_text(value),
        value => value.to_string(),
    }
}

/// A day as `2026-03-02`.
pub fn day(text: &str) -> Option<Date> {
    text.parse().ok()
}

/// An amount in hundredths, from a number or from words such as `¥1,200.50`; none if it has more
/// than two decimals or is none.
pub fn cents(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => decimal(&number.to_string(), 2),
        Value::String(text) => money(text),
        _ => None,
    }
}

/// The one JSON number that stands for an amount.
pub fn amount_value(cents: i64) -> Value {
    let text = written(cents);
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

/// An amount as people read it: `1200`, `12.50`.
pub fn amount_text(value: &Value) -> String {
    cents(value).map(written).unwrap_or_default()
}

fn written(cents: i64) -> String {
    match (cents / 100, cents % 100) {
        (whole, 0) => whole.to_string(),
        (whole, part) => format!("{whole}.{part:02}"),
    }
}
