//! Calendars in databases: the same scenarios for each kind, and whole conversations over them.
mod conversations;
pub(crate) mod crashes;
pub(crate) mod scenarios;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod servers;
mod sqlite;
