#![doc = include_str!("../README.md")]

pub mod chat;
mod clock;
mod command_line;
pub mod consent;
pub mod corpus;
pub mod doc;
pub mod encoder;
mod folder;
pub mod hostile;
pub mod kernel;
pub mod language;
pub mod log;
mod model;
mod model_server;
pub mod people;
#[cfg(feature = "sqlite")]
pub mod placed;
mod program;
mod server;
pub mod session;
mod share;
pub mod sim;
mod stock_client;
mod text;

pub use clock::VirtualClock;
pub use command_line::{
    check_chinese_refusals, check_hint, check_names, check_reading, check_wrong_lines,
};
pub use folder::tempdir;
pub use model::{Scripted, ScriptedReply};
pub use model_server::{ModelAnswer, ModelServer};
pub use program::{FinishedProgram, Server, TestProgram};
pub use server::{FaultyServer, ServerFault};
pub use share::{share, share_of};
pub use stock_client::{check_patience, check_stock_client};
pub use text::{AsText, TextParts, assert_contains, assert_lacks, assert_starts_with};
