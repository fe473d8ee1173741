//! Transparent, by requirement.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod agent;
mod common;
mod consent;
mod corpus;
mod damage;
mod people;
#[cfg(feature = "plugins")]
mod plugins;
mod reminders;
mod rows;
mod socket;
