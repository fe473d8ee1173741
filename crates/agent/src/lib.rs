#![doc = include_str!("../README.md")]

pub mod candidates;
pub mod decision;
mod embed;
pub mod fallback;
pub mod memory;
pub mod phases;
pub mod plan;
pub mod react;
pub mod reply;
pub mod sequence;
mod text;
pub mod toolbox;
pub mod trace;

pub use embed::Embeds;
pub use plan::PlannedWork;
pub use react::{Agent, Assistant, React, ReactLoop, ReactReply, ReactUpdate, ReplyError, agent};
pub use toolbox::Toolbox;
