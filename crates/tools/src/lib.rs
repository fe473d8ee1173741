#![doc = include_str!("../README.md")]

#[cfg(feature = "command")]
pub mod command;
#[cfg(feature = "file")]
pub mod file;
#[cfg(feature = "web")]
pub mod web;
