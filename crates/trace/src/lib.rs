#![doc = include_str!("../README.md")]

mod fold;
mod run;

pub use run::{AttemptStatus, AttemptTrace, RunStatus, RunTrace, TaskTrace};
