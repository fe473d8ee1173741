use std::collections::BTreeSet;

use serde_json::Value;

/// Returns true if two JSON values are equal, or share at least this share of their words.
pub(super) fn of_values(a: &Value, b: &Value, share: f64) -> bool {
    a == b || is_reached(&words(&a.to_string()), &words(&b.to_string()), share)
}

/// Returns true if two texts are equal, or share at least this share of their words.
pub(super) fn of_texts(a: &str, b: &str, share: f64) -> bool {
    a == b || is_reached(&words(a), &words(b), share)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a text has fewer words than a float has precise integers"
)]
fn is_reached(a: &BTreeSet<String>, b: &BTreeSet<String>, least: f64) -> bool {
    let shared = a.intersection(b).count();
    let all = a.len() + b.len() - shared;
    all > 0 && shared as f64 / all as f64 >= least
}

fn words(text: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut word = String::new();
    for c in text.chars() {
        if c.is_alphanumeric() && !is_a_word(c) {
            word.extend(c.to_lowercase());
            continue;
        }
        if !word.is_empty() {
            words.insert(std::mem::take(&mut word));
        }
        if is_a_word(c) {
            words.insert(c.into());
        }
    }
    if !word.is_empty() {
        words.insert(word);
    }
    words
}

/// Returns true for a character of a script that puts no space between words.
fn is_a_word(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}')
}
