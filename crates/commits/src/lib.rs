#![doc = include_str!("../README.md")]

mod admin;
mod chain;
mod claim;
mod error;
mod layout;
mod log;
mod object;
mod open;
mod options;
#[cfg(feature = "s3")]
mod s3;
mod state;
mod sweep;

pub use log::CommitLog;
/// The crate of the stores that [`CommitLog::open`] takes.
pub use object_store;
pub use options::CommitLogOptions;
