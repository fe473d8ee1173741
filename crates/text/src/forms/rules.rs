//! Rules that find the facts of a form in a text, as data.
use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::Pattern;
use crate::{
    calendar::month,
    day_mentions,
    intent::ends_in_denial,
    word::{after_word, before_word, tail},
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
    /// Matches what no field of a form takes, wherever it stands, such as who comes along; of a pattern
    /// with a group the first one does. A place or a day is none, and what is within one is no text.
    pub asides: Vec<Pattern>,
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
    /// Returns the place that is meant: the one after such a word, or else the first one. Where a text
    /// goes to several places none is meant.
    pub(crate) fn read(&self, text: &str) -> Option<String> {
        let goals = self.goals(text);
        match goals.as_slice() {
            [] => self.named(text),
            [goal] => Some(goal.clone()),
            _ => None,
        }
    }

    /// Returns the place that a text names without going there: the first one.
    pub(super) fn named(&self, text: &str) -> Option<String> {
        let lower = text.to_ascii_lowercase();
        let first = self.known_in(&lower).into_iter().min_by_key(|(at, _)| *at);
        first.map(|(_, name)| name.to_owned())
    }

    /// Returns the places to which a text goes, each once. The way back is none.
    pub(crate) fn goals(&self, text: &str) -> Vec<String> {
        const BACK: [&str; 6] = ["back", "return", "returning", "home", "回", "返"];
        const GOING: [&str; 10] = [
            "then", "and", "go", "going", "fly", "flying", "travel", "on", "trip", "flight",
        ];
        // Lower case by ASCII keeps the byte positions.
        let lower = text.to_ascii_lowercase();
        let is_back = |at: usize| {
            let before = tail(lower.get(..at).unwrap_or_default()).trim_end();
            let before = before_word(before, &["to", "in", "到", "去"]).unwrap_or(before);
            before_word(before.trim_end(), &BACK).is_some()
        };
        let goes = |at: usize| {
            let before = lower.get(..at).unwrap_or_default();
            self.toward.iter().any(|word| before.ends_with(word))
        };
        let known = self.known_in(&lower).into_iter();
        let known = known.filter(|(at, _)| goes(*at) && !is_back(*at));
        let mut found: Vec<_> = known.collect();
        // Beside a city who is talked to is no place.
        let is_alone = found.is_empty();
        let is_goal = |at: usize, name: &str| {
            let before = lower.get(..at).unwrap_or_default();
            let lead = tail(before).trim_end();
            let lead = before_word(lead, &["to"]).map_or(lead, str::trim_end);
            // 到周五 and "to Friday" are days, also where it is open which.
            let is_day = names_day(name);
            let travels = is_alone || !name.is_ascii() || before_word(lead, &GOING).is_some();
            !is_day && travels && !is_denied(before) && !is_back(at)
        };
        for (at, name) in self.elsewhere.iter().flat_map(|it| it.firsts(text)) {
            let end = at + name.len();
            let is_known = found
                .iter()
                .any(|(from, known)| *from < end && at < from + known.len());
            if !is_known && is_goal(at, name) {
                found.push((at, name));
            }
        }
        self.join(text, &lower, &mut found);
        found.sort_unstable();
        let mut seen = BTreeSet::new();
        found.retain(|(_, name)| seen.insert(*name));
        found.into_iter().map(|(_, name)| name.to_owned()).collect()
    }

    /// Adds the places that are joined to one of those that a text goes to: "to Vienna and Salzburg",
    /// 去上海或者杭州. A customer who is joined to a city is no place.
    fn join<'t>(&'t self, text: &'t str, lower: &str, found: &mut Vec<(usize, &'t str)>) {
        const JOINS: [&str; 13] = [
            "and to", "or to", "and", "or", "&", "和", "与", "及", "、", "或者", "还是", "或",
            "以及",
        ];
        let known = self.known_in(lower);
        let mut next: Vec<usize> = found.iter().map(|(at, name)| at + name.len()).collect();
        while let Some(end) = next.pop() {
            let Some(behind) = lower.get(end..).map(str::trim_start) else {
                continue;
            };
            let Some(place) = after_word(behind, &JOINS).map(str::trim_start) else {
                continue;
            };
            let at = lower.len() - place.len();
            let is_city = |(from, _): &&(usize, &str)| *from == at;
            let named = known.iter().find(is_city).map(|(_, name)| *name);
            let named = named.or_else(|| capitalised(text.get(at..)?));
            if let Some(name) = named.filter(|_| found.iter().all(|(from, _)| *from != at)) {
                found.push((at, name));
                next.push(at + name.len());
            }
        }
    }

    /// Returns the known places in a text in lower case that nothing denies, with their positions.
    fn known_in<'t>(&'t self, lower: &str) -> Vec<(usize, &'t str)> {
        let names = self.known.iter().flat_map(|place| [&place.zh, &place.en]);
        let found = names.flat_map(|name| {
            let word = name.to_lowercase();
            let end = word.len();
            let places: Vec<_> = lower.match_indices(&word).map(|(at, _)| at).collect();
            let is_ascii = word.is_ascii();
            let whole = move |at: &usize| {
                let before = lower.get(..*at).unwrap_or_default();
                let after = lower.get(*at + end..).unwrap_or_default();
                let letter = |c: char| c.is_ascii_alphabetic();
                !is_ascii || !before.ends_with(letter) && !after.starts_with(letter)
            };
            let places = places.into_iter().filter(whole);
            places.map(move |at| (at, name.as_str()))
        });
        let is_meant = |at: usize| !is_denied(lower.get(..at).unwrap_or_default());
        found.filter(|(at, _)| is_meant(*at)).collect()
    }
}

/// Returns the word that a text begins with, if it is a name in Latin letters that only a comma, an end
/// or a further fact follows: "Salzburg, by train", but not "Anna visits us".
fn capitalised(text: &str) -> Option<&str> {
    const FACTS: [&str; 8] = ["from", "on", "by", "for", "in", "until", "and", "or"];
    let end = text
        .find(|c: char| !c.is_alphabetic())
        .unwrap_or(text.len());
    let (name, behind) = text.split_at(end);
    let is_name = name.len() > 1 && name.is_ascii() && name.starts_with(char::is_uppercase);
    let behind = behind.trim_start();
    let ends = !behind.starts_with(char::is_alphanumeric) || after_word(behind, &FACTS).is_some();
    (is_name && ends && !names_day(name)).then_some(name)
}

/// Returns true if a name is that of a day, or of a month: "to Nov 26" goes nowhere.
pub(super) fn names_day(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let is_month = month(&lower).is_some_and(|(_, rest)| rest.trim().is_empty());
    is_month || !day_mentions(&lower).is_empty()
}

/// Returns true if the words right before a place, or a word of a choice, say that it is not meant:
/// "not to Paris", 不坐飞机.
pub(super) fn is_denied(before: &str) -> bool {
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
    let before = tail(before).trim_end();
    let linked = before_word(before, &LINKS).map_or(before, str::trim_end);
    ends_in_denial(linked) || ends_in_denial(before)
}
