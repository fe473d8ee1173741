//! Tests of the log on MariaDB, in one binary.
mod breaking;
mod common;
mod conformance;
mod durability;
mod exact;
mod kernel;
mod moved;
mod refusing;
