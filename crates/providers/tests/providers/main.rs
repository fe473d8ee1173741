//! Tests of the clients against HTTP servers on loopback, in one binary.
#![cfg(any(feature = "anthropic", feature = "openai"))]

#[cfg(feature = "anthropic")]
mod anthropic;
mod client;
#[cfg(feature = "openai")]
mod openai;
mod server;
