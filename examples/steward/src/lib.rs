#![doc = include_str!("../README.md")]

pub mod action;
mod bounds;
pub mod check;
pub mod deps;
pub mod form;
pub mod graph;
pub mod http;
pub mod ledger;
mod legacy;
mod nodes;
pub mod read;
mod reply;
pub mod response;
pub mod served;
pub mod service;
pub mod state;
pub mod steward_service;

pub use action::tool_words;
pub use legacy::Sequence;
pub use nodes::{CardReply, ReplyAction};
