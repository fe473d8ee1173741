#![doc = include_str!("../README.md")]

#[cfg(feature = "anthropic")]
pub mod anthropic;
#[cfg(any(feature = "anthropic", feature = "openai"))]
mod http;
#[cfg(any(feature = "anthropic", feature = "openai"))]
mod json;
#[cfg(feature = "openai")]
pub mod openai;
