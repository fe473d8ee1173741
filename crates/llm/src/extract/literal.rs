//! Values without quotes.
use serde_json::{Number, Value};

use super::Repair;

pub(super) fn starts_word(c: char) -> bool {
    c == '_' || c == '$' || c.is_alphabetic()
}

/// The bar keeps a copied list of alternatives in one piece, so that it can be named.
pub(super) fn goes_on_word(c: char) -> bool {
    starts_word(c) || c.is_numeric() || matches!(c, '-' | '.' | '|')
}

pub(super) fn goes_on_number(c: char) -> bool {
    matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E')
}

/// A word as a value, and what had to be repaired; none if it means nothing.
pub(super) fn word(word: &str) -> Option<(Value, Option<Repair>)> {
    Some(match word {
        "true" => (Value::Bool(true), None),
        "false" => (Value::Bool(false), None),
        "null" => (Value::Null, None),
        "True" => (Value::Bool(true), Some(Repair::OtherLiteral)),
        "False" => (Value::Bool(false), Some(Repair::OtherLiteral)),
        "None" => (Value::Null, Some(Repair::OtherLiteral)),
        "NaN" | "Infinity" | "undefined" => return None,
        word => (Value::String(word.to_owned()), Some(Repair::UnquotedValue)),
    })
}

/// A number, and whether it is written in a way that JSON does not know: `+1`, `.5`, `1.`.
pub(super) fn number(token: &str) -> Option<(Value, Option<Repair>)> {
    if let Ok(number) = token.parse::<Number>() {
        return Some((Value::Number(number), None));
    }
    let (sign, digits) = match token.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", token.strip_prefix('+').unwrap_or(token)),
    };
    let digits = digits.strip_suffix('.').unwrap_or(digits);
    let zero = if digits.starts_with('.') { "0" } else { "" };
    let number = format!("{sign}{zero}{digits}").parse::<Number>().ok()?;
    Some((Value::Number(number), Some(Repair::LooseNumber)))
}
