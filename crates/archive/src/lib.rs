#![doc = include_str!("../README.md")]

mod archives;
mod folder;
mod watching;

pub use archives::{ArchiveBehind, Archives};
pub use watching::WatchedStore;
