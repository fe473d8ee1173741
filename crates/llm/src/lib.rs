#![doc = include_str!("../README.md")]

mod action;
mod ask;
mod attempt;
mod breaker;
mod cassette;
mod context;
mod contract;
mod delta;
mod error;
mod extract;
mod fallback;
mod figure;
mod http;
mod model;
mod models;
mod profile;
mod rate;
mod request;
mod response;
mod retry;
mod size;
mod spend;
mod style;
mod tag;
mod timeout;
mod traced;

pub use action::{Abort, ActionDecision, ActionKind, ProposedCall};
pub use ask::{
    Answer, Ask, AskError, AskRecord, CallOutcome, CallTrace, DecisionSource, Settlement,
};
pub use attempt::{Attempt, AttemptFailure};
pub use breaker::{CircuitBreaker, CircuitState};
pub use cassette::{CassetteError, Recorder, Replay, Secrets};
pub use context::ContextWindow;
pub use contract::{Contract, Objections, RejectedAnswer, RejectedClass};
pub use delta::{ChatDelta, FinishReason, ToolCallDelta, Usage};
pub use error::{ModelError, ModelErrorKind, RetryAdvice};
pub use extract::{
    ExtractedJson, JsonRepair, NoObject, ObjectDelta, ObjectPiece, ObjectReader, extract,
    read_object,
};
pub use fallback::Fallback;
pub use fugato_state::ToolSchema;
pub use http::{
    AnswerDecoder, ApiKey, EventTooLong, SseParser, endpoint, read_answer, retry_after,
};
pub use model::{ChatModel, ChatModelExt, DeltaStream};
pub use models::Models;
pub use profile::Profile;
pub use rate::{Quota, RateLimit};
pub use request::{ChatRequest, ResponseFormat, Sampling, Thinking, ToolChoice};
pub use response::{ChatResponse, ResponseFold};
pub use retry::Retry;
pub use size::SizeLimit;
pub use spend::{Allowance, SpendLimit, SpendScope};
pub use style::{Decision, DecisionStyle};
pub use tag::{
    Tag, TagEnd, TagFound, TagPiece, TagSplitter, TaggedAnswer, TaggedDelta, split_tag,
    visible_text,
};
pub use timeout::Timeout;
pub use traced::TracedModel;
