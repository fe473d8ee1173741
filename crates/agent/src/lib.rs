#![doc = include_str!("../README.md")]

mod answer;
pub mod candidates;

pub use answer::{Awaiting, Meaning, Phrases, ShortAnswer};
