//! What the log lines of this crate are found by. `docs/log-keys.md` lists them.

/// A job ran and failed.
pub(crate) const A_JOB_FAILED: &str = "a job failed";
/// A job could not be done yet; it is tried again.
pub(crate) const A_JOB_WAITS: &str = "a job waits";
/// A plugin does not run, and why.
pub(crate) const A_PLUGIN_DOES_NOT_RUN: &str = "a plugin does not run";
/// What happened could not be written to an archive yet.
pub(crate) const AN_ARCHIVE_IS_BEHIND: &str = "an archive is behind";
/// The jobs could not be read; it is tried again.
pub(crate) const JOBS_CANNOT_BE_READ: &str = "jobs cannot be read";
/// The index of the memory could not be used, and the notes were searched without it.
pub(crate) const SEARCHED_WITHOUT_THE_INDEX: &str = "searched without the index";
