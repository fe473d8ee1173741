//! The steward, by requirement.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]
mod actions;
mod common;
mod crashes;
mod http;
mod legacy;
mod models;
mod plans;
mod property;
mod tables;
mod words;
