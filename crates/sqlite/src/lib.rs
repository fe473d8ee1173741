#![doc = include_str!("../README.md")]

mod blocking;
mod checksum;
mod clock;
mod copy;
mod docs;
mod error;
mod file;
mod group;
mod log;
mod open;
mod options;
mod readers;
mod request;
mod row;
mod schema;
mod search;
mod tables;
mod wal;
mod writer;

pub use copy::copy_database;
pub use docs::SqliteDocs;
pub use error::is_full;
pub use log::SqliteLog;
pub use options::{SqliteOptions, Synchronous};
pub use rusqlite;
pub use search::SqliteSearch;
pub use tables::SqliteTables;
