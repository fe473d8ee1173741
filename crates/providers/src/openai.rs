#![doc = include_str!("openai/README.md")]

mod client;
mod embed;
mod failure;
mod wire;

pub use client::{OpenAi, ThinkingField};
pub use embed::OpenAiEmbedder;
pub use fugato_llm::ApiKey;
pub use wire::ChunkDecoder;
