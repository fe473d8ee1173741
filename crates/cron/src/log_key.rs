//! What the log lines of this crate are found by. `docs/log-keys.md` lists them.

/// A job ran and failed.
pub(crate) const A_JOB_FAILED: &str = "a job failed";
/// A job came too late to be done.
pub(crate) const A_JOB_IS_LEFT_OUT: &str = "a job is left out";
/// A job could not be done yet; it is tried again.
pub(crate) const A_JOB_WAITS: &str = "a job waits";
/// A job waited for a time that the clock had shown before; now it waits for the next.
pub(crate) const THE_CLOCK_WAS_SET_BACK: &str = "the clock was set back";
/// The jobs could not be read or written; it is tried again.
pub(crate) const JOBS_CANNOT_BE_READ: &str = "jobs cannot be read";
