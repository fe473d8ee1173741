//! Why something is wanted, without what belongs into other fields.
use serde::Deserialize;

use super::Pattern;
use crate::form::FormKind;

/// Reads reasons, and keeps facts of other fields out of them.
#[derive(Debug, Deserialize)]
pub(super) struct Reasons {
    named: Pattern,
    trips: Vec<Pattern>,
    claims: Vec<Pattern>,
    cut: Pattern,
    facts: Vec<Pattern>,
}

impl Reasons {
    pub(super) fn read(&self, form: FormKind, text: &str) -> Option<String> {
        if let Some(found) = self.named.0.captures(text) {
            return self.cleaned(found.get(1)?.as_str());
        }
        let patterns = match form {
            FormKind::Application => &self.trips,
            _ => &self.claims,
        };
        let mut patterns = patterns.iter();
        let found = patterns.find_map(|pattern| pattern.0.captures(text))?;
        self.cleaned(&self.cut.0.replace(found.get(1)?.as_str(), ""))
    }

    /// What describes the business stays, be it about travelling: a transport word alone is no fact
    /// of another field.
    pub(super) fn cleaned(&self, reason: &str) -> Option<String> {
        let mut text = reason.to_owned();
        for fact in &self.facts {
            text = fact.0.replace_all(&text, " ").into_owned();
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let text = words.join(" ");
        let text = text.trim_matches(|c: char| c.is_whitespace() || ",，.。;；:：、-".contains(c));
        (!text.is_empty()).then(|| text.to_owned())
    }
}
