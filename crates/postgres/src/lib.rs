#![doc = include_str!("../README.md")]

mod append;
mod clock;
mod connection;
mod connector;
mod database;
mod docs;
mod error;
mod lease;
mod log;
mod options;
mod row;
mod schema;
mod sql;
mod tables;
mod threads;
#[cfg(feature = "tls")]
mod tls;
mod wake;

pub use docs::PostgresDocs;
pub use log::PostgresLog;
pub use options::{PostgresOptions, Synchronous};
pub use tables::PostgresTables;
pub use wake::WakeReason;
