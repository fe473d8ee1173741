//! What the clients of model servers share. Nothing here speaks HTTP.

mod key;
mod retry_after;
mod sse;

pub use key::ApiKey;
pub use retry_after::retry_after;
pub use sse::{EventTooLong, SseParser};
