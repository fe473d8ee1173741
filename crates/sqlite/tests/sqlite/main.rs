//! Tests of the stores in files, in one binary.
mod conformance;
mod crashes;
mod docs;
mod full_disk;
mod kernel;
mod migration;
mod moved;
mod opening;
mod processes;
mod search;
mod torn;
mod wal;
