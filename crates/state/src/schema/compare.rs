//! Types, order and equality of values as JSON Schema has them.
use std::cmp::Ordering;

use regex_lite::Regex;
use serde_json::{Number, Value};

/// Returns true if a value has one of the types of a `type` keyword.
pub(super) fn has_type(value: &Value, name: &str) -> bool {
    match (name, value) {
        ("null", Value::Null)
        | ("boolean", Value::Bool(_))
        | ("string", Value::String(_))
        | ("array", Value::Array(_))
        | ("object", Value::Object(_))
        | ("number", Value::Number(_)) => true,
        ("integer", Value::Number(number)) => {
            integer(number).is_some() || number.as_f64().is_some_and(|it| it.fract() == 0.0)
        }
        _ => false,
    }
}

fn integer(number: &Number) -> Option<i128> {
    let signed = number.as_i64().map(i128::from);
    signed.or_else(|| number.as_u64().map(i128::from))
}

pub(super) fn order(one: &Number, other: &Number) -> Option<Ordering> {
    match (integer(one), integer(other)) {
        (Some(one), Some(other)) => Some(one.cmp(&other)),
        _ => one.as_f64()?.partial_cmp(&other.as_f64()?),
    }
}

pub(super) fn is_multiple(number: &Number, of: &Number) -> bool {
    match (integer(number), integer(of)) {
        (_, Some(0)) => false,
        (Some(number), Some(of)) => number % of == 0,
        _ => {
            let parts = number.as_f64().zip(of.as_f64());
            parts.is_some_and(|(number, of)| {
                let times = number / of;
                // 0.3 is a multiple of 0.1, whatever binary fractions make of it.
                (times - times.round()).abs() <= 1e-9 * times.abs().max(1.0)
            })
        }
    }
}

/// Returns true if two values are equal, where 1 and 1.0 are the same number.
pub(super) fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => order(one, other) == Some(Ordering::Equal),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(one), Value::Object(other)) => {
            let has_same = |(key, a)| other.get(key).is_some_and(|b| is_same(a, b));
            one.len() == other.len() && one.iter().all(has_same)
        }
        _ => one == other,
    }
}

/// Returns true if a text matches a pattern. A pattern in a dialect that the engine does not know
/// allows everything: whoever gave the schema checks it again.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    Regex::new(pattern).map_or(true, |pattern| pattern.is_match(text))
}
