//! Calendars in databases: the same scenarios for each kind, and whole conversations over them.
mod conversations;
mod crashes;
#[cfg(feature = "mysql")]
mod mariadb;
mod scenarios;
mod sqlite;
