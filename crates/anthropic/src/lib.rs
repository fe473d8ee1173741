#![doc = include_str!("../README.md")]

mod answer;
mod client;
mod failure;
mod wire;

pub use client::{Anthropic, ThinkingMode};
pub use fugato_llm::ApiKey;
pub use wire::{EventDecoder, MalformedEvent};
