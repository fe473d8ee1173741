#![doc = include_str!("../README.md")]

mod clock;
mod clockwork;
mod job;
mod jobs;
mod schedule;
mod tool;

pub use clock::JobClock;
pub use clockwork::JobRunner;
pub use job::{CatchUp, Job, JobSpec};
pub use jobs::{JobError, Jobs};
pub use schedule::{BadSchedule, CronSchedule};
pub use tool::{CREATE, CancelArgs, CreateArgs, JobTools, Maker};
