//! Tests with a real Restate server, in one binary.
mod common;
mod kernel;
mod threads;
