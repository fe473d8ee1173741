#![doc = include_str!("../README.md")]

mod admin;
mod chain;
mod claim;
mod copy;
mod error;
mod layout;
mod log;
mod object;
mod open;
mod options;
mod restore;
#[cfg(feature = "s3")]
mod s3;
mod ship;
mod state;
mod sweep;

pub use copy::Home;
pub use log::CommitLog;
/// The crate of the stores that [`CommitLog::open`] takes.
pub use object_store;
pub use options::CommitLogOptions;
pub use restore::{RestorePoint, RestoreReport};
pub use ship::ShippingLog;
