//! Regular expressions as data.
use regex::Regex;
use serde::Deserialize;

/// A regular expression from data, in the syntax of the crate `regex`. Two are equal if their texts
/// are.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub struct Pattern(Regex);

impl Pattern {
    /// Returns the first group of the first match in a text.
    pub fn first<'t>(&self, text: &'t str) -> Option<&'t str> {
        Some(self.0.captures(text)?.get(1)?.as_str())
    }

    /// Returns the first group of every match in a text, with its position.
    pub(crate) fn firsts<'t>(&self, text: &'t str) -> impl Iterator<Item = (usize, &'t str)> {
        let found = self.0.captures_iter(text).filter_map(|found| found.get(1));
        found.map(|group| (group.start(), group.as_str()))
    }

    /// Returns the first group of every match in a text, also of one within the group of another.
    pub(crate) fn overlapping<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let mut from = Some(0);
        std::iter::from_fn(move || {
            let group = self.0.captures_at(text, from?)?.get(1)?;
            let first = group.as_str().chars().next();
            from = first.map(|first| group.start() + first.len_utf8());
            Some(group.as_str())
        })
    }

    /// Returns the first group of every match in a text, and all of a match without one.
    pub(crate) fn marked<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let found = self.0.captures_iter(text);
        found.filter_map(|found| Some(found.get(1).or(found.get(0))?.as_str()))
    }

    /// Returns the matches in a text.
    pub(crate) fn all<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        self.0.find_iter(text).map(|found| found.as_str())
    }

    /// Replaces every match in a text.
    pub(crate) fn replace(&self, text: &str, with: &str) -> String {
        let with = regex::NoExpand(with);
        self.0.replace_all(text, with).into_owned()
    }
}

impl TryFrom<String> for Pattern {
    type Error = regex::Error;

    fn try_from(pattern: String) -> Result<Self, regex::Error> {
        Regex::new(&pattern).map(Self)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Eq for Pattern {}
