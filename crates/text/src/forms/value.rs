//! Values of fields.
use jiff::civil::Date;
use serde_json::Value;

use super::Fields;
use crate::{decimal, money};

/// Returns true for a blank value, with which models and pages leave a field open.
pub(crate) fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// Returns the text in a field; empty if there is none.
pub fn text<'a>(fields: &'a Fields, name: &str) -> &'a str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the texts in a list; nothing if it is no list.
pub fn strings(list: Option<&Value>) -> impl Iterator<Item = &str> {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str)
}

/// Reads a day such as `2026-03-02`.
pub fn day(text: &str) -> Option<Date> {
    text.parse().ok()
}

/// Reads an amount, in hundredths, from a number or from words such as `¥1,200.50`; `None` if it
/// has more than two decimals or is no amount.
///
/// ```
/// use fugato_text::forms::{amount_text, amount_value, cents};
/// use serde_json::json;
///
/// assert_eq!(cents(&json!("12.5 yuan")), Some(1250));
/// assert_eq!(amount_value(1250), json!(12.5)); // one number, however it was written
/// assert_eq!(amount_text(&json!(12.5)), "12.50");
/// assert_eq!(cents(&json!(1.001)), None);
/// ```
pub fn cents(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => decimal(&number.to_string(), 2),
        Value::String(text) => money(text),
        _ => None,
    }
}

/// Returns the canonical JSON number of an amount.
pub fn amount_value(cents: i64) -> Value {
    let text = written(cents);
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

/// Formats an amount for people: `1200`, `12.50`.
pub fn amount_text(value: &Value) -> String {
    cents(value).map(written).unwrap_or_default()
}

fn written(cents: i64) -> String {
    match (cents / 100, cents % 100) {
        (whole, 0) => whole.to_string(),
        (whole, part) => format!("{whole}.{part:02}"),
    }
}
