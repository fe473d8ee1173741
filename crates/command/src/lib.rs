#![doc = include_str!("../README.md")]

mod command;
mod notify;

pub use command::Command;
pub use notify::{NOTIFY, Notify, NotifyArgs};
