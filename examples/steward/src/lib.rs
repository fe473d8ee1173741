#![doc = include_str!("../README.md")]

pub mod action;
mod answer;
mod bounds;
mod card;
pub mod check;
pub mod deps;
pub mod files;
pub mod form;
pub mod graph;
pub mod http;
mod intake;
pub mod ledger;
pub mod legacy;
pub mod local;
mod phase;
pub mod read;
mod recall;
mod refusal;
mod reply;
pub mod response;
mod saved;
pub mod served;
pub mod service;
mod settle;
pub mod state;
pub mod steward_service;
mod verdict;

pub use action::tool_words;
pub use card::{CardReply, ReplyAction};
pub use legacy::Sequence;
