#![doc = include_str!("../README.md")]

mod answer;
mod client;
mod embed;
mod failure;
mod wire;

pub use client::{OpenAi, ThinkingField};
pub use embed::OpenAiEmbedder;
pub use fugato_llm::{ApiKey, EventTooLong, SseParser};
pub use wire::{ChunkDecoder, MalformedChunk};
