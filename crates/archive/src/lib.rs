#![doc = include_str!("../README.md")]

mod archives;
mod folder;

pub use archives::{ArchiveBehind, Archives, WatchedStore};
