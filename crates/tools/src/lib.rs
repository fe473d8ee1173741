#![doc = include_str!("../README.md")]

#[cfg(feature = "command")]
pub mod command;
#[cfg(feature = "file")]
pub mod file;
#[cfg(any(feature = "document", feature = "web-http"))]
mod html;
#[cfg(feature = "web")]
pub mod web;
