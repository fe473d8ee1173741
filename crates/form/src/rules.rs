//! What names the facts of a form in a text, as data.
use std::collections::BTreeMap;

use serde::Deserialize;

use crate::Pattern;

/// What names the facts of forms in a text. All of it may be left out: then nothing is read by it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Rules {
    /// What stands before an amount that has no currency, in lower case.
    pub amount: Vec<String>,
    /// The names of files.
    pub files: Option<Pattern>,
    /// What may stand before the name of a file without a space; the longer ones first.
    pub before_files: Vec<String>,
    /// Fields of texts that are called by a name, and the pattern whose first group is what is said
    /// then. All of it counts, where what a field's own [patterns](crate::Field::patterns) find is
    /// cut.
    pub labels: BTreeMap<String, Pattern>,
    /// Where a text ends that is not labelled.
    pub cut: Option<Pattern>,
    /// What belongs into other fields and is left out of texts: patterns, in which `{field}` is any
    /// word of the choice of that name.
    pub facts: Vec<String>,
    /// Places.
    pub places: Places,
}

/// The names of places, and what tells which one is meant.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Places {
    /// Places that are known.
    pub known: Vec<Place>,
    /// What stands right before the place that is meant, where there are several; in lower case.
    pub toward: Vec<String>,
    /// What names a place that is not known: its first group.
    pub elsewhere: Vec<Pattern>,
}

/// A place, as it is written in both languages.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// In Chinese.
    pub zh: String,
    /// In English.
    pub en: String,
}

impl Places {
    /// The place that is meant: the one behind such a word, or else the first one.
    pub(crate) fn read(&self, text: &str) -> Option<String> {
        let lower = text.to_lowercase();
        let names = self.known.iter().flat_map(|place| [&place.zh, &place.en]);
        let found = names.filter_map(|name| Some((lower.find(&name.to_lowercase())?, name)));
        let goes = |at: usize| {
            let before = lower.get(..at).unwrap_or_default();
            self.toward.iter().any(|word| before.ends_with(word))
        };
        if let Some((_, name)) = found.min_by_key(|(at, _)| (!goes(*at), *at)) {
            return Some(name.clone());
        }
        let mut elsewhere = self.elsewhere.iter();
        let found = elsewhere.find_map(|pattern| pattern.first(text))?;
        Some(found.to_owned())
    }
}
