//! What the rules read in a request: kinds, days, amounts, cities, files, in Chinese and English.
mod clause;
mod reason;

use fugato::words::{Toward, days, has_word, money_in};
use regex::Regex;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::form::{FieldKind, Fields, Form, FormKind, Forms, amount_value};

pub use clause::{Clause, Goal};
pub(crate) use clause::{SURE, UNSURE};
pub use reason::Reasons;

/// Reads requests by rule.
#[derive(Debug)]
pub struct Reader {
    words: Words,
    reasons: Reasons,
    files: Regex,
    documents: Regex,
    elsewhere: [Regex; 2],
}

/// The vocabulary of `words.toml`.
#[derive(Debug, Deserialize)]
pub(crate) struct Words {
    pub(crate) goals: Goals,
    pub(crate) kinds: Kinds,
    pub(crate) either: List,
    pub(crate) next: List,
    amount: List,
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
        Ok(Self {
            words: toml::from_str(include_str!("../words.toml"))?,
            reasons: Reasons::new(forms)?,
            files: Regex::new(&format!(r"(?i)[\p{{L}}\p{{N}}_\-().]+\.(?:{EXTENSIONS})\b"))?,
            documents: Regex::new(r"\b([ARar])-(\d{1,9})\b")?,
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

    /// A reason without facts of other fields; none if nothing is left.
    pub fn cleaned(&self, reason: &str) -> Option<String> {
        self.reasons.cleaned(reason)
    }

    /// Everything that a text says about the fields of a form, in canonical form.
    pub fn facts(&self, form: &Form, text: &str, base: jiff::civil::Date) -> Fields {
        let unnamed = self.without_names(text);
        let dated = days(&unnamed, base, toward(form.name));
        let (days, rest) = (dated.days, dated.rest);
        let labels: Vec<&str> = self.words.amount.words.iter().map(String::as_str).collect();
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
                (FieldKind::Amount, _) => money_in(&rest, &labels).map(amount_value),
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

/// Nobody applies for what was, or claims what will be.
fn toward(form: FormKind) -> Toward {
    match form {
        FormKind::Application => Toward::Ahead,
        _ => Toward::Back,
    }
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
        .any(|word| has_word(&text, &word.to_lowercase()))
}

/// The form whose name a short text is.
pub(crate) fn named_kind(forms: &Forms, words: &Words, text: &str) -> Option<FormKind> {
    let short = text.trim().chars().count() <= 12;
    let kind = clause::kind(words, text, false).map(|(kind, _)| kind);
    kind.filter(|kind| short && forms.get(*kind).is_some())
}
