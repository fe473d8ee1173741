#![doc = include_str!("../README.md")]

mod archives;
mod folder;
mod watched_store;

pub use archives::{ArchiveBehind, Archives};
pub use watched_store::WatchedStore;
