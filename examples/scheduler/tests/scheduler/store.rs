//! Calendars in databases: the same scenarios for each kind, and whole conversations over them.
mod conversations;
pub(crate) mod crashes;
#[cfg(feature = "mysql")]
mod mariadb;
pub(crate) mod scenarios;
mod sqlite;
