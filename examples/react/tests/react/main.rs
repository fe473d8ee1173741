//! The assistant, by requirement.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]
mod at_once;
mod cli;
mod consent;
mod corpus;
mod crashes;
mod failures;
mod kept;
mod language;
#[cfg(feature = "mcp")]
mod mcp;
mod moved;
mod people;
mod rows;
mod scenario;
