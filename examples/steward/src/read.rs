//! What the rules read in a request: kinds, days, amounts, cities, files, in Chinese and English.
mod clause;
mod day;
mod reason;

use regex::Regex;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::form::{
    CURRENCIES, FieldKind, Fields, Form, FormKind, Forms, amount_alone, amount_value,
};

pub use clause::{Clause, Goal};
pub(crate) use clause::{SURE, UNSURE};
pub use day::{Days, Toward};
pub use reason::Reasons;

/// Reads requests by rule.
#[derive(Debug)]
pub struct Reader {
    words: Words,
    days: Days,
    reasons: Reasons,
    files: Regex,
    documents: Regex,
    amounts: [Regex; 2],
    elsewhere: [Regex; 2],
}

/// The vocabulary of `words.toml`.
#[derive(Debug, Deserialize)]
pub(crate) struct Words {
    pub(crate) goals: Goals,
    pub(crate) kinds: Kinds,
    pub(crate) either: List,
    pub(crate) next: List,
    city: Vec<City>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Goals {
    pub(crate) draft: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Kinds {
    pub(crate) reimbursement: Vec<String>,
    pub(crate) application: Vec<String>,
    pub(crate) link: Vec<String>,
    pub(crate) attachment: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct List {
    words: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct City {
    zh: String,
    en: String,
}

/// The rules of this program are wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RulesError {
    /// The data cannot be read.
    #[error("the words or forms cannot be read")]
    Words(#[from] toml::de::Error),
    /// A pattern is none.
    #[error("a pattern of the rules is wrong")]
    Pattern(#[from] regex::Error),
}

const EXTENSIONS: &str = "pdf|jpe?g|png|ofd|heic|xml|xlsx|docx|zip";
/// What stands before the name of a file without a space, in Chinese.
const BEFORE_FILES: [&str; 10] = [
    "附件是",
    "附件为",
    "附件有",
    "附件",
    "附上",
    "上传了",
    "上传",
    "以及",
    "和",
    "把",
];

impl Reader {
    /// The rules, with the vocabulary of `words.toml` and of the forms.
    pub fn new(forms: &Forms) -> Result<Self, RulesError> {
        // Everything that is written together, be it one amount or not.
        let part = r"\d+(?:[.,]\d+)*(?:\s*[万千百k])?";
        let number = format!(r"({part}(?:(?:\s*(?:[-–—~～至到]|\bto\b)\s*)?{part})*)");
        Ok(Self {
            words: toml::from_str(include_str!("../words.toml"))?,
            days: Days::new()?,
            reasons: Reasons::new(forms)?,
            files: Regex::new(&format!(r"(?i)[\p{{L}}\p{{N}}_\-().]+\.(?:{EXTENSIONS})\b"))?,
            documents: Regex::new(r"\b([ARar])-(\d{1,9})\b")?,
            amounts: [
                Regex::new(&format!(
                    r"(?i)(?:[¥￥€$]|rmb|cny|eur)\s*{number}|{number}\s*(?:元|块|yuan|rmb|cny|eur|usd|dollar)"
                ))?,
                Regex::new(&format!(
                    r"(?i)(?:预算|金额|费用|预计|花了|大约|amount|budget|about|cost|costs|spent|paid|fare)[^\d，,。;；]{{0,8}}{number}"
                ))?,
            ],
            elsewhere: [
                Regex::new(
                    r"(?:去|到|赴|前往)(\p{Han}{2,4}?)(?:出差|开会|拜访|参加|见|做|的|，|,|。|$)",
                )?,
                Regex::new(r"\bto ([A-Z][a-z]+(?: [A-Z][a-z]+)?)")?,
            ],
        })
    }

    pub(crate) fn words(&self) -> &Words {
        &self.words
    }

    pub(crate) fn days(&self) -> &Days {
        &self.days
    }

    /// A reason without facts of other fields; none if nothing is left.
    pub fn cleaned(&self, reason: &str) -> Option<String> {
        self.reasons.cleaned(reason)
    }

    /// Everything that a text says about the fields of a form, in canonical form.
    pub fn facts(&self, form: &Form, text: &str, base: jiff::civil::Date) -> Fields {
        let unnamed = self.without_names(text);
        let (days, rest) = self.days.read(&unnamed, base, Toward::of(form.name));
        let mut fields = Fields::new();
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                fields.insert(name.to_owned(), value);
            }
        };
        for field in &form.fields {
            let value = match (field.kind, field.name.as_str()) {
                (FieldKind::Day, "end_date") => days.get(1).map(|day| json!(day.to_string())),
                (FieldKind::Day, _) => days.first().map(|day| json!(day.to_string())),
                (FieldKind::Amount, _) => self.amount(&rest),
                (FieldKind::Choice, _) => field.chosen(&unnamed).map(|means| json!(means)),
                (FieldKind::Files, _) => Some(self.files(text))
                    .filter(|it| !it.is_empty())
                    .map(|it| json!(it)),
                (FieldKind::Document, name) => self.document(text, name),
                (FieldKind::Text, "destination") => self.city(&unnamed).map(|city| json!(city)),
                (FieldKind::Text, _) => self.reasons.read(form.name, &rest).map(|it| json!(it)),
            };
            put(&field.name, value);
        }
        fields
    }

    /// The names of files in a text.
    pub fn files(&self, text: &str) -> Vec<String> {
        let found = self.files.find_iter(text);
        let mut names: Vec<String> = found
            .map(|found| bare_name(found.as_str()).to_owned())
            .collect();
        names.dedup();
        names
    }

    fn document(&self, text: &str, field: &str) -> Option<Value> {
        let letter = if field == "application" { "A" } else { "R" };
        let mut found = self
            .documents
            .captures_iter(text)
            .map(|found| found.extract().1);
        found.find_map(|[kind, number]| {
            kind.eq_ignore_ascii_case(letter)
                .then(|| json!(format!("{letter}-{number}")))
        })
    }

    fn without_names(&self, text: &str) -> String {
        let text = self.files.replace_all(text, " ");
        self.documents.replace_all(&text, " ").into_owned()
    }

    /// The amount of a text, if it can be meant in one way only.
    fn amount(&self, text: &str) -> Option<Value> {
        let found = self
            .amounts
            .iter()
            .find_map(|pattern| pattern.captures(text))?;
        let number = found.iter().skip(1).flatten().next()?;
        let before = text.get(..number.start())?;
        let after = text.get(number.end()..)?.to_lowercase();
        if goes_on_before(before) || goes_on_after(&after) {
            return None;
        }
        let cents = amount_alone(number.as_str()).filter(|cents| *cents > 0)?;
        Some(amount_value(cents))
    }

    /// Where a trip goes: the city after a word such as `to`, or else the first one.
    fn city(&self, text: &str) -> Option<String> {
        let lower = text.to_lowercase();
        let toward = ["到", "去", "赴", "往", "飞", "to ", "in ", "visit "];
        let found = self.words.city.iter().flat_map(|city| {
            let (lower, zh, en) = (&lower, city.zh.to_lowercase(), city.en.to_lowercase());
            let zh = lower.find(&zh).map(|at| (at, city.zh.as_str()));
            let en = lower.find(&en).map(|at| (at, city.en.as_str()));
            zh.into_iter().chain(en)
        });
        let goes = |at: usize| {
            lower
                .get(..at)
                .is_some_and(|before| toward.iter().any(|word| before.ends_with(word)))
        };
        let nearest = found.min_by_key(|(at, _)| (!goes(*at), *at));
        let known = nearest.map(|(_, name)| name.to_owned());
        known.or_else(|| {
            let named = self
                .elsewhere
                .iter()
                .find_map(|pattern| pattern.captures(text));
            Some(named?.get(1)?.as_str().to_owned())
        })
    }
}

/// Whether what stands before a number belongs to it.
fn goes_on_before(before: &str) -> bool {
    before.ends_with(['-', '−', '十', '百', '千', '万', '亿', '.', ','])
}

/// Whether what stands after a number makes another one of it, or counts something else.
fn goes_on_after(after: &str) -> bool {
    const MORE: &str = "一二三四五六七八九十百千万亿两零半";
    const COUNTED: &str = "人天次张个位份晚间件小分月日号年点%％";
    const WORDS: [&str; 6] = ["thousand", "million", "hundred", "grand", "people", "hours"];
    let rest = after.trim_start();
    if CURRENCIES.iter().any(|word| rest.starts_with(word)) {
        return false;
    }
    let is_more =
        |next: char| next.is_ascii_alphabetic() || MORE.contains(next) || COUNTED.contains(next);
    after.chars().next().is_some_and(is_more) || WORDS.iter().any(|word| rest.starts_with(word))
}

fn bare_name(name: &str) -> &str {
    let stripped = BEFORE_FILES
        .iter()
        .find_map(|before| name.strip_prefix(before));
    match stripped {
        Some(rest) if !rest.starts_with('.') => bare_name(rest),
        _ => name,
    }
}

impl List {
    pub(crate) fn is_in(&self, text: &str) -> bool {
        any_in(&self.words, text)
    }

    /// Whether the text is one of the words and nothing else.
    pub(crate) fn is(&self, text: &str) -> bool {
        let said = text
            .trim()
            .trim_end_matches(['。', '.', '!', '！'])
            .to_lowercase();
        self.words.iter().any(|word| word.to_lowercase() == said)
    }
}

pub(crate) fn any_in(words: &[String], text: &str) -> bool {
    let text = text.to_lowercase();
    words
        .iter()
        .any(|word| contains_word(&text, &word.to_lowercase()))
}

/// Whether a text has a word: where the word is of Latin letters, not within another. An ending
/// such as a plural is no other word.
pub(crate) fn contains_word(text: &str, word: &str) -> bool {
    let latin = |c: char| c.is_ascii_alphanumeric();
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + word.len()..).unwrap_or_default();
        let ending: String = after.chars().take_while(|c| latin(*c)).collect();
        !word.chars().next().is_some_and(latin)
            || !before.is_some_and(latin)
                && matches!(ending.as_str(), "" | "s" | "d" | "ed" | "ment" | "ing")
    })
}

/// Whether a text is Chinese.
pub fn is_chinese(text: &str) -> bool {
    text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c))
}

/// The form whose name a short text is.
pub(crate) fn named_kind(forms: &Forms, words: &Words, text: &str) -> Option<FormKind> {
    let short = text.trim().chars().count() <= 12;
    let kind = clause::kind(words, text, false).map(|(kind, _)| kind);
    kind.filter(|kind| short && forms.get(*kind).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_that_can_be_meant_in_two_ways_is_not_read() {
        let forms = Forms::load().expect("the forms are data of this crate");
        let reader = Reader::new(&forms).expect("the patterns are right");
        let cases = [
            ("预算1200元", Some(json!(1200))),
            ("打车费86.5元", Some(json!(86.5))),
            ("预算3千元", Some(json!(3000))),
            ("预算5百元", Some(json!(500))),
            ("预算1.2万", Some(json!(12_000))),
            ("1.234万元", Some(json!(12_340))),
            ("budget 3k", Some(json!(3000))),
            ("budget 3k EUR", Some(json!(3000))),
            ("€1,200.50 by train", Some(json!(1200.5))),
            ("budget 1200, by train", Some(json!(1200))),
            ("预算1200 天津", Some(json!(1200))),
            ("86,50 EUR", None),
            ("€1.200,50", None),
            ("预算300-500", None),
            ("300到500元", None),
            ("-300元", None),
            ("1万2千元", None),
            ("三千5百元", None),
            ("预算3千五百元", None),
            ("budget 3m", None),
            ("budget 2 million", None),
            ("费用报销3张发票", None),
        ];
        for (text, expected) in cases {
            assert_eq!(reader.amount(text), expected, "{text}");
        }
    }
}
