#![doc = include_str!("../README.md")]

mod budget;
mod compaction;
mod conversation;
mod effect;
mod id;
mod interrupt;
mod json_type;
mod lang;
mod message;
mod plan;
mod run_context;
mod schema;
mod setters;
mod state;
mod time;
mod tokens;

pub use budget::{Budget, BudgetExhausted};
pub use compaction::{Compaction, CompactionUpdate, Segment};
pub use conversation::{Conversation, ConversationUpdate, PinnedBlock};
pub use effect::EffectClass;
pub use id::{InterruptId, InvalidThreadId, Millis, RunId, Seq, ThreadId};
pub use interrupt::{Interrupt, Question};
pub use json_type::JsonType;
pub use lang::{Lang, UnknownLang};
pub use message::{Message, Role, ToolCall, ToolSchema, ToolStatus};
pub use plan::{Plan, PlanStep};
pub use run_context::RunContext;
pub use schema::{Schema, SchemaError, Violation};
pub use state::{MigrateError, State};
pub use time::iso_8601;
pub use tokens::{EstimatedTokens, TokenCount};
