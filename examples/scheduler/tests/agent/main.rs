//! What the agent must do, topic by topic.
#[path = "../common/mod.rs"]
mod common;

mod classification;
mod decisions;
mod limits;
mod planning;
mod prompts;
mod recovery;
mod state;
mod wiring;
