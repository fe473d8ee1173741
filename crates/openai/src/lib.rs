#![doc = include_str!("../README.md")]

mod answer;
mod client;
mod failure;
mod key;
mod retry_after;
mod sse;
mod wire;

pub use client::{OpenAi, ThinkingField};
pub use key::ApiKey;
pub use sse::{EventTooLong, SseParser};
pub use wire::{ChunkDecoder, MalformedChunk};
