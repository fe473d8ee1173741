//! What must hold of the repository itself: who may depend on whom, how long a file may be, what a
//! README promises. Each checker takes what it checks as values, so that it can be shown to fail;
//! `tests/tidy.rs` gives it the repository.

pub mod doctest;
pub mod guarantee;
#[cfg(doctest)]
mod guide;
pub mod layer;
pub mod log_key;
pub mod markdown;
pub mod requirement;
pub mod source;
pub mod tree;
pub mod word;

/// The examples of the repository's README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
#[derive(Debug)]
pub struct Readme;
