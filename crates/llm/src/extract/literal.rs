//! Values without quotes.
use serde_json::{Number, Value};

use super::JsonRepair;

pub(super) fn starts_word(c: char) -> bool {
    c == '_' || c == '$' || c.is_alphabetic()
}

/// Returns true if a bare word may contain the character. The bar keeps a copied list of
/// alternatives in one word, so that it can be reported.
pub(super) fn goes_on_word(c: char) -> bool {
    starts_word(c) || c.is_numeric() || matches!(c, '-' | '.' | '|')
}

pub(super) fn goes_on_number(c: char) -> bool {
    matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E')
}

/// Returns a bare word as a value, with its repair; `None` if it has no meaning.
pub(super) fn word(word: &str) -> Option<(Value, Option<JsonRepair>)> {
    Some(match word {
        "true" => (Value::Bool(true), None),
        "false" => (Value::Bool(false), None),
        "null" => (Value::Null, None),
        "True" => (Value::Bool(true), Some(JsonRepair::OtherLiteral)),
        "False" => (Value::Bool(false), Some(JsonRepair::OtherLiteral)),
        "None" => (Value::Null, Some(JsonRepair::OtherLiteral)),
        "NaN" | "Infinity" | "undefined" => return None,
        word => (
            Value::String(word.to_owned()),
            Some(JsonRepair::UnquotedValue),
        ),
    })
}

/// Returns a number, with its repair if it has a form that JSON does not allow: `+1`, `.5`, `1.`.
pub(super) fn number(token: &str) -> Option<(Value, Option<JsonRepair>)> {
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
    Some((Value::Number(number), Some(JsonRepair::LooseNumber)))
}
