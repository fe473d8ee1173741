//! Calendars in databases: the same scenarios for each kind, and whole conversations over them.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a helper that fails fails its test"
)]
#[path = "../common/mod.rs"]
mod common;
mod conversations;
mod crashes;
mod mariadb;
mod scenarios;
mod sqlite;
