//! The assistant, by requirement.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]
mod cli;
mod consent;
mod crashes;
mod failures;
mod mcp;
mod scenario;
