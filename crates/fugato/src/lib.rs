#![doc = include_str!("../README.md")]

mod report;

pub use fugato_agent as agent;
#[cfg(feature = "archive")]
pub use fugato_archive as archive;
#[cfg(feature = "axum")]
pub use fugato_axum as axum;
#[cfg(feature = "cli")]
pub use fugato_cli as cli;
#[cfg(feature = "commits")]
pub use fugato_commits as commits;
#[cfg(feature = "cron")]
pub use fugato_cron as cron;
pub use fugato_graph as graph;
pub use fugato_llm as llm;
#[cfg(feature = "mcp")]
pub use fugato_mcp as mcp;
pub use fugato_memory as memory;
#[cfg(feature = "mysql")]
pub use fugato_mysql as mysql;
#[cfg(feature = "postgres")]
pub use fugato_postgres as postgres;
pub use fugato_prompt as prompt;
#[cfg(feature = "anthropic")]
pub use fugato_providers::anthropic;
#[cfg(feature = "openai")]
pub use fugato_providers::openai;
#[cfg(feature = "redis")]
pub use fugato_redis as redis;
#[cfg(feature = "restate")]
pub use fugato_restate as restate;
#[cfg(feature = "sqlite")]
pub use fugato_sqlite as sqlite;
pub use fugato_state as state;
pub use fugato_store as store;
pub use fugato_stream as stream;
#[cfg(feature = "words")]
pub use fugato_text as words;
#[cfg(feature = "form")]
pub use fugato_text::forms as form;
pub use fugato_tool as tool;
#[cfg(feature = "command")]
pub use fugato_tools::command;
#[cfg(feature = "file")]
pub use fugato_tools::file;
#[cfg(feature = "web")]
pub use fugato_tools::web;
pub use fugato_trace as trace;

// What the signatures of traits name, so that a program needs no dependency of its own for it.
pub use async_trait::async_trait;
pub use futures;
pub use schemars;
pub use serde_json;

pub use report::Report;

// What nearly every agent names. The rest is one segment away, in the module of its crate, where
// two crates may use the same word.
pub use fugato_agent::{Agent, agent};
#[cfg(feature = "commits")]
pub use fugato_commits::CommitLog;
pub use fugato_graph::{
    Answers, BoxError, Context, Durability, END, Effect, Graph, Node, NodePolicy, Outcome,
    RunError, RunResult, Runner, RunnerOptions, Worker,
};
pub use fugato_llm::{Ask, ChatModel, ChatModelExt, ChatRequest, Contract, Models};
#[cfg(feature = "mcp")]
pub use fugato_mcp::{McpOptions, McpServer, ToolServer};
#[cfg(feature = "mysql")]
pub use fugato_mysql::MySqlLog;
#[cfg(feature = "postgres")]
pub use fugato_postgres::PostgresLog;
pub use fugato_prompt::{PromptBuilder, Stage};
#[cfg(feature = "anthropic")]
pub use fugato_providers::anthropic::Anthropic;
#[cfg(feature = "openai")]
pub use fugato_providers::openai::OpenAi;
#[cfg(feature = "redis")]
pub use fugato_redis::RedisLog;
#[cfg(feature = "sqlite")]
pub use fugato_sqlite::SqliteLog;
pub use fugato_state::{
    Conversation, ConversationUpdate, EffectClass, Interrupt, Message, Question, RunContext, State,
    ThreadId, ToolCall,
};
pub use fugato_store::{MemoryLog, StoreError, ThreadLog};
pub use fugato_stream::{Encoder, Event, EventKind, Frames};
pub use fugato_tool::{
    NoArguments, Registry, Tool, ToolCaller, ToolContext, ToolFailure, ToolOutput, ToolSpec,
    Visibility,
};
