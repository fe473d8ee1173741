//! The business services: applications, claims and attachments in the tables of a database.
mod decide;
mod sql;

use std::sync::Arc;

use async_trait::async_trait;
use fugato::{BoxError, cli::without_password, postgres::PostgresTables, sqlite::SqliteTables};
use serde::{Deserialize, Serialize};

use crate::form::{Fields, FormKind};

pub use decide::conflicts;
use sql::{Database, SqlLedger};

/// Where applications and claims are kept.
///
/// # Contract
/// - A write is carried out once for each key: a repeat is told what came of it. The key is stored
///   in the transaction of the write.
/// - The same key with another write is an error.
/// - What the state of a document does not allow is refused, whoever asks, in the transaction.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// All documents of a person.
    async fn documents(&self, employee: &str) -> Result<Documents, LedgerError>;

    /// Writes, under a key.
    async fn write(&self, key: &str, write: &Write) -> Result<Receipt, LedgerError>;
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
    /// How far it came.
    pub status: DocumentStatus,
    /// What it says.
    pub fields: Fields,
}

/// How far a document came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DocumentStatus {
    /// It is kept for later.
    Draft,
    /// It is handed in.
    Submitted,
}

/// What can be written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "write", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Write {
    /// An application is handed in; one that was kept as a draft with the same content is that one.
    Submit {
        /// Whose.
        employee: String,
        /// What it says.
        fields: Fields,
    },
    /// An application is kept as a draft.
    Draft {
        /// Whose.
        employee: String,
        /// What it says.
        fields: Fields,
    },
    /// A claim is kept as a draft, with its attachments.
    Claim {
        /// Whose.
        employee: String,
        /// What it says.
        fields: Fields,
    },
    /// A claim is linked to an application.
    Link {
        /// Whose.
        employee: String,
        /// The claim.
        reimbursement: String,
        /// The application.
        application: String,
    },
    /// Files are attached to a claim.
    Attach {
        /// Whose.
        employee: String,
        /// The claim.
        reimbursement: String,
        /// Their names.
        attachments: Vec<String>,
    },
}

/// What came of a write.
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
        /// Why.
        why: String,
    },
}

/// Nothing is known of a document, or nothing was written as far as is known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The key was used for something else.
    #[error("the key {key:?} was used for another write")]
    KeyReused {
        /// The key.
        key: String,
    },
    /// The address names no database.
    #[error(
        "{given:?} is no address of tables; allowed are a path, sqlite:PATH and postgres://USER:PASSWORD@HOST/DATABASE"
    )]
    Address {
        /// What was given, without its password.
        given: String,
    },
    /// The database does not answer, or the answer was lost.
    #[error("the tables cannot be used now")]
    Unavailable(#[source] BoxError),
}

/// Opens the tables: a path or `sqlite:PATH` is an SQLite database, which is made if it is not
/// there; `postgres://` is a server.
pub async fn open(address: &str) -> Result<Arc<dyn Ledger>, LedgerError> {
    let refused = || LedgerError::Address {
        given: without_password(address),
    };
    let database = match address.split_once("://") {
        Some(("postgres" | "postgresql", _)) => {
            let tables = PostgresTables::new(address).map_err(|_| refused())?;
            Database::Postgres(Box::new(tables))
        }
        // What has something to hide, such as a list of settings, is no name of a file.
        None if !address.is_empty() && without_password(address) == address => {
            let path = address
                .strip_prefix("sqlite:")
                .unwrap_or(address)
                .to_owned();
            let opened = tokio::task::spawn_blocking(|| SqliteTables::open(path)).await;
            let opened = opened.map_err(BoxError::from).and_then(|it| Ok(it?));
            Database::Sqlite(opened.map_err(LedgerError::Unavailable)?)
        }
        _ => return Err(refused()),
    };
    Ok(Arc::new(SqlLedger::over(database).await?))
}

impl Documents {
    /// The document of this number.
    pub fn find(&self, id: &str) -> Option<&Document> {
        self.applications
            .iter()
            .chain(&self.reimbursements)
            .find(|document| document.id == id)
    }

    /// The documents of a form.
    pub fn of(&self, form: FormKind) -> &[Document] {
        if form == FormKind::Application {
            &self.applications
        } else {
            &self.reimbursements
        }
    }
}

impl Write {
    /// Whose documents it is about.
    pub fn employee(&self) -> &str {
        match self {
            Self::Submit { employee, .. }
            | Self::Draft { employee, .. }
            | Self::Claim { employee, .. }
            | Self::Link { employee, .. }
            | Self::Attach { employee, .. } => employee,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_that_is_refused_shows_no_password() {
        let cases = [
            ("mysql://ann:secret@host/db", "mysql://…@host/db"),
            ("mysql://host/db?password=secret", "mysql://host/db?…"),
            ("mysql://ann@host/db?password=se@secret", "mysql://…"),
            ("mysql://ann:a?secret@host/db", "mysql://…"),
            ("host=db password=secret", "…=…"),
            ("password = secret", "…=…"),
        ];
        for (given, shown) in cases {
            let Err(error) = open(given).await else {
                panic!("{given:?} is no address")
            };
            let said = error.to_string();
            assert!(!said.contains("secret"), "{said}");
            assert!(
                said.contains(shown) && said.contains("allowed are"),
                "{said}"
            );
        }
        assert!(!std::path::Path::new("host=db password=secret").exists());
    }
}
