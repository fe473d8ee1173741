//! The schedule at rest: calendars in a database, each with its classes, its items, what lies where
//! in it, and its notes.
//!
//! What the agent wants stored is a [`Write`]. A store carries it out in one transaction, together
//! with its idempotency key, so that a repeat is recognised and writes nothing.
mod check;
mod class;
mod database;
mod mysql;
mod open;
mod rows;
mod sql;
mod sqlite;

use std::sync::Arc;

use async_trait::async_trait;
use fugato::{graph::BoxError, state::ThreadId};
use serde::{Deserialize, Serialize};

pub(crate) use check::decided;
pub use check::{Changed, Conflict};
pub use class::{ClassItem, ClassWrite, ClassWritten};
pub use open::open;

use crate::{
    deps::ScheduleProvider,
    schedule::{Difference, ScheduleState},
};

/// Where calendars lie, each under a name.
///
/// # Contract
/// - A write is carried out wholly or not at all.
/// - A write under a key that was used for the same write before is answered as it was then, and
///   writes nothing. For another write, the key is refused.
/// - What is refused, because the calendar is not as the writer believes, writes nothing and does
///   not use up its key.
/// - What was answered is durable.
#[async_trait]
pub trait ScheduleStore: Send + Sync {
    /// A calendar as it is now; none if there is no calendar of this name.
    async fn read(&self, calendar: &str) -> Result<Option<Calendar>, ScheduleStoreError>;

    /// Carries out a write, in one transaction with its key.
    async fn write(
        &self,
        calendar: &str,
        key: &str,
        write: &Write,
    ) -> Result<Receipt, ScheduleStoreError>;

    /// Removes a calendar and everything that belongs to it. One that is not there is no error.
    async fn delete(&self, calendar: &str) -> Result<(), ScheduleStoreError>;
}

const _: Option<&dyn ScheduleStore> = None;

/// What a store knows of a calendar.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Calendar {
    /// What lies where, and what wants a place.
    pub schedule: ScheduleState,
    /// What the person wanted kept, in the order in which it was written.
    pub notes: Vec<Note>,
}

/// What the agent wants stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "write", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Write {
    /// A whole schedule, into a calendar that has none yet.
    Import {
        /// The schedule.
        schedule: ScheduleState,
    },
    /// A whole schedule, in the place of whatever the calendar had. An item of the same class,
    /// number and name as before keeps the place that it had, if that is free.
    Replace {
        /// The schedule.
        schedule: ScheduleState,
        /// Whether only the items are new: then an entry of the calendar that was moved stays where
        /// it lies, too.
        only_items: bool,
    },
    /// What became of tasks since the writer has read the calendar.
    Changes {
        /// All of them, or none.
        changes: Vec<Difference>,
    },
    /// A class with its items, new or in place of what it was.
    Class(ClassWrite),
    /// Something to remember.
    Note(Note),
}

/// How a write was answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "receipt", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Receipt {
    /// It is stored.
    Stored,
    /// The class is stored, and is this.
    Class(ClassWritten),
    /// Nothing is stored: the calendar is not as the writer believes.
    Conflict(Conflict),
    /// Nothing is stored: it breaks a rule.
    Refused {
        /// What is wrong, one point each.
        issues: Vec<String>,
    },
}

/// Something to remember.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// What kind it is.
    pub kind: NoteKind,
    /// In words.
    pub text: String,
}

/// What kind of note it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// Something to know.
    Note,
    /// Something to do, whenever.
    Task,
}

/// Why a store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleStoreError {
    /// The database cannot be reached, or refuses. Whether it wrote is unknown; the same write under
    /// the same key finds out.
    #[error("the schedule store could not {operation}")]
    Unavailable {
        /// What was asked of it.
        operation: &'static str,
        /// What the database says.
        source: BoxError,
    },
    /// A key stands for one write, and was used for another.
    #[error("the key {key:?} was used for another write of the calendar {calendar:?}")]
    KeyReused {
        /// The calendar.
        calendar: String,
        /// The key.
        key: String,
    },
    /// The tables hold what this program never wrote.
    #[error("the calendar {calendar:?} cannot be read: {what}")]
    Damaged {
        /// The calendar.
        calendar: String,
        /// What is wrong with it.
        what: String,
    },
    /// The address of a store is none.
    #[error("{given:?} is no schedule store: {allowed}")]
    Address {
        /// What was given, without a password.
        given: String,
        /// What is allowed.
        allowed: String,
    },
}

/// A store, and which of its calendars a conversation is about.
#[derive(Clone)]
pub struct Calendars {
    store: Arc<dyn ScheduleStore>,
    name: Option<Arc<str>>,
}

impl Calendars {
    /// Each conversation has a calendar of its own, of the same name.
    pub fn of_threads(store: Arc<dyn ScheduleStore>) -> Self {
        Self { store, name: None }
    }

    /// All conversations share one calendar.
    pub fn shared(store: Arc<dyn ScheduleStore>, name: &str) -> Self {
        let name = Some(name.into());
        Self { store, name }
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn ScheduleStore> {
        &self.store
    }

    /// The calendar of a conversation.
    pub fn name(&self, thread: &ThreadId) -> String {
        let name = self.name.as_deref();
        name.unwrap_or_else(|| thread.as_str()).to_owned()
    }
}

impl std::fmt::Debug for Calendars {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Calendars")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl ScheduleProvider for Calendars {
    async fn load(&self, thread: &ThreadId) -> Result<ScheduleState, BoxError> {
        let name = self.name(thread);
        let found = self.store.read(&name).await?;
        let missing = || format!("there is no calendar {name:?} in the schedule store");
        Ok(found.ok_or_else(missing)?.schedule)
    }
}
