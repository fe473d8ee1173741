//! What fits into a field, and how it is written there.
use fugato::words::{decimal, money};
use jiff::civil::Date;
use serde_json::{Value, json};

use super::{Field, FieldKind};

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
    let exact = text.filter(|text| field.words.iter().any(|choice| choice.means == *text));
    let meant = exact.or_else(|| field.chosen(text?));
    let allowed = || {
        let words = field.words.iter().map(|choice| choice.means.as_str());
        format!("allowed are {}", words.collect::<Vec<_>>().join(", "))
    };
    meant.map(|word| json!(word)).ok_or_else(allowed)
}

fn files(value: &Value) -> Result<Value, String> {
    let listed = match value {
        Value::String(one) => vec![one.trim().to_owned()],
        Value::Array(items) => {
            let names = items
                .iter()
                .map(|item| item.as_str().map(|name| name.trim().to_owned()));
            names.collect::<Option<_>>().unwrap_or_default()
        }
        _ => vec![],
    };
    let mut names: Vec<String> = vec![];
    for name in listed {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() || names.iter().any(String::is_empty) {
        return Err("a list of file names is allowed".into());
    }
    Ok(json!(names))
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
    if cents % 100 == 0 {
        return json!(cents / 100);
    }
    let text = format!("{}.{:02}", cents / 100, cents % 100);
    let number: Option<f64> = text.parse().ok();
    number.map_or_else(|| json!(text), |number| json!(number))
}

/// An amount as people read it: `1200`, `12.50`.
pub fn amount_text(value: &Value) -> String {
    match cents(value) {
        Some(cents) if cents % 100 != 0 => format!("{}.{:02}", cents / 100, cents % 100),
        Some(cents) => (cents / 100).to_string(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_amount_is_one_number_however_it_is_written() {
        for given in [
            json!(1200),
            json!(1200.0),
            json!("¥1,200"),
            json!("1200.00元"),
        ] {
            assert_eq!(
                cents(&given).map(amount_value),
                Some(json!(1200)),
                "{given}"
            );
        }
        assert_eq!(
            cents(&json!("12.5 yuan")).map(amount_value),
            Some(json!(12.5))
        );
        assert_eq!(amount_text(&json!(12.5)), "12.50");
        for wrong in [
            json!("soon"),
            json!(1.001),
            json!([]),
            json!(-3),
            json!("9".repeat(40)),
            json!("-300"),
            json!("86,50"),
            json!("300-500"),
        ] {
            assert_eq!(cents(&wrong).filter(|cents| *cents > 0), None, "{wrong}");
        }
    }
}
