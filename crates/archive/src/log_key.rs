//! What the log lines of this crate are found by. `docs/log-keys.md` lists them.

/// What happened could not be written to an archive yet.
pub(crate) const AN_ARCHIVE_IS_BEHIND: &str = "an archive is behind";
