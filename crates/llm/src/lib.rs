#![doc = include_str!("../README.md")]

mod attempt;
mod delta;
mod error;
mod fallback;
mod model;
mod profile;
mod request;
mod response;
mod retry;
mod timeout;

pub use attempt::{Attempt, AttemptFailure};
pub use delta::{ChatDelta, FinishReason, ToolCallDelta, Usage};
pub use error::{ModelError, ModelErrorKind, RetryAdvice};
pub use fallback::Fallback;
pub use model::{ChatModel, ChatModelExt, DeltaStream};
pub use profile::Profile;
pub use request::{ChatRequest, ResponseFormat, Sampling, Thinking, ToolChoice, ToolSpec};
pub use response::{ChatResponse, ResponseFold};
pub use retry::Retry;
pub use timeout::Timeout;
