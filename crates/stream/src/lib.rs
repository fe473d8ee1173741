#![doc = include_str!("../README.md")]

mod ag_ui;
mod ai_sdk;
mod asked;
mod blocks;
mod calls;
mod decode;
mod encoder;
mod envelope;
mod event;
mod hub;
mod json;
mod named;
mod openai;
mod plan;
mod prompt;
mod resume;
mod splitter;
mod sse;
mod text;
mod time;
mod vocabulary;

pub use ag_ui::AgUiEncoder;
pub use ai_sdk::AiSdkEncoder;
pub use decode::{DecodeError, DecodeErrorKind, Decoder, decode};
pub use encoder::{Encoder, Fidelity, Frames};
pub use envelope::EnvelopeEncoder;
pub use event::{Event, EventKind, Origin};
pub use fugato_state::ToolStatus;
pub use hub::{CAPACITY, Heard, Hub, Subscription};
pub use named::NamedSseEncoder;
pub use openai::OpenAiEncoder;
pub use resume::{Answered, Reply, Resume, ResumeError};
pub use splitter::Splitter;
pub use text::Text;
pub use vocabulary::Vocabulary;
