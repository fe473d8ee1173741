//! Tests of what is read in texts, in one binary.

mod answers;
#[cfg(feature = "forms")]
mod forms;
mod long;
mod property;
mod schedule;
