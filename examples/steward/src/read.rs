//! What a request asks for, as rules read it: its clauses, each with a form and a goal. The words
//! are in `words.toml`.
use fugato::{
    form::Fields,
    words::{days, has_word},
};
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::{form::FormKind, service::Desk};

/// Reads requests by rule.
#[derive(Debug, Deserialize)]
pub struct Reader {
    draft: Words,
    next: Words,
    either: Words,
    estimate: Words,
    breaks: Vec<String>,
    kind: Vec<Kind>,
}

/// What a form is called in requests.
#[derive(Debug, Deserialize)]
struct Kind {
    form: FormKind,
    words: Words,
}

/// One thing that is asked for, as a rule or a model has understood it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Clause {
    /// The form it belongs to.
    pub form: FormKind,
    /// How far it shall go.
    #[serde(default)]
    pub goal: Goal,
    /// What it says about the form.
    #[serde(default)]
    pub fields: Fields,
    /// How sure it is that it is this form, from 0 to 1.
    #[serde(default = "sure")]
    pub confidence: f64,
}

/// How far something shall go.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Goal {
    /// Handed in. A claim is never handed in here: it is kept as a draft.
    #[default]
    Submit,
    /// Kept as a draft.
    Draft,
}

/// Somebody who reads it is sure.
const SURE: f64 = 0.9;
/// It might as well be something else.
pub(crate) const UNSURE: f64 = 0.4;
/// Longer words are more than the name of a form.
const SHORT: usize = 12;

fn sure() -> f64 {
    SURE
}

impl Reader {
    /// What a request asks for; nothing if it is about something else.
    pub fn clauses(&self, desk: &Desk, text: &str, base: Date) -> Vec<Clause> {
        let mut parts: Vec<(FormKind, f64, String)> = vec![];
        let mut before = String::new();
        let has_day = |kind: FormKind, part: &str| {
            let form = desk.forms.get(&kind);
            form.is_some_and(|form| !days(part, base, form.toward).days.is_empty())
        };
        for part in self.split(text) {
            let kind = self.kind(part, true);
            match (kind, parts.last_mut()) {
                // The same kind again goes on about it, unless it names a day of its own.
                (Some((kind, _)), Some((last, _, said)))
                    if kind == *last && !has_day(kind, part) =>
                {
                    *said = format!("{said}，{part}");
                }
                (Some((kind, confidence)), _) => {
                    parts.push((kind, confidence, std::mem::take(&mut before) + part));
                }
                (None, Some((.., said))) => *said = format!("{said}，{part}"),
                (None, None) => before = format!("{before}{part}，"),
            }
        }
        let read = |(kind, confidence, said): (FormKind, f64, String)| {
            let is_draft = kind != FormKind::Application || self.draft.are_in(&said);
            Some(Clause {
                form: kind,
                goal: if is_draft { Goal::Draft } else { Goal::Submit },
                fields: desk.facts.read(desk.forms.get(&kind)?, &said, base),
                confidence,
            })
        };
        parts.into_iter().filter_map(read).collect()
    }

    /// The form whose name a short text is.
    pub fn named_kind(&self, text: &str) -> Option<FormKind> {
        let short = text.trim().chars().count() <= SHORT;
        let kind = self.kind(text, false).filter(|_| short);
        kind.map(|(kind, _)| kind)
    }

    /// Whether the words ask for the next task, and say nothing else.
    pub fn means_next(&self, text: &str) -> bool {
        let said = text.trim().trim_end_matches(['。', '.', '!', '！']);
        let said = said.to_lowercase();
        self.next.0.contains(&said)
    }

    fn split<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let mut parts = vec![text];
        for at in &self.breaks {
            parts = parts.into_iter().flat_map(|part| part.split(at)).collect();
        }
        let parts = parts.into_iter().map(str::trim);
        parts.filter(|part| !part.is_empty()).collect()
    }

    /// The form that a text is about, and how sure that is. What names neither form may still be
    /// about one of them, if `guess` lets it.
    fn kind(&self, text: &str, guess: bool) -> Option<(FormKind, f64)> {
        let mut kinds = self.kind.iter();
        let named = kinds.find(|kind| kind.words.are_in(text));
        match named.map(|kind| kind.form) {
            Some(FormKind::Application) => {
                let either = self.either.are_in(text) && !self.estimate.are_in(text);
                Some((FormKind::Application, if either { UNSURE } else { SURE }))
            }
            Some(form) => Some((form, SURE)),
            None if guess && self.either.are_in(text) => Some((FormKind::Reimbursement, UNSURE)),
            None => None,
        }
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
