//! The nodes around the planned work: each has one duty.
mod settle;
mod understand;

pub(crate) use settle::FinishNode;
pub(crate) use understand::Understand;
