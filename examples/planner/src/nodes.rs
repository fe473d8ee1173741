//! The nodes around the planned work: each has one duty.
mod settle;
mod understand;

pub(crate) use settle::Settle;
pub(crate) use understand::Understand;
