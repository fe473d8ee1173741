#![doc = include_str!("../README.md")]

mod decode;
mod encoder;
mod event;
mod hub;
mod json;
mod named;
mod openai;
mod prompt;
mod splitter;
mod vocabulary;

pub use decode::{DecodeError, decode};
pub use encoder::{Encoder, Fidelity, Frames};
pub use event::{Event, EventKind, Origin, ToolStatus};
pub use hub::{CAPACITY, Heard, Hub, Subscription};
pub use named::NamedSseEncoder;
pub use openai::OpenAiEncoder;
pub use splitter::Splitter;
pub use vocabulary::Vocabulary;
