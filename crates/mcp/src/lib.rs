#![doc = include_str!("../README.md")]

mod call;
mod child;
mod connect;
mod content;
mod error;
mod handler;
mod hints;
mod link;
mod listing;
mod name;
mod options;
#[cfg(feature = "plugin")]
pub mod plugin;
mod program;
mod question;
mod serve;
mod server;
mod tool;
#[cfg(feature = "http")]
mod url;

pub use error::McpError;
pub use hints::{Hints, confirm_destructive};
pub use listing::{McpTools, RefusedTool};
pub use options::{Era, McpOptions, Progress};
pub use program::ServerProgram;
pub use question::{ServerAnswer, ServerQuestion};
#[cfg(feature = "http-server")]
pub use serve::{HttpServing, ToolHttpService};
pub use serve::{ServeError, Stateless, ToolHost, ToolServer, View};
pub use server::McpServer;
pub use tool::McpTool;
#[cfg(feature = "http")]
pub use url::HttpOptions;

/// The name under which the key that marks repeats of a call travels in its `_meta`.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";
