//! Transparent, by requirement.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]
mod agent;
mod common;
mod consent;
mod damage;
#[cfg(feature = "plugins")]
mod plugins;
mod socket;
mod stock_client;
