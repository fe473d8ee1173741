use std::collections::BTreeSet;

use serde_json::Value;

/// The threshold at which two values count as the same.
///
/// Equal values always do. Others do if they share enough words: the number of shared words divided
/// by the number of distinct words in both. A Chinese, Japanese or Korean character is a word.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Similarity(f64);

impl Similarity {
    /// Equality only. The order of the keys of an object does not count.
    pub const EQUAL: Self = Self(f64::INFINITY);

    /// Sets the minimum share of the words, from 0 to 1.
    pub fn at_least(share: f64) -> Self {
        Self(share)
    }

    /// Returns true if two JSON values count as the same.
    pub fn of_values(self, a: &Value, b: &Value) -> bool {
        a == b || self.is_reached(&words(&a.to_string()), &words(&b.to_string()))
    }

    /// Returns true if two texts count as the same.
    pub fn of_texts(self, a: &str, b: &str) -> bool {
        a == b || self.is_reached(&words(a), &words(b))
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "a text has fewer words than a float has precise integers"
    )]
    fn is_reached(self, a: &BTreeSet<String>, b: &BTreeSet<String>) -> bool {
        let shared = a.intersection(b).count();
        let all = a.len() + b.len() - shared;
        all > 0 && shared as f64 / all as f64 >= self.0
    }
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
