//! The business services: applications, claims and attachments in the tables of a database.
mod decide;
mod sql;

use std::sync::Arc;

use async_trait::async_trait;
use fugato::{
    BoxError,
    cli::{Tables, TablesError},
    form::Fields,
    state::say,
};
use serde::{Deserialize, Serialize};

use crate::{
    files::{Attachment, KeptFile},
    form::FormKind,
};

pub use decide::{HOME_CURRENCY, conflicts, currency, unknown};
pub(crate) use decide::{differs, named, refusal};
use sql::SqlLedger;

/// The store of applications and claims.
///
/// # Contract
/// - A write is carried out once for each key: a repeat gets the same receipt. The key is stored in
///   the transaction of the write.
/// - The same key with another write is an error.
/// - A write that the status of a document does not allow is refused within the transaction, for
///   every caller.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// Returns all documents of a person.
    async fn documents(&self, employee: &str) -> Result<Documents, LedgerError>;

    /// Writes, once for each key.
    async fn write(&self, key: &str, write: &LedgerWrite) -> Result<Receipt, LedgerError>;
}

const _: Option<&dyn Ledger> = None;

/// The documents of a person, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Documents {
    /// Applications.
    pub applications: Vec<Document>,
    /// Claims, with their attachments.
    pub reimbursements: Vec<Document>,
}

/// An application or a claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// Its number, such as `A-1` or `R-1`.
    pub id: String,
    /// Its status.
    pub status: DocumentStatus,
    /// The filled fields of its form.
    pub fields: Fields,
    /// The files among its attachments that were uploaded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<KeptFile>,
}

impl Documents {
    /// Returns all of them.
    pub fn all(&self) -> impl Iterator<Item = &Document> + Clone {
        self.applications.iter().chain(&self.reimbursements)
    }
}

impl Document {
    /// Returns its form.
    pub fn form(&self) -> FormKind {
        if self.id.starts_with('R') {
            FormKind::Reimbursement
        } else {
            FormKind::Application
        }
    }
}

/// The status of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DocumentStatus {
    /// The document is kept for later.
    Draft,
    /// The document is handed in.
    Submitted,
    /// The document was withdrawn.
    Withdrawn,
}

/// Something that is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LedgerWrite {
    /// The kind of write.
    #[serde(rename = "write")]
    pub deed: WriteKind,
    /// The employee whose documents it is about.
    pub employee: String,
    /// The filled fields of the form that it is about.
    pub fields: Fields,
    /// The uploaded files among its attachments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Attachment>,
    /// The fields of the document that it is about, as they were shown: if the document says
    /// something else by now, it stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<Fields>,
    /// The status of that document, as it was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<DocumentStatus>,
}

/// A kind of write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WriteKind {
    /// An application is handed in; a draft that it names, or that has the same content, is that one.
    Submit,
    /// An application is kept as a draft; one that it names is changed.
    Draft,
    /// A claim is kept as a draft, with its attachments; one that it names is changed.
    Claim,
    /// A claim is linked to an application.
    Link,
    /// Files are attached to a claim.
    Attach,
    /// A document is withdrawn.
    Withdraw,
    /// A withdrawn document becomes a draft again.
    Restore,
}

/// The outcome of a write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "receipt", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Receipt {
    /// It is written.
    Written {
        /// The document's number.
        document: String,
    },
    /// It is not written.
    Refused {
        /// The reason.
        why: String,
    },
}

/// Nothing is known of a document, or nothing was written as far as is known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The key was used for something else.
    #[error("{}", say!("the key {key:?} was used for another write", "键 {key:?} 已用于另一次写入"))]
    KeyReused {
        /// The key.
        key: String,
    },
    /// There are no tables to open.
    #[error(transparent)]
    Tables(#[from] TablesError),
    /// The database does not answer, or the answer was lost.
    #[error("{}", say!("the tables cannot be used now", "现在无法使用数据表"))]
    Unavailable(#[source] BoxError),
}

/// Opens the tables at an address, as [`Tables::open`] reads it, and creates missing ones.
pub async fn open(address: &str) -> Result<Arc<dyn Ledger>, LedgerError> {
    Ok(Arc::new(
        SqlLedger::over(Tables::open(address).await?).await?,
    ))
}
