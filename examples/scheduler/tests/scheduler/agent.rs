//! The requirements of the agent, topic by topic.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a helper that fails fails its test"
)]
#[path = "../common/mod.rs"]
mod common;

mod anything;
mod classification;
mod compaction;
mod crashes;
mod decisions;
mod drafts;
mod hands;
mod hostile;
mod limits;
mod planning;
mod prompts;
mod recovery;
mod state;
mod statuses;
mod wiring;
