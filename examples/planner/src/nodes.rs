//! The nodes around the planned work: each has one duty.
mod gate;
mod keep;
mod settle;
mod understand;

pub(crate) use gate::Gate;
pub(crate) use keep::{Recall, Save};
pub(crate) use settle::{Rescue, Settle};
pub(crate) use understand::Understand;
