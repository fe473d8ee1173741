#![doc = include_str!("anthropic/README.md")]

mod client;
mod failure;
mod wire;

pub use client::{Anthropic, ThinkingMode};
pub use fugato_llm::ApiKey;
pub use wire::EventDecoder;
