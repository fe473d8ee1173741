#![doc = include_str!("../README.md")]

mod command;

pub use command::Command;
