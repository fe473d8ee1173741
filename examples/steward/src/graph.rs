//! The wiring: five graphs, one of them around the others.
mod action;
mod target;
mod understand;

pub use action::action;
pub use target::target;
pub use understand::{planner, runtime, slots};
