use std::{collections::BTreeMap, ops::Range};

use serde_json::{Map, Value};

use crate::{ApiKey, ChatDelta, FinishReason};

/// The text that replaces a secret. No key contains such characters.
const MARK: &str = "‹•••›";
/// The prefixes of well-known kinds of keys.
const BEGINNINGS: [&str; 12] = [
    "sk-",
    "pk-",
    "rk-",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "AIza",
    "hf_",
];
/// The length from which a word can be a key, in bytes.
const KEY_CHARS: usize = 20;
const BEARER_CHARS: usize = 8;

/// The secrets that a cassette must not contain.
///
/// In addition to the given secrets, everything that looks like a secret is hidden: long words with
/// the prefix of a key (`sk-…`, `ghp_…`, `AKIA…`), the word after `Bearer`, and JSON web tokens.
///
/// A secret is found in plain form and as JSON escapes it, also across the deltas of a stream. A
/// secret in another form, such as base64, must be given in that form.
#[derive(derive_more::Debug, Clone, Default)]
#[debug("Secrets([{} hidden])", self.known.len())]
pub struct Secrets {
    known: Vec<String>,
}

impl Secrets {
    /// Creates a set that hides these texts wherever they occur. Empty texts are ignored.
    pub fn new<T: Into<String>>(known: impl IntoIterator<Item = T>) -> Self {
        known.into_iter().fold(Self::default(), Self::and)
    }

    /// Adds a text to hide.
    #[must_use]
    pub fn and(mut self, secret: impl Into<String>) -> Self {
        let secret = secret.into();
        if secret.is_empty() {
            return self;
        }
        let quoted = Value::from(secret.as_str()).to_string();
        let escaped = quoted.get(1..quoted.len().saturating_sub(1));
        self.known.extend(
            escaped
                .filter(|escaped| *escaped != secret)
                .map(str::to_owned),
        );
        self.known.push(secret);
        self
    }

    /// Adds a key to hide.
    #[must_use]
    pub fn and_key(self, key: &ApiKey) -> Self {
        self.and(key.reveal())
    }

    /// Returns the text without secrets.
    pub fn scrub(&self, text: &str) -> String {
        let mut text = text.to_owned();
        self.scrub_pieces([&mut text]);
        text
    }

    /// Hides secrets in all strings of a value, including field names and numbers.
    pub(super) fn scrub_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.scrub_pieces([text]),
            Value::Array(items) => items.iter_mut().for_each(|item| self.scrub_value(item)),
            Value::Object(fields) => {
                let scrubbed: Map<_, _> = std::mem::take(fields)
                    .into_iter()
                    .map(|(name, mut value)| {
                        self.scrub_value(&mut value);
                        (self.scrub(&name), value)
                    })
                    .collect();
                *fields = scrubbed;
            }
            Value::Number(number) => {
                let text = number.to_string();
                let scrubbed = self.scrub(&text);
                if scrubbed != text {
                    *value = Value::String(scrubbed);
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Hides secrets in an answer, even if deltas divide them.
    pub(super) fn scrub_deltas(&self, deltas: &mut [ChatDelta]) {
        let (mut text, mut reasoning) = (vec![], vec![]);
        let mut calls: BTreeMap<(usize, u8), Vec<&mut String>> = BTreeMap::new();
        for delta in deltas {
            match delta {
                ChatDelta::Text(piece) => text.push(piece),
                ChatDelta::Reasoning(piece) => reasoning.push(piece),
                ChatDelta::ToolCall(piece) => {
                    let at = piece.index;
                    calls.entry((at, 0)).or_default().push(&mut piece.arguments);
                    calls.entry((at, 1)).or_default().extend(&mut piece.name);
                    self.scrub_pieces(&mut piece.id);
                }
                ChatDelta::Kept { by, value } => {
                    self.scrub_pieces([by]);
                    self.scrub_value(value);
                }
                ChatDelta::Finish(FinishReason::Other(reason)) => self.scrub_pieces([reason]),
                ChatDelta::Usage(_) | ChatDelta::Finish(_) | ChatDelta::Attempt(_) => {}
            }
        }
        self.scrub_pieces(text);
        self.scrub_pieces(reasoning);
        for call in calls.into_values() {
            self.scrub_pieces(call);
        }
    }

    /// Hides secrets in a text that is divided into pieces. The mark is put where a secret begins.
    fn scrub_pieces<'a>(&self, pieces: impl IntoIterator<Item = &'a mut String>) {
        let pieces: Vec<_> = pieces.into_iter().collect();
        let whole: String = pieces.iter().map(|piece| piece.as_str()).collect();
        let hidden = self.find(&whole);
        if hidden.is_empty() {
            return;
        }
        let mut start = 0;
        for piece in pieces {
            let own = start..start + piece.len();
            start = own.end;
            *piece = without(&whole, own, &hidden);
        }
    }

    /// Returns the ranges of secrets, in order and without overlaps.
    fn find(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = shapes(text);
        for secret in &self.known {
            // Overlapping occurrences count too; otherwise a part of one would remain.
            let mut from = 0;
            while let Some(at) = text.get(from..).and_then(|rest| rest.find(secret.as_str())) {
                let at = from + at;
                found.push(at..at + secret.len());
                from = at + next_len(text, at);
            }
        }
        found.sort_unstable_by_key(|range| range.start);
        let mut joined: Vec<Range<usize>> = vec![];
        for range in found {
            match joined.last_mut() {
                Some(last) if range.start < last.end => last.end = last.end.max(range.end),
                _ => joined.push(range),
            }
        }
        joined
    }
}

/// Returns one piece of the text, with a mark where a secret begins in it.
fn without(whole: &str, own: Range<usize>, hidden: &[Range<usize>]) -> String {
    let mut left = String::new();
    let mut at = own.start;
    for range in hidden {
        if range.end <= at {
            continue;
        }
        if range.start >= own.end {
            break;
        }
        left += whole.get(at..range.start).unwrap_or_default();
        if range.start >= own.start {
            left += MARK;
        }
        at = range.end.min(own.end);
    }
    left + whole.get(at..own.end).unwrap_or_default()
}

/// Returns the ranges of words that look like secrets.
fn shapes(text: &str) -> Vec<Range<usize>> {
    let mut found = vec![];
    let mut from = 0;
    let of_a_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    for word in text.split(|c| !of_a_word(c)) {
        let range = from..from + word.len();
        from = range.end + next_len(text, range.end);
        let begins = BEGINNINGS
            .iter()
            .any(|beginning| word.starts_with(beginning));
        let digits = word.bytes().any(|byte| byte.is_ascii_digit());
        let token = word.starts_with("eyJ") && word.matches('.').count() == 2;
        if word.len() >= KEY_CHARS && (begins && digits || token) {
            found.push(range);
        }
    }
    for (at, scheme) in text.match_indices("earer ") {
        let start = at + scheme.len();
        let rest = text.get(start..).unwrap_or_default();
        let end = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\' | ',' | '‹');
        let length = rest.find(end).unwrap_or(rest.len());
        if length >= BEARER_CHARS {
            found.push(start..start + length);
        }
    }
    found
}

fn next_len(text: &str, at: usize) -> usize {
    text.get(at..)
        .and_then(|rest| rest.chars().next())
        .map_or(0, char::len_utf8)
}
