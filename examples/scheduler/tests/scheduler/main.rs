//! The scheduler, by requirement.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]
mod agent;
#[cfg(feature = "caldav")]
mod caldav;
mod cli;
mod common;
mod confirm_loop;
mod consent;
mod corpus;
mod endpoints;
#[cfg(feature = "evening")]
mod evening;
mod full_sequence;
mod long;
mod orchestration;
mod people;
mod placed;
#[cfg(feature = "evening")]
mod repairs;
mod requests;
mod served;
mod small_models;
mod store;
#[cfg(feature = "evening")]
mod undo;
