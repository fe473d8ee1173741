//! What fits into a field, and how it is written there.
use jiff::civil::Date;
use serde_json::{Value, json};

use super::{Field, FieldKind, amount};

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
        FieldKind::Amount => match amount_of(value) {
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
fn amount_of(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => cents(&number.to_string()),
        Value::String(text) => amount::alone(text),
        _ => None,
    }
}

/// Hundredths of a plain decimal number.
pub fn cents(text: &str) -> Option<i64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let part = part.trim_end_matches('0');
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || part.len() > 2 || !digits(whole) || !digits(part) {
        return None;
    }
    let whole: i64 = whole.parse().ok()?;
    let part: i64 = if part.is_empty() {
        0
    } else {
        format!("{part:0<2}").parse().ok()?
    };
    whole.checked_mul(100)?.checked_add(part)
}

/// The one JSON number that stands for an amount.
pub(crate) fn amount_value(cents: i64) -> Value {
    if cents % 100 == 0 {
        return json!(cents / 100);
    }
    let text = format!("{}.{:02}", cents / 100, cents % 100);
    let number: Option<f64> = text.parse().ok();
    number.map_or_else(|| json!(text), |number| json!(number))
}

/// An amount as people read it: `1200`, `12.50`.
pub fn amount_text(value: &Value) -> String {
    match amount_of(value) {
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
                amount_of(&given).map(amount_value),
                Some(json!(1200)),
                "{given}"
            );
        }
        assert_eq!(
            amount_of(&json!("12.5 yuan")).map(amount_value),
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
            assert_eq!(
                amount_of(&wrong).filter(|cents| *cents > 0),
                None,
                "{wrong}"
            );
        }
    }
}
