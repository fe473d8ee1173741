//! What a request asks for: its clauses, each with a form and a goal.
use fugato::words::days;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::{Reader, Words, any_in, toward};
use crate::form::{Fields, FormKind, Forms};

/// One thing that a request asks for.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Clause {
    /// The form it belongs to.
    pub form: FormKind,
    /// How far it shall go.
    pub goal: Goal,
    /// What it says about the form.
    pub fields: Fields,
    /// How sure the rules are that it is this form, from 0 to 1.
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

const BREAKS: [&str; 7] = ["。", "；", ";", "\n", "然后", " and then ", "另外"];

impl Reader {
    /// What a request asks for; nothing if it is about something else.
    pub fn clauses(&self, forms: &Forms, text: &str, base: Date) -> Vec<Clause> {
        let mut parts: Vec<(FormKind, f64, String)> = vec![];
        let mut before = String::new();
        for part in split(text) {
            match (kind(self.words(), part, true), parts.last_mut()) {
                // The same kind again goes on about it, unless it names a day of its own.
                (Some((kind, _)), Some((last, _, said)))
                    if kind == *last && days(part, base, toward(kind)).days.is_empty() =>
                {
                    said.push('，');
                    said.push_str(part);
                }
                (Some((kind, confidence)), _) => {
                    parts.push((
                        kind,
                        confidence,
                        format!("{}{part}", std::mem::take(&mut before)),
                    ));
                }
                (None, Some((.., said))) => {
                    said.push('，');
                    said.push_str(part);
                }
                (None, None) => {
                    before.push_str(part);
                    before.push('，');
                }
            }
        }
        let read = |(kind, confidence, said): (FormKind, f64, String)| {
            let form = forms.get(kind)?;
            let is_draft =
                kind != FormKind::Application || any_in(&self.words().goals.draft, &said);
            Some(Clause {
                form: kind,
                goal: if is_draft { Goal::Draft } else { Goal::Submit },
                fields: self.facts(form, &said, base),
                confidence,
            })
        };
        parts.into_iter().filter_map(read).collect()
    }
}

fn split(text: &str) -> Vec<&str> {
    let mut parts = vec![text];
    for at in BREAKS {
        parts = parts.into_iter().flat_map(|part| part.split(at)).collect();
    }
    parts
        .into_iter()
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect()
}

/// The form that a text is about, and how sure that is. What names neither form may still be about
/// one of them, if `guess` lets it.
pub(super) fn kind(words: &Words, text: &str, guess: bool) -> Option<(FormKind, f64)> {
    let kinds = &words.kinds;
    let claims = any_in(&kinds.reimbursement, text);
    let estimate = ["预计", "预算", "estimate", "budget"]
        .iter()
        .any(|word| text.to_lowercase().contains(word));
    if any_in(&kinds.link, text) && !claims {
        Some((FormKind::Link, SURE))
    } else if any_in(&kinds.attachment, text) && !claims {
        Some((FormKind::Attachment, SURE))
    } else if claims {
        Some((FormKind::Reimbursement, SURE))
    } else if any_in(&kinds.application, text) {
        let either = words.either.is_in(text) && !estimate;
        Some((FormKind::Application, if either { UNSURE } else { SURE }))
    } else if guess && words.either.is_in(text) {
        Some((FormKind::Reimbursement, UNSURE))
    } else {
        None
    }
}
