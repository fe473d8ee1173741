//! What the rules read in a request: kinds, days, amounts, cities, files, in Chinese and English.
//! The words and patterns are in `words.toml`.
mod clause;
mod reason;

use fugato::words::{Toward, days, has_word, money_in};
use jiff::civil::Date;
use regex::Regex;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::form::{FieldKind, Fields, Form, FormKind, Forms, amount_value};

pub(crate) use clause::UNSURE;
pub use clause::{Clause, Goal};

/// Reads requests by rule.
#[derive(Debug, Deserialize)]
pub struct Reader {
    draft: Words,
    next: Words,
    either: Words,
    estimate: Words,
    amount: Vec<String>,
    breaks: Vec<String>,
    toward: Vec<String>,
    before_files: Vec<String>,
    files: Pattern,
    documents: Pattern,
    elsewhere: Vec<Pattern>,
    kinds: clause::Kinds,
    reason: reason::Reasons,
    city: Vec<City>,
}

#[derive(Debug, Deserialize)]
struct City {
    zh: String,
    en: String,
}

/// The rules of this program are wrong.
pub type RulesError = toml::de::Error;

impl Reader {
    /// The rules of `words.toml`, with the vocabulary of the forms.
    pub fn new(forms: &Forms) -> Result<Self, RulesError> {
        let transport = forms.get(FormKind::Application);
        let transport = transport.and_then(|form| form.field("transport"));
        let choices = transport.iter().flat_map(|field| &field.words);
        let words = choices.flat_map(|choice| &choice.words);
        let words: Vec<_> = words.map(|word| regex::escape(word)).collect();
        let rules = include_str!("../words.toml");
        toml::from_str(&rules.replace("{transport}", &words.join("|")))
    }

    /// A reason without facts of other fields; none if nothing is left.
    pub fn cleaned(&self, reason: &str) -> Option<String> {
        self.reason.cleaned(reason)
    }

    /// Whether the words ask for the next task, and say nothing else.
    pub fn means_next(&self, text: &str) -> bool {
        let said = text.trim().trim_end_matches(['。', '.', '!', '！']);
        let said = said.to_lowercase();
        self.next.0.contains(&said)
    }

    /// Everything that a text says about the fields of a form, in canonical form.
    pub fn facts(&self, form: &Form, text: &str, base: Date) -> Fields {
        let unnamed = self.files.0.replace_all(text, " ");
        let unnamed = self.documents.0.replace_all(&unnamed, " ");
        let dated = days(&unnamed, base, toward(form.name));
        let day = |nth: usize| dated.days.get(nth).map(|day| json!(day.to_string()));
        let labels: Vec<&str> = self.amount.iter().map(String::as_str).collect();
        let read = form.fields.iter().filter_map(|field| {
            let value = match (field.kind, field.name.as_str()) {
                (FieldKind::Day, "end_date") => day(1),
                (FieldKind::Day, _) => day(0),
                (FieldKind::Amount, _) => money_in(&dated.rest, &labels).map(amount_value),
                (FieldKind::Choice, _) => field.chosen(&unnamed).map(|means| json!(means)),
                (FieldKind::Files, _) => self.files(text),
                (FieldKind::Document, name) => self.document(text, name),
                (FieldKind::Text, "destination") => self.city(&unnamed).map(|city| json!(city)),
                (FieldKind::Text, _) => {
                    let reason = self.reason.read(form.name, &dated.rest);
                    reason.map(|reason| json!(reason))
                }
            };
            Some((field.name.clone(), value?))
        });
        read.collect()
    }

    /// The names of files in a text.
    fn files(&self, text: &str) -> Option<Value> {
        let found = self.files.0.find_iter(text);
        let mut names: Vec<&str> = found.map(|found| self.bare_name(found.as_str())).collect();
        names.dedup();
        (!names.is_empty()).then(|| json!(names))
    }

    /// A name without what stands before it without a space, in Chinese.
    fn bare_name<'a>(&self, name: &'a str) -> &'a str {
        let mut before = self.before_files.iter();
        match before.find_map(|before| name.strip_prefix(before)) {
            Some(rest) if !rest.starts_with('.') => self.bare_name(rest),
            _ => name,
        }
    }

    fn document(&self, text: &str, field: &str) -> Option<Value> {
        let letter = if field == "application" { "A" } else { "R" };
        let found = self.documents.0.captures_iter(text);
        let mut found = found.map(|found| found.extract().1);
        let of_it = |[kind, _]: &[&str; 2]| kind.eq_ignore_ascii_case(letter);
        let [_, number] = found.find(of_it)?;
        Some(json!(format!("{letter}-{number}")))
    }

    /// Where a trip goes: the city after a word such as `to`, or else the first one.
    fn city(&self, text: &str) -> Option<String> {
        let lower = text.to_lowercase();
        let cities = self.city.iter().flat_map(|city| [&city.zh, &city.en]);
        let found = cities.filter_map(|name| Some((lower.find(&name.to_lowercase())?, name)));
        let goes = |at: usize| {
            let before = lower.get(..at).unwrap_or_default();
            self.toward.iter().any(|word| before.ends_with(word))
        };
        if let Some((_, name)) = found.min_by_key(|(at, _)| (!goes(*at), *at)) {
            return Some(name.clone());
        }
        let mut patterns = self.elsewhere.iter();
        let named = patterns.find_map(|pattern| pattern.0.captures(text))?;
        Some(named.get(1)?.as_str().to_owned())
    }
}

/// Nobody applies for what was, or claims what will be.
fn toward(form: FormKind) -> Toward {
    match form {
        FormKind::Application => Toward::Ahead,
        _ => Toward::Back,
    }
}

/// Words that are looked for, in lower case.
#[derive(Debug, Deserialize)]
struct Words(Vec<String>);

impl Words {
    /// Whether one of them is in the text.
    fn are_in(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.0.iter().any(|word| has_word(&text, word))
    }
}

/// A regular expression that is data.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
struct Pattern(Regex);

impl TryFrom<String> for Pattern {
    type Error = regex::Error;

    fn try_from(pattern: String) -> Result<Self, regex::Error> {
        Regex::new(&pattern).map(Self)
    }
}
