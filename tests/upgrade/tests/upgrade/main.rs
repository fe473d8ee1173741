//! Data of programs of an earlier commit opens, reads the same, and goes on.
//!
//! `data/` holds their folders, made by `make`, and beside each what its program said of it. A
//! folder is never changed: every test works with a copy.
#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]
#![expect(
    clippy::indexing_slicing,
    reason = "a field that is not there is none, and is told by what is compared"
)]

mod fixture;
mod holds;
mod library;
mod planner;
mod react;
mod scheduler;
mod served;
mod servers;
mod steward;
mod transparent;
