#![doc = include_str!("../README.md")]

pub mod agent;
pub mod calculator;
mod rules;
mod settings;
pub mod tools;
mod wishes;

pub use agent::ReactAgent;
pub use settings::{BuiltIn, Settings};
