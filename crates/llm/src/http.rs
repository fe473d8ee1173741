//! The parts that all clients of model servers share, independent of an HTTP library.

mod answer;
mod endpoint;
mod key;
mod retry_after;
mod sse;

pub use answer::{AnswerDecoder, read_answer};
pub use endpoint::endpoint;
pub use key::ApiKey;
pub use retry_after::retry_after;
pub use sse::{EventTooLong, SseParser};
