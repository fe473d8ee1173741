#![doc = include_str!("../README.md")]

pub mod chat;
mod clock;
pub mod doc;
pub mod encoder;
pub mod hostile;
pub mod kernel;
pub mod log;
mod model;
mod program;
pub mod sim;

pub use clock::VirtualClock;
pub use model::{Reply, Scripted};
pub use program::{Program, Ran};
