//! The rules for writes, given the existing documents. They are pure, so that they are the same in
//! every database.
use fugato::form::{Fields, amount_text, strings, text};

use super::{Document, DocumentStatus, Documents, LedgerWrite, WriteKind};
use crate::form::FormKind;

/// A change of the tables.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Change {
    /// A new application.
    Apply { status: DocumentStatus },
    /// A new claim.
    Claim,
    /// A draft is handed in.
    Submit { id: String },
    /// A claim is linked to an application.
    Link { id: String, application: String },
    /// A claim has other attachments, too.
    Attach { id: String, names: Vec<String> },
}

/// Returns the reasons against writing a form, given the existing documents.
pub fn conflicts(documents: &Documents, form: FormKind, fields: &Fields) -> Vec<String> {
    match form {
        FormKind::Application => {
            let (start, end) = days(fields);
            let trips = documents.applications.iter();
            let submitted = trips.filter(|it| it.status == DocumentStatus::Submitted);
            let there = submitted.map(|it| (&it.id, days(&it.fields)));
            // Days in this form are ordered as texts.
            let overlaps = there.filter(|(_, (from, to))| *from <= end && start <= *to);
            let told = |(id, (from, to))| format!("{id} is already a trip from {from} to {to}");
            overlaps.map(told).collect()
        }
        FormKind::Reimbursement => {
            let parts = ["expense_date", "category", "amount"];
            let same = |it: &&Document| {
                let mut parts = parts.iter();
                parts.all(|name| it.fields.get(*name) == fields.get(*name))
            };
            let told = |it: &Document| {
                let amount = it.fields.get("amount").map(amount_text).unwrap_or_default();
                let what = text(&it.fields, "category");
                let day = text(&it.fields, "expense_date");
                format!("{} already claims {amount} for {what} on {day}", it.id)
            };
            documents
                .reimbursements
                .iter()
                .filter(same)
                .map(told)
                .collect()
        }
        FormKind::Link | FormKind::Attachment => vec![],
    }
}

/// Returns the change that carries out a write, or the reason for which it is refused.
pub(super) fn decide(documents: &Documents, write: &LedgerWrite) -> Result<Change, String> {
    let fields = &write.fields;
    let (application, claim) = (text(fields, "application"), text(fields, "reimbursement"));
    match write.deed {
        WriteKind::Submit => {
            refuse(&conflicts(documents, FormKind::Application, fields))?;
            let status = DocumentStatus::Submitted;
            let submit = |draft: &Document| Change::Submit {
                id: draft.id.clone(),
            };
            Ok(same_draft(documents, fields).map_or(Change::Apply { status }, submit))
        }
        WriteKind::Draft => match same_draft(documents, fields) {
            Some(draft) => Err(format!("{} is already such a draft", draft.id)),
            None => Ok(Change::Apply {
                status: DocumentStatus::Draft,
            }),
        },
        WriteKind::Claim => {
            refuse(&conflicts(documents, FormKind::Reimbursement, fields))?;
            if !application.is_empty() {
                known(&documents.applications, application)?;
            }
            Ok(Change::Claim)
        }
        WriteKind::Link => {
            let there = known(&documents.reimbursements, claim)?;
            known(&documents.applications, application)?;
            if text(&there.fields, "application") == application {
                return Err(format!("{claim} is already linked to {application}"));
            }
            Ok(Change::Link {
                id: claim.to_owned(),
                application: application.to_owned(),
            })
        }
        WriteKind::Attach => {
            let there = known(&documents.reimbursements, claim)?;
            let there: Vec<_> = strings(there.fields.get("attachments")).collect();
            let new = strings(fields.get("attachments")).filter(|name| !there.contains(name));
            let names: Vec<_> = new.map(str::to_owned).collect();
            if names.is_empty() {
                return Err(format!("{claim} has all of these attachments already"));
            }
            let id = claim.to_owned();
            Ok(Change::Attach { id, names })
        }
    }
}

fn days(fields: &Fields) -> (&str, &str) {
    (text(fields, "start_date"), text(fields, "end_date"))
}

fn refuse(conflicts: &[String]) -> Result<(), String> {
    match conflicts {
        [] => Ok(()),
        conflicts => Err(conflicts.join("; ")),
    }
}

fn same_draft<'a>(documents: &'a Documents, fields: &Fields) -> Option<&'a Document> {
    let mut applications = documents.applications.iter();
    applications.find(|it| it.status == DocumentStatus::Draft && it.fields == *fields)
}

fn known<'a>(documents: &'a [Document], id: &str) -> Result<&'a Document, String> {
    let found = documents.iter().find(|document| document.id == id);
    found.ok_or_else(|| {
        let ids: Vec<_> = documents.iter().map(|it| it.id.as_str()).collect();
        let there = match &ids[..] {
            [] => "none".to_owned(),
            ids => ids.join(", "),
        };
        format!("there is no {id}; there are {there}")
    })
}
