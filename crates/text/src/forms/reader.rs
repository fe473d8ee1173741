//! Reading the fields of a form from a text.
use jiff::civil::Date;
use serde_json::{Value, json};

use super::{Field, FieldKind, Fields, Form, Forms, Pattern, TextRules, value::amount_value};
use crate::{DatedText, dates, money_in, priced_in};

/// A reader of a form's fields from a text, by rule. Its values are in canonical form; ambiguous
/// ones are left out.
#[derive(Debug, Clone)]
pub struct FormReader {
    rules: TextRules,
    /// Matches the numbers of all documents of the forms.
    documents: Option<Pattern>,
    /// Matches facts that belong to other fields than texts.
    facts: Vec<Pattern>,
}

impl FormReader {
    /// Creates a reader from rules, with the vocabulary of the forms.
    ///
    /// # Errors
    /// Fails if a pattern of [`TextRules::facts`] is invalid.
    pub fn new<N>(rules: TextRules, forms: &Forms<N>) -> Result<Self, regex::Error> {
        let fields = || forms.iter().flat_map(|form| &form.fields);
        let prefixes = fields().filter_map(|field| field.prefix.as_deref());
        let prefixes: Vec<_> = prefixes.map(regex::escape).collect();
        let documents = format!(
            r"(?i)(?-u:\b)((?:{})-\d{{1,9}})(?-u:\b)",
            prefixes.join("|")
        );
        let documents = (!prefixes.is_empty()).then(|| documents.try_into());
        let facts = rules.facts.iter().map(|pattern| {
            let named = fields().fold(pattern.clone(), |pattern, field| {
                let words = field.words.iter().flat_map(|choice| &choice.words);
                let words: Vec<_> = words.map(|word| regex::escape(word)).collect();
                match words.as_slice() {
                    [] => pattern,
                    words => pattern.replace(&format!("{{{}}}", field.name), &words.join("|")),
                }
            });
            Pattern::try_from(named)
        });
        Ok(Self {
            documents: documents.transpose()?,
            facts: facts.collect::<Result<_, _>>()?,
            rules,
        })
    }

    /// Reads the fields of a form from a text. The first day goes to the first field of days, and
    /// so on; `base` is the day from which "tomorrow" is counted. Of a text that excludes one of its
    /// own days none is read.
    pub fn read<N>(&self, form: &Form<N>, text: &str, base: Date) -> Fields {
        let unnamed = self.unnamed(text);
        let mut dated = dates(&unnamed, base, form.toward);
        // Which of them is meant is asked.
        if dated.contradicts_itself() {
            dated.dates.clear();
        }
        let said = ReducedText {
            text,
            unnamed: &unnamed,
            dated: &dated,
        };
        let (mut read, mut nth) = (Fields::new(), 0);
        for field in &form.fields {
            let value = match field.kind {
                FieldKind::Day => {
                    nth += 1;
                    let day = dated.dates.get(nth - 1);
                    day.map(|day| json!(day.to_string()))
                }
                _ => self.value(field, &said),
            };
            read.extend(value.map(|value| (field.name.clone(), value)));
        }
        read
    }

    /// Returns a text without facts of other fields; `None` if nothing is left.
    pub fn cleaned(&self, text: &str) -> Option<String> {
        let text = self
            .facts
            .iter()
            .fold(text.to_owned(), |text, fact| fact.replace(&text, " "));
        let words: Vec<&str> = text.split_whitespace().collect();
        let text = words.join(" ");
        let text = text.trim_matches(|c: char| c.is_whitespace() || ",，.。;；:：、-".contains(c));
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// Returns a text without the names of files and documents, whose digits are no days or
    /// amounts.
    fn unnamed(&self, text: &str) -> String {
        let names = [&self.rules.files, &self.documents];
        let names = names.into_iter().flatten();
        names.fold(text.to_owned(), |text, name| name.replace(&text, " "))
    }

    fn value(&self, field: &Field, said: &ReducedText<'_>) -> Option<Value> {
        let rest = &said.dated.rest;
        match field.kind {
            FieldKind::Amount => {
                let labels: Vec<&str> = self.rules.amount.iter().map(String::as_str).collect();
                money_in(rest, &labels).map(amount_value)
            }
            FieldKind::Currency => {
                let labels: Vec<&str> = self.rules.amount.iter().map(String::as_str).collect();
                let (_, currency) = priced_in(rest, &labels)?;
                currency.map(|code| json!(code))
            }
            FieldKind::Choice => field.chosen(said.unnamed).map(|means| json!(means)),
            FieldKind::Files => self.files(said.text),
            FieldKind::Document => self.document(said.text, field.prefix.as_deref()?),
            FieldKind::Place => self.rules.places.read(rest).map(|it| json!(it)),
            FieldKind::Text => self.text(field, rest).map(|it| json!(it)),
            FieldKind::Day => None,
        }
    }

    fn files(&self, text: &str) -> Option<Value> {
        let found = self.rules.files.as_ref()?.all(text);
        let mut names: Vec<&str> = found.map(|name| self.bare_name(name)).collect();
        names.dedup();
        (!names.is_empty()).then(|| json!(names))
    }

    /// Returns a file name without a word that precedes it without a space, in Chinese.
    fn bare_name<'a>(&self, name: &'a str) -> &'a str {
        let mut before = self.rules.before_files.iter();
        match before.find_map(|before| name.strip_prefix(before)) {
            Some(rest) if !rest.starts_with('.') => self.bare_name(rest),
            _ => name,
        }
    }

    fn document(&self, text: &str, prefix: &str) -> Option<Value> {
        let mut found = self.documents.as_ref()?.all(text);
        found.find_map(|found| {
            let (letters, number) = found.rsplit_once('-')?;
            let is_it = letters.eq_ignore_ascii_case(prefix);
            is_it.then(|| json!(format!("{prefix}-{number}")))
        })
    }

    fn text(&self, field: &Field, text: &str) -> Option<String> {
        let label = self.rules.labels.get(&field.name);
        if let Some(labelled) = label.and_then(|label| label.first(text)) {
            return self.cleaned(labelled);
        }
        let found = field.patterns.iter().find_map(|it| it.first(text))?;
        match &self.rules.cut {
            Some(cut) => self.cleaned(&cut.replace(found, "")),
            None => self.cleaned(found),
        }
    }
}

/// A text, in versions with more and more left out.
struct ReducedText<'a> {
    text: &'a str,
    /// The text without the names of files and documents.
    unnamed: &'a str,
    /// The same without the days.
    dated: &'a DatedText,
}
