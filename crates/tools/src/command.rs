#![doc = include_str!("command/README.md")]

mod notify;
mod process;

pub use notify::{NOTIFY, Notify, NotifyArgs};
pub use process::Command;
