//! The nodes of the whole graph.
mod guard;
mod prepare;
mod respond;
mod review;
pub(crate) mod settle;

pub(crate) use guard::{Guard, cautious, flow};
pub(crate) use prepare::Prepare;
pub(crate) use respond::Respond;
pub use review::{CardReply, ReplyAction};
pub(crate) use review::{answered, question};
pub(crate) use settle::persist;
