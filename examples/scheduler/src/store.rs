//! The stored schedule: calendars in a database, each with its classes, items, places and notes.
//!
//! Every change that the agent stores is a [`StoreWrite`]. A store carries it out in one transaction,
//! together with its idempotency key, so that a repeat is recognised and writes nothing.
mod check;
mod rows;
mod sql;

use std::sync::Arc;

use async_trait::async_trait;
use fugato::{
    cli::{Tables, TablesError},
    graph::BoxError,
    state::ThreadId,
};
use serde::{Deserialize, Serialize};

pub use check::{CalendarPart, Conflict, StaleFact};
pub(crate) use check::{carried_over, decided};
pub use timetable::schedule::{ClassItem, ClassWrite, WrittenClass};

use crate::{
    deps::ScheduleProvider,
    schedule::{Difference, PlacementPreferences, ScheduleState},
};

/// A store of calendars by name.
///
/// # Contract
/// - A write is carried out completely or not at all.
/// - A write under a key that was used for the same write before gets the same answer, and writes
///   nothing. For another write, the key is refused.
/// - A write that is refused, because the calendar differs from the state that the writer
///   expects, writes nothing and does not use up its key.
/// - A write over what its writer [has seen](StoreWrite::Seen) is refused once that is another.
/// - An answered write is durable.
#[async_trait]
pub trait ScheduleStore: Send + Sync {
    /// Reads the current calendar; none if there is no calendar of this name.
    async fn read(&self, calendar: &str) -> Result<Option<Calendar>, ScheduleStoreError>;

    /// Carries out a write, in one transaction with its key.
    async fn write(&self, calendar: &str, key: &str, write: &StoreWrite) -> WriteResult;

    /// Removes a calendar and everything that belongs to it. A missing calendar is no error.
    async fn delete(&self, calendar: &str) -> Result<(), ScheduleStoreError>;
}

const _: Option<&dyn ScheduleStore> = None;

/// The answer to a write, or the failure of the store.
pub type WriteResult = Result<StoreReceipt, ScheduleStoreError>;

/// A stored calendar.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Calendar {
    /// The schedule: days, tasks with their places, and classes.
    pub schedule: ScheduleState,
    /// The notes of the person, in the order in which they were written.
    pub notes: Vec<MemoryNote>,
    /// The reminders of the person, in the order in which they were made.
    pub reminders: Vec<Reminder>,
}

/// A change to store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "write", rename_all = "snake_case")]
#[non_exhaustive]
pub enum StoreWrite {
    /// A whole schedule, into a calendar that has none yet.
    Import {
        /// The schedule.
        schedule: ScheduleState,
    },
    /// A whole schedule, which replaces that of the calendar. An item of the same class, number and
    /// name as before keeps its place, if that is free.
    Replace {
        /// The schedule.
        schedule: ScheduleState,
        /// True if only the items are new; then an entry of the calendar that was moved keeps its
        /// place, too.
        only_items: bool,
    },
    /// Changes of tasks since the writer read the calendar.
    Changes {
        /// All of them, or none.
        changes: Vec<Difference>,
    },
    /// A class with its items, new or replacing the old one.
    Class(ClassWrite),
    /// The person's preferences; none for nothing.
    Preferences {
        /// All of it.
        wishes: Option<PlacementPreferences>,
    },
    /// Something to remember.
    Note(MemoryNote),
    /// Something to remind the person of.
    Remind(Reminder),
    /// Another reminder in the place of one.
    Correct {
        /// The number of the old one, from 0.
        reminder: usize,
        /// The new one.
        to: Reminder,
    },
    /// Reminders that were shown to the person, by their numbers from 0.
    Told {
        /// The reminders.
        reminders: Vec<usize>,
    },
    /// Notes and reminders that are not wanted any more, by their numbers from 0.
    Forget {
        /// The notes.
        notes: Vec<usize>,
        /// The reminders.
        reminders: Vec<usize>,
    },
    /// A write over what its writer has seen: it is carried out if that is still the same.
    Seen {
        /// The [version](StoreWrite::over) of what it replaces or removes.
        version: String,
        /// The write.
        wanted: Box<StoreWrite>,
    },
}

/// The answer to a write.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "receipt", rename_all = "snake_case")]
#[non_exhaustive]
pub enum StoreReceipt {
    /// It is stored.
    Stored,
    /// The class is stored, in this form.
    Class(Box<WrittenClass>),
    /// Nothing is stored: the calendar differs from the state that the writer expects.
    Conflict(Conflict),
    /// Nothing is stored: it breaks a rule.
    Refused {
        /// The problems, one entry each.
        issues: Vec<String>,
    },
}

/// A note of the person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryNote {
    /// The kind of note.
    pub kind: NoteKind,
    /// In words.
    pub text: String,
}

/// A reminder of the person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reminder {
    /// The time on the person's clock from which on it is due; none for the next time that the
    /// person is here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<jiff::civil::DateTime>,
    /// In words.
    pub text: String,
    /// True if it was shown since it is due.
    #[serde(default)]
    pub told: bool,
}

impl Reminder {
    /// Returns true if it has to be shown at this time.
    pub fn is_due(&self, now: Option<jiff::civil::DateTime>) -> bool {
        !self.told && self.due.is_none_or(|due| now.is_some_and(|now| due <= now))
    }
}

/// The kinds of notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// A piece of information.
    Note,
    /// A task without a time.
    Task,
}

/// The reasons for which a store failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleStoreError {
    /// The database cannot be reached, or refuses. The write may have happened; the same write
    /// under the same key finds out.
    #[error("the schedule store could not {operation}")]
    Unavailable {
        /// The operation that failed.
        operation: &'static str,
        /// The error of the database.
        source: BoxError,
    },
    /// A key belongs to one write, and was used for another.
    #[error("the key {key:?} was used for another write of the calendar {calendar:?}")]
    KeyReused {
        /// The calendar.
        calendar: String,
        /// The key.
        key: String,
    },
    /// The tables contain data that this program never wrote.
    #[error("the calendar {calendar:?} cannot be read: {what}")]
    Damaged {
        /// The calendar.
        calendar: String,
        /// The problem.
        what: String,
    },
    /// There are no tables to open.
    #[error(transparent)]
    Tables(#[from] TablesError),
}

/// Opens the store at an address, as [`Tables::open`] reads it, and creates what is missing.
pub async fn open(address: &str) -> Result<Arc<dyn ScheduleStore>, ScheduleStoreError> {
    let store = sql::SqlStore::over(Tables::open(address).await?).await;
    let operation = "be opened";
    let failed = |source| ScheduleStoreError::Unavailable { operation, source };
    Ok(Arc::new(store.map_err(failed)?))
}

/// A store, and the choice of the calendar of a conversation.
#[derive(derive_more::Debug, Clone)]
pub struct Calendars {
    #[debug(skip)]
    store: Arc<dyn ScheduleStore>,
    name: Option<Arc<str>>,
}

impl Calendars {
    /// Gives each conversation a calendar of its own, of the same name.
    pub fn of_threads(store: Arc<dyn ScheduleStore>) -> Self {
        Self { store, name: None }
    }

    /// Gives all conversations one shared calendar.
    pub fn shared(store: Arc<dyn ScheduleStore>, name: &str) -> Self {
        let name = Some(name.into());
        Self { store, name }
    }

    /// Returns the store.
    pub fn store(&self) -> &Arc<dyn ScheduleStore> {
        &self.store
    }

    /// Returns the calendar of a conversation.
    pub fn name(&self, thread: &ThreadId) -> String {
        let name = self.name.as_deref();
        name.unwrap_or_else(|| thread.as_str()).to_owned()
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
