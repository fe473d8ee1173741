//! The wiring: five graphs, one of them around the others.
mod action;
mod target;
mod understand;

pub use action::action;
#[expect(deprecated, reason = "whoever uses it is told")]
pub use target::legacy;
pub use target::target;
pub use understand::{planner, runtime, slots};
