//! The agent over a log in memory: turns, corrections, memory, archives, jobs, crashes.
#[path = "../common/mod.rs"]
mod common;

mod archive;
mod crashes;
mod due;
mod jobs;
mod memory;
mod repair;
mod turn;
