//! What a request asks for: its clauses, each with a form and a goal.
use fugato::words::days;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::{Reader, Words, toward};
use crate::form::{Fields, FormKind, Forms};

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
pub(crate) const SURE: f64 = 0.9;
/// It might as well be something else.
pub(crate) const UNSURE: f64 = 0.4;
/// Longer words are more than the name of a form.
const SHORT: usize = 12;

fn sure() -> f64 {
    SURE
}

/// What each form is called.
#[derive(Debug, Deserialize)]
pub(super) struct Kinds {
    reimbursement: Words,
    application: Words,
    link: Words,
    attachment: Words,
}

impl Reader {
    /// What a request asks for; nothing if it is about something else.
    pub fn clauses(&self, forms: &Forms, text: &str, base: Date) -> Vec<Clause> {
        let mut parts: Vec<(FormKind, f64, String)> = vec![];
        let mut before = String::new();
        for part in self.split(text) {
            let kind = self.kind(part, true);
            match (kind, parts.last_mut()) {
                // The same kind again goes on about it, unless it names a day of its own.
                (Some((kind, _)), Some((last, _, said)))
                    if kind == *last && days(part, base, toward(kind)).days.is_empty() =>
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
                fields: self.facts(forms.get(kind)?, &said, base),
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
        let kinds = &self.kinds;
        if kinds.reimbursement.are_in(text) {
            Some((FormKind::Reimbursement, SURE))
        } else if kinds.link.are_in(text) {
            Some((FormKind::Link, SURE))
        } else if kinds.attachment.are_in(text) {
            Some((FormKind::Attachment, SURE))
        } else if kinds.application.are_in(text) {
            let either = self.either.are_in(text) && !self.estimate.are_in(text);
            Some((FormKind::Application, if either { UNSURE } else { SURE }))
        } else if guess && self.either.are_in(text) {
            Some((FormKind::Reimbursement, UNSURE))
        } else {
            None
        }
    }
}
