//! Defects of other agent engines, each as a test that shows that it cannot happen here.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod answers;
mod bench;
mod cost;
mod effects;
mod routes;
mod state;
mod stored;
mod threads;
