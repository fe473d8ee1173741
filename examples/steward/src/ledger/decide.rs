//! The rules for writes, given the existing documents. They are pure, so that they are the same in
//! every database.
use fugato::{
    cli::Lang,
    form::{Fields, amount_text, strings, text},
};

use super::{Document, DocumentStatus, Documents, LedgerWrite, WriteKind};
use crate::{form::FormKind, reply};

/// A change of the tables.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Change {
    /// A new application.
    Apply { status: DocumentStatus },
    /// A new claim.
    Claim,
    /// A draft is handed in.
    Submit { id: String },
    /// A draft says something else, with these attachments besides its own.
    Revise {
        id: String,
        status: DocumentStatus,
        names: Vec<String>,
    },
    /// A claim is linked to an application.
    Link { id: String, application: String },
    /// A document has another status.
    Status { id: String, status: DocumentStatus },
    /// A claim has other attachments, too.
    Attach { id: String, names: Vec<String> },
}

/// Returns the reasons against writing a form, given the existing documents.
pub fn conflicts(
    documents: &Documents,
    form: FormKind,
    fields: &Fields,
    lang: Lang,
) -> Vec<String> {
    match form {
        FormKind::Application => {
            let (start, end) = days(fields);
            let trips = documents.applications.iter();
            let submitted = trips.filter(|it| it.status == DocumentStatus::Submitted);
            let there = submitted.map(|it| (&it.id, days(&it.fields)));
            // Days in this form are ordered as texts.
            let overlaps = there.filter(|(_, (from, to))| *from <= end && start <= *to);
            let told = |(id, (from, to))| {
                lang.pick(
                    format!("{id} is already a trip from {from} to {to}"),
                    format!("{id}已经是{from}到{to}的出差"),
                )
            };
            overlaps.map(told).collect()
        }
        FormKind::Reimbursement => {
            let parts = ["expense_date", "category", "amount"];
            let changed = text(fields, "document");
            let same = |it: &&Document| {
                let mut parts = parts.iter();
                parts.all(|name| it.fields.get(*name) == fields.get(*name))
                    && currency(&it.fields) == currency(fields)
            };
            let told = |it: &Document| {
                let amount = it.fields.get("amount").map(amount_text).unwrap_or_default();
                // The claim's own words: the category is a name of the form.
                let what = text(&it.fields, "reason");
                let day = text(&it.fields, "expense_date");
                let (id, currency) = (&it.id, currency(&it.fields));
                lang.pick(
                    format!("{id} already claims {amount} {currency} for {what} on {day}"),
                    format!("{id}已经报销了{day}的{amount} {currency}（{what}）"),
                )
            };
            documents
                .reimbursements
                .iter()
                .filter(|it| it.status != DocumentStatus::Withdrawn && it.id != changed)
                .filter(same)
                .map(told)
                .collect()
        }
        _ => vec![],
    }
}

/// The currency of an amount that names none.
pub const HOME_CURRENCY: &str = "CNY";

/// Returns the currency of the amount of a form. Amounts are compared within a currency, and never
/// converted.
pub fn currency(fields: &Fields) -> &str {
    match text(fields, "currency") {
        "" => HOME_CURRENCY,
        named => named,
    }
}

/// Returns what is said of each document that a form names and that is not there.
pub fn unknown(documents: &Documents, fields: &Fields, lang: Lang) -> Vec<String> {
    let document = text(fields, "document");
    let named = [
        (
            documents.applications.as_slice(),
            text(fields, "application"),
        ),
        (
            documents.reimbursements.as_slice(),
            text(fields, "reimbursement"),
        ),
        (like(documents, document), document),
    ];
    let named = named.into_iter().filter(|(_, id)| !id.is_empty());
    named
        .filter_map(|(there, id)| known(there, id, lang).err())
        .collect()
}

/// Returns the reason for which a write is refused, in the language of a person.
pub(crate) fn refusal(documents: &Documents, write: &LedgerWrite, lang: Lang) -> Option<String> {
    decide(documents, write, lang).err()
}

/// Returns the change that carries out a write, or the reason for which it is refused.
pub(super) fn decide(
    documents: &Documents,
    write: &LedgerWrite,
    lang: Lang,
) -> Result<Change, String> {
    let fields = &write.fields;
    let (application, claim) = (text(fields, "application"), text(fields, "reimbursement"));
    match write.deed {
        WriteKind::Submit => {
            refuse(
                &conflicts(documents, FormKind::Application, fields, lang),
                lang,
            )?;
            let status = DocumentStatus::Submitted;
            if let Some(draft) = revised(&documents.applications, write, lang)? {
                return Ok(revision(draft, fields, status));
            }
            let submit = |draft: &Document| Change::Submit {
                id: draft.id.clone(),
            };
            Ok(same_draft(documents, fields).map_or(Change::Apply { status }, submit))
        }
        WriteKind::Draft => {
            let status = DocumentStatus::Draft;
            match (
                same_draft(documents, fields),
                revised(&documents.applications, write, lang)?,
            ) {
                (Some(draft), _) => Err(is_draft(draft, lang)),
                (None, Some(draft)) => Ok(revision(draft, fields, status)),
                (None, None) => Ok(Change::Apply { status }),
            }
        }
        WriteKind::Claim => {
            refuse(
                &conflicts(documents, FormKind::Reimbursement, fields, lang),
                lang,
            )?;
            if !application.is_empty() {
                valid(&documents.applications, application, lang)?;
            }
            Ok(match revised(&documents.reimbursements, write, lang)? {
                Some(draft) if !differs(&draft.fields, fields) => {
                    return Err(is_draft(draft, lang));
                }
                Some(draft) => revision(draft, fields, DocumentStatus::Draft),
                None => Change::Claim,
            })
        }
        WriteKind::Link => {
            let there = valid(&documents.reimbursements, claim, lang)?;
            valid(&documents.applications, application, lang)?;
            if text(&there.fields, "application") == application {
                return Err(lang.pick(
                    format!("{claim} is already linked to {application}"),
                    format!("{claim}已经关联到{application}"),
                ));
            }
            as_shown(documents, write, lang)?;
            Ok(Change::Link {
                id: claim.to_owned(),
                application: application.to_owned(),
            })
        }
        WriteKind::Withdraw => {
            let change = withdrawn(documents, text(fields, "document"), lang)?;
            as_shown(documents, write, lang).map(|()| change)
        }
        WriteKind::Restore => {
            let change = restored(documents, text(fields, "document"), lang)?;
            as_shown(documents, write, lang).map(|()| change)
        }
        WriteKind::Attach => {
            let there = valid(&documents.reimbursements, claim, lang)?;
            let there: Vec<_> = strings(there.fields.get("attachments")).collect();
            let new = strings(fields.get("attachments")).filter(|name| !there.contains(name));
            let names: Vec<_> = new.map(str::to_owned).collect();
            if names.is_empty() {
                return Err(lang.pick(
                    format!("{claim} has all of these attachments already"),
                    format!("{claim}已经有这些附件"),
                ));
            }
            as_shown(documents, write, lang)?;
            let id = claim.to_owned();
            Ok(Change::Attach { id, names })
        }
    }
}

/// Withdraws a document that no other one rests on.
fn withdrawn(documents: &Documents, id: &str, lang: Lang) -> Result<Change, String> {
    valid(like(documents, id), id, lang)?;
    let claims = documents.reimbursements.iter();
    let mut claims = claims.filter(|it| it.status != DocumentStatus::Withdrawn);
    if let Some(claim) = claims.find(|it| text(&it.fields, "application") == id) {
        let claim = &claim.id;
        return Err(lang.pick(
            format!("{claim} is linked to {id}: withdraw {claim} first"),
            format!("{claim}关联着{id}：请先撤回{claim}"),
        ));
    }
    Ok(Change::Status {
        id: id.to_owned(),
        status: DocumentStatus::Withdrawn,
    })
}

/// Makes a withdrawn document a draft again, if nothing was written in its place.
fn restored(documents: &Documents, id: &str, lang: Lang) -> Result<Change, String> {
    let document = known(like(documents, id), id, lang)?;
    if document.status != DocumentStatus::Withdrawn {
        return Err(lang.pick(format!("{id} is not withdrawn"), format!("{id}没有被撤回")));
    }
    let fields = &document.fields;
    match document.form() {
        FormKind::Application => {
            if let Some(draft) = same_draft(documents, fields) {
                return Err(is_draft(draft, lang));
            }
        }
        form => {
            refuse(&conflicts(documents, form, fields, lang), lang)?;
            let application = text(fields, "application");
            if !application.is_empty() {
                valid(&documents.applications, application, lang)?;
            }
        }
    }
    Ok(Change::Status {
        id: id.to_owned(),
        status: DocumentStatus::Draft,
    })
}

/// Returns the documents among which one of this number is.
fn like<'a>(documents: &'a Documents, id: &str) -> &'a [Document] {
    if id.starts_with('R') {
        &documents.reimbursements
    } else {
        &documents.applications
    }
}

/// Returns a document that was not withdrawn.
fn valid<'a>(documents: &'a [Document], id: &str, lang: Lang) -> Result<&'a Document, String> {
    let document = known(documents, id, lang)?;
    if document.status == DocumentStatus::Withdrawn {
        return Err(lang.pick(format!("{id} is withdrawn"), format!("{id}已经撤回了")));
    }
    Ok(document)
}

/// Returns the draft that a write changes or hands in, if it names one.
fn revised<'a>(
    documents: &'a [Document],
    write: &LedgerWrite,
    lang: Lang,
) -> Result<Option<&'a Document>, String> {
    let id = text(&write.fields, "document");
    if id.is_empty() {
        return Ok(None);
    }
    let document = valid(documents, id, lang)?;
    let shown = write.known.as_ref();
    match document.status {
        DocumentStatus::Draft if shown.is_some_and(|it| differs(it, &document.fields)) => {
            Err(was_changed(id, lang))
        }
        DocumentStatus::Draft => Ok(Some(document)),
        _ => Err(lang.pick(
            format!("{id} is handed in: withdraw and restore it first, and it is a draft again"),
            format!("{id}已经提交：请先撤回再恢复，它就又是草稿"),
        )),
    }
}

/// Refuses a write that is about a document of which something else was shown than it is now.
fn as_shown(documents: &Documents, write: &LedgerWrite, lang: Lang) -> Result<(), String> {
    let Some(id) = named(&write.fields) else {
        return Ok(());
    };
    let mut now = like(documents, id).iter().filter(|it| it.id == id);
    let is_another = |now: &Document| {
        let says = write.known.as_ref();
        says.is_some_and(|it| differs(it, &now.fields))
            || write.status.is_some_and(|status| status != now.status)
    };
    if now.any(is_another) {
        return Err(was_changed(id, lang));
    }
    Ok(())
}

fn was_changed(id: &str, lang: Lang) -> String {
    lang.pick(
        format!(
            "{id} was changed in the meantime, and stays as it is now: look at it, and ask again"
        ),
        format!("{id}刚刚被改过，保持现在的内容：请看一下再说一次"),
    )
}

/// Returns the number of the document that an action with these fields changes, if it names one.
pub(crate) fn named(fields: &Fields) -> Option<&str> {
    let named = ["document", "reimbursement"].map(|field| text(fields, field));
    named.into_iter().find(|id| !id.is_empty())
}

/// Returns the change after which a draft says what a form does.
fn revision(draft: &Document, fields: &Fields, status: DocumentStatus) -> Change {
    let there: Vec<_> = strings(draft.fields.get("attachments")).collect();
    let new = strings(fields.get("attachments")).filter(|name| !there.contains(name));
    Change::Revise {
        id: draft.id.clone(),
        status,
        names: new.map(str::to_owned).collect(),
    }
}

/// Returns true if a form says something else than a document does.
pub(crate) fn differs(known: &Fields, wanted: &Fields) -> bool {
    priced(known) != priced(wanted)
}

/// Returns the content of fields. Old documents name no currency, and mean that of the house.
fn priced(fields: &Fields) -> Fields {
    let mut priced = fields.clone();
    priced.remove("document");
    priced.insert("currency".into(), currency(fields).into());
    priced
}

fn is_draft(draft: &Document, lang: Lang) -> String {
    lang.pick(
        format!("{} is already such a draft", draft.id),
        format!("{}已经是这样的草稿", draft.id),
    )
}

fn days(fields: &Fields) -> (&str, &str) {
    (text(fields, "start_date"), text(fields, "end_date"))
}

fn refuse(conflicts: &[String], lang: Lang) -> Result<(), String> {
    match conflicts {
        [] => Ok(()),
        conflicts => Err(reply::joined(conflicts, lang)),
    }
}

fn same_draft<'a>(documents: &'a Documents, fields: &Fields) -> Option<&'a Document> {
    let mut applications = documents.applications.iter();
    applications.find(|it| it.status == DocumentStatus::Draft && !differs(&it.fields, fields))
}

fn known<'a>(documents: &'a [Document], id: &str, lang: Lang) -> Result<&'a Document, String> {
    let found = documents.iter().find(|document| document.id == id);
    found.ok_or_else(|| {
        let ids: Vec<_> = documents.iter().map(|it| it.id.as_str()).collect();
        let there = match &ids[..] {
            [] => lang.pick("none", "任何单据").to_owned(),
            ids => ids.join(lang.pick(", ", "、")),
        };
        match &ids[..] {
            [] => lang.pick(
                format!("there is no {id}; there are {there}"),
                format!("没有{id}，也没有{there}"),
            ),
            _ => lang.pick(
                format!("there is no {id}; there are {there}"),
                format!("没有{id}；有的是{there}"),
            ),
        }
    })
}
