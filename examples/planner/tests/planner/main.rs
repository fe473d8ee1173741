//! The planner, by requirement.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]
mod by_rules;
mod common;
mod consent;
mod corpus;
mod crashes;
mod exchange;
mod hostile;
mod incarnations;
mod known;
mod language;
mod people;
mod planned;
mod program;
mod rows;
mod served;
mod sessions;
mod stale;
mod terminal;
