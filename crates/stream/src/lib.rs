#![doc = include_str!("../README.md")]

mod event;

pub use event::{Event, EventKind, Origin, ToolStatus};
