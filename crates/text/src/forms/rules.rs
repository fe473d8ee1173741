//! Rules that find the facts of a form in a text, as data.
use std::collections::BTreeMap;

use serde::Deserialize;

use super::Pattern;
use crate::{
    day_mentions,
    word::{before_word, tail},
};

/// The rules that find the facts of forms in a text. Each may be left out, and then finds nothing.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct TextRules {
    /// The labels before an amount without a currency, in lower case.
    pub amount: Vec<String>,
    /// Matches the names of files.
    pub files: Option<Pattern>,
    /// The words that may precede a file name without a space; the longer ones first.
    pub before_files: Vec<String>,
    /// The patterns of labelled texts by field; their first group is the value. The value is taken
    /// as a whole, while what a field's own [patterns](super::Field::patterns) find is cut.
    pub labels: BTreeMap<String, Pattern>,
    /// Removes the end of a text that is not labelled.
    pub cut: Option<Pattern>,
    /// Patterns of facts that belong to other fields, and are left out of texts. In them `{field}`
    /// is any word of the choice of that name.
    pub facts: Vec<String>,
    /// The rules for places.
    pub places: Places,
}

/// The names of places, and the rules that choose one.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Places {
    /// The known places.
    pub known: Vec<PlaceName>,
    /// The words right before the place that is meant, if there are several; in lower case.
    pub toward: Vec<String>,
    /// The patterns of unknown places; their first group is the name.
    pub elsewhere: Vec<Pattern>,
}

/// The name of a place in both languages.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlaceName {
    /// The name in Chinese.
    pub zh: String,
    /// The name in English.
    pub en: String,
}

impl Places {
    /// Returns the place that is meant: the one after such a word, or else the first one.
    pub(crate) fn read(&self, text: &str) -> Option<String> {
        let lower = text.to_lowercase();
        let names = self.known.iter().flat_map(|place| [&place.zh, &place.en]);
        let found = names.flat_map(|name| {
            let word = name.to_lowercase();
            let places: Vec<_> = lower.match_indices(&word).map(|(at, _)| at).collect();
            let end = word.len();
            let whole = |at: &usize| {
                let before = lower.get(..*at).unwrap_or_default();
                let after = lower.get(*at + end..).unwrap_or_default();
                let letter = |c: char| c.is_ascii_alphabetic();
                !word.is_ascii() || !before.ends_with(letter) && !after.starts_with(letter)
            };
            let places: Vec<_> = places.into_iter().filter(whole).collect();
            places.into_iter().map(move |at| (at, name))
        });
        let found = found.filter(|(at, _)| !is_denied(lower.get(..*at).unwrap_or_default()));
        let goes = |at: usize| {
            let before = lower.get(..at).unwrap_or_default();
            self.toward.iter().any(|word| before.ends_with(word))
        };
        if let Some((_, name)) = found.min_by_key(|(at, _)| (!goes(*at), *at)) {
            return Some(name.clone());
        }
        let mut elsewhere = self.elsewhere.iter();
        let found = elsewhere.find_map(|pattern| pattern.first(text))?;
        // 到周五 and "to Friday" are days, also where it is open which.
        let is_day = !day_mentions(&found.to_lowercase()).is_empty();
        (!is_day).then(|| found.to_owned())
    }
}

/// Returns true if the words right before a place, or a word of a choice, say that it is not meant:
/// "not to Paris", 不坐飞机.
pub(super) fn is_denied(before: &str) -> bool {
    const NOT: [&str; 18] = [
        "not",
        "never",
        "no",
        "no longer",
        "don't",
        "dont",
        "won't",
        "can't",
        "without",
        "instead of",
        "rather than",
        "不",
        "不要",
        "不想",
        "不是",
        "不再",
        "别",
        "没",
    ];
    const LINKS: [&str; 26] = [
        "to",
        "in",
        "going to",
        "go to",
        "by",
        "by the",
        "take",
        "take a",
        "take the",
        "taking",
        "want to take",
        "want a",
        "a",
        "an",
        "the",
        "use",
        "using",
        "want to fly to",
        "去",
        "到",
        "坐",
        "乘",
        "乘坐",
        "搭",
        "开",
        "是去",
    ];
    /// These end in a word that denies, and deny nothing.
    const OTHER: [&str; 6] = ["分别", "特别", "级别", "类别", "要不", "差不"];
    let before = tail(before).trim_end();
    let linked = before_word(before, &LINKS).map_or(before, str::trim_end);
    let denies =
        |before: &str| before_word(before, &NOT).is_some() && before_word(before, &OTHER).is_none();
    denies(linked) || denies(before)
}
