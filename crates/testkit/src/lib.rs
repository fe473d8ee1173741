#![doc = include_str!("../README.md")]

pub mod doc;
pub mod encoder;
pub mod hostile;
pub mod kernel;
pub mod log;
mod model;

pub use model::{Reply, Scripted};
