#![doc = include_str!("../README.md")]

mod chinese;
mod clock;
mod job;
mod jobs;
mod runner;
mod schedule;
mod tool;

pub use clock::JobClock;
pub use jiff::tz::TimeZone;
pub use job::{CatchUp, Job, JobSpec};
pub use jobs::{JobError, Jobs};
pub use runner::JobRunner;
pub use schedule::{BadSchedule, CronSchedule};
pub use tool::{CANCEL, CREATE, CancelArgs, CreateArgs, JobTools, LIST, Maker};
