//! Checks of the repository itself: layers, examples that run, tests of requirements and promises,
//! and pages that name files. Each checker takes its input as values, so that it can be shown to
//! fail; `tests/tidy.rs` gives it the repository.

pub mod doctest;
pub mod guarantee;
#[cfg(doctest)]
mod guide;
pub mod layer;
pub mod markdown;
pub mod path;
pub mod requirement;
pub mod said;
pub mod source;
pub mod tree;

/// The examples of the repository's README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
#[derive(Debug)]
pub struct Readme;
