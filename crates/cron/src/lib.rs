#![doc = include_str!("../README.md")]

mod clock;
mod clockwork;
mod job;
mod jobs;
mod schedule;
mod tool;

pub use clock::Clock;
pub use clockwork::Clockwork;
pub use job::{CatchUp, Job, Wish};
pub use jobs::{Jobs, NoJob};
pub use schedule::{BadSchedule, Schedule};
pub use tool::{CREATE, CancelArgs, CreateArgs, JobTools, Maker};
