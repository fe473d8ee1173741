//! The steward, by requirement.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]
mod actions;
mod common;
mod consent;
mod corpus;
mod crashes;
mod failures;
mod forms;
mod http;
mod legacy;
mod long;
mod models;
mod people;
mod placed;
mod plans;
mod property;
mod served;
mod tables;
mod withdrawn;
mod words;
