//! What may be written, on what there is: pure, so that it is the same in every database.
use serde_json::Value;

use super::{Document, DocumentStatus, Documents, Write};
use crate::form::{Fields, FormKind, amount_text};

/// A row that changes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Change {
    /// A new document.
    Insert {
        form: FormKind,
        status: DocumentStatus,
        fields: Fields,
    },
    /// A draft is handed in.
    Submit { id: String },
    /// A claim is linked to an application.
    Link { id: String, application: String },
    /// A claim has another attachment.
    Attach { id: String, name: String },
}

/// What speaks against writing a form, because of what there is already.
pub fn conflicts(documents: &Documents, form: FormKind, fields: &Fields) -> Vec<String> {
    let of = |fields: &Fields, name: &str| {
        fields
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    match form {
        FormKind::Application => {
            let (start, end) = (of(fields, "start_date"), of(fields, "end_date"));
            let submitted = documents
                .applications
                .iter()
                .filter(|it| it.status == DocumentStatus::Submitted);
            let overlaps = submitted.filter(|it| {
                // Days in this form are ordered as texts.
                of(&it.fields, "start_date") <= end && start <= of(&it.fields, "end_date")
            });
            overlaps
                .map(|it| {
                    let (from, to) = (of(&it.fields, "start_date"), of(&it.fields, "end_date"));
                    format!("{} is already a trip from {from} to {to}", it.id)
                })
                .collect()
        }
        FormKind::Reimbursement => {
            let same = |it: &&Document| {
                ["expense_date", "category", "amount"]
                    .iter()
                    .all(|name| it.fields.get(*name) == fields.get(*name))
            };
            let found = documents.reimbursements.iter().filter(same);
            found
                .map(|it| {
                    let amount = it.fields.get("amount").map(amount_text).unwrap_or_default();
                    format!(
                        "{} already claims {amount} for {} on {}",
                        it.id,
                        of(&it.fields, "category"),
                        of(&it.fields, "expense_date")
                    )
                })
                .collect()
        }
        FormKind::Link | FormKind::Attachment => vec![],
    }
}

/// The changes that carry out a write, or why it is refused.
pub(super) fn decide(documents: &Documents, write: &Write) -> Result<Vec<Change>, String> {
    match write {
        Write::Submit { fields, .. } => {
            refuse(&conflicts(documents, FormKind::Application, fields))?;
            Ok(vec![match same_draft(documents, fields) {
                Some(draft) => Change::Submit {
                    id: draft.id.clone(),
                },
                None => insert(FormKind::Application, DocumentStatus::Submitted, fields),
            }])
        }
        Write::Draft { fields, .. } => match same_draft(documents, fields) {
            Some(draft) => Err(format!("{} is already such a draft", draft.id)),
            None => Ok(vec![insert(
                FormKind::Application,
                DocumentStatus::Draft,
                fields,
            )]),
        },
        Write::Claim { fields, .. } => {
            refuse(&conflicts(documents, FormKind::Reimbursement, fields))?;
            if let Some(application) = fields.get("application").and_then(Value::as_str) {
                known(&documents.applications, application)?;
            }
            Ok(vec![insert(
                FormKind::Reimbursement,
                DocumentStatus::Draft,
                fields,
            )])
        }
        Write::Link {
            reimbursement,
            application,
            ..
        } => {
            let claim = known(&documents.reimbursements, reimbursement)?;
            known(&documents.applications, application)?;
            if claim.fields.get("application").and_then(Value::as_str) == Some(application) {
                return Err(format!(
                    "{reimbursement} is already linked to {application}"
                ));
            }
            Ok(vec![Change::Link {
                id: reimbursement.clone(),
                application: application.clone(),
            }])
        }
        Write::Attach {
            reimbursement,
            attachments,
            ..
        } => {
            let claim = known(&documents.reimbursements, reimbursement)?;
            let there = claim.fields.get("attachments").and_then(Value::as_array);
            let is_new = |name: &&String| {
                !there.is_some_and(|there| there.iter().any(|it| it == name.as_str()))
            };
            let new = attachments.iter().filter(is_new);
            let new: Vec<_> = new
                .map(|name| Change::Attach {
                    id: reimbursement.clone(),
                    name: name.clone(),
                })
                .collect();
            if new.is_empty() {
                return Err(format!(
                    "{reimbursement} has all of these attachments already"
                ));
            }
            Ok(new)
        }
    }
}

fn insert(form: FormKind, status: DocumentStatus, fields: &Fields) -> Change {
    Change::Insert {
        form,
        status,
        fields: fields.clone(),
    }
}

fn refuse(conflicts: &[String]) -> Result<(), String> {
    if conflicts.is_empty() {
        Ok(())
    } else {
        Err(conflicts.join("; "))
    }
}

fn same_draft<'a>(documents: &'a Documents, fields: &Fields) -> Option<&'a Document> {
    let drafts = documents
        .applications
        .iter()
        .filter(|it| it.status == DocumentStatus::Draft);
    let mut drafts = drafts.filter(|draft| draft.fields == *fields);
    drafts.next()
}

fn known<'a>(documents: &'a [Document], id: &str) -> Result<&'a Document, String> {
    documents
        .iter()
        .find(|document| document.id == id)
        .ok_or_else(|| {
            let ids: Vec<_> = documents
                .iter()
                .map(|document| document.id.as_str())
                .collect();
            let there = if ids.is_empty() {
                "none".to_owned()
            } else {
                ids.join(", ")
            };
            format!("there is no {id}; there are {there}")
        })
}
