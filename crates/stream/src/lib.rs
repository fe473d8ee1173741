#![doc = include_str!("../README.md")]

mod event;
mod hub;

pub use hub::{CAPACITY, Heard, Hub, Subscription};
pub use event::{Event, EventKind, Origin, ToolStatus};
