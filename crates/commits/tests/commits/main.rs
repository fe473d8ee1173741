//! Tests of the log of objects, in one binary.
mod breaking;
mod common;
mod conformance;
mod crashes;
mod exact;
mod hostile;
mod kernel;
mod mortal;
mod moved;
mod restore;
mod s3;
mod ship;
mod suspended;
