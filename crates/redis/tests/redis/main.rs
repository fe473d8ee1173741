//! Tests of the log on Redis, in one binary.
mod breaking;
mod common;
mod conformance;
mod durability;
mod exact;
mod keeping;
mod kernel;
mod moved;
mod refusing;
