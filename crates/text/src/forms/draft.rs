//! Forms as they are written, before they are checked.
use serde::Deserialize;

use super::{Field, FieldKind, Form};

/// The content of a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Draft<N> {
    form: Vec<Form<N>>,
}

/// An error in the data of forms.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormsError {
    /// Two forms have the same name.
    #[error("the {form} has the name of another form")]
    FormTwice {
        /// The second one, in English.
        form: String,
    },
    /// Two fields of a form have the same name.
    #[error("there are two fields {field:?} in the {form}")]
    FieldTwice {
        /// The form, in English.
        form: String,
        /// The name of the fields.
        field: String,
    },
    /// A field has a property of another kind, or lacks one of its own.
    #[error("{field:?} of the {form} {why}")]
    Field {
        /// The form, in English.
        form: String,
        /// The name of the field.
        field: String,
        /// The error, and what is allowed.
        why: String,
    },
}

impl<N: PartialEq> Draft<N> {
    pub(crate) fn checked(self) -> Result<Vec<Form<N>>, FormsError> {
        for (nth, form) in self.form.iter().enumerate() {
            let mut before = self.form.iter().take(nth);
            if before.any(|other| other.name == form.name) {
                let form = form.en.clone();
                return Err(FormsError::FormTwice { form });
            }
            checked(form)?;
        }
        Ok(self.form)
    }
}

fn checked<N>(form: &Form<N>) -> Result<(), FormsError> {
    for (nth, field) in form.fields.iter().enumerate() {
        let (name, mut before) = (field.name.clone(), form.fields.iter().take(nth));
        if before.any(|other| other.name == name) {
            let (form, field) = (form.en.clone(), name);
            return Err(FormsError::FieldTwice { form, field });
        }
        if let Some(why) = wrong(form, field) {
            let (form, field) = (form.en.clone(), name);
            return Err(FormsError::Field { form, field, why });
        }
    }
    Ok(())
}

/// Returns the error of a field, if there is one.
fn wrong<N>(form: &Form<N>, field: &Field) -> Option<String> {
    let only = |is: bool, kind: FieldKind, what: &str| {
        let strange = is && field.kind != kind;
        strange.then(|| format!("has {what}, which only a {} has", kind.word()))
    };
    if field.kind == FieldKind::Choice && field.words.is_empty() {
        return Some("is a choice and must have \"words\" to choose from".to_owned());
    }
    only(!field.words.is_empty(), FieldKind::Choice, "\"words\"")
        .or_else(|| only(!field.patterns.is_empty(), FieldKind::Text, "\"patterns\""))
        .or_else(|| only(field.prefix.is_some(), FieldKind::Document, "a \"prefix\""))
        .or_else(|| only(field.not_before.is_some(), FieldKind::Day, "\"not_before\""))
        .or_else(|| {
            let first = field.not_before.as_deref()?;
            let mut others = form.fields.iter().filter(|it| it.name != field.name);
            let is_day = others.any(|it| it.name == first && it.kind == FieldKind::Day);
            (!is_day).then(|| format!("is not before {first:?}, which is no other day of it"))
        })
}
