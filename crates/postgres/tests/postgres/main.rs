//! Tests of the stores on PostgreSQL, in one binary.
mod conformance;
mod docs;
mod fixture;
mod kernel;
mod moved;
mod opening;
mod schemas;
mod server;
mod woken;
