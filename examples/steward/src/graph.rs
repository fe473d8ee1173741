//! The wiring: five graphs, one of them around the others.
mod action;
mod planner;
mod runtime;
mod slots;
mod target;

pub use action::action;
pub use planner::planner;
pub use runtime::runtime;
pub use slots::slots;
#[expect(deprecated, reason = "whoever uses it is told")]
pub use target::legacy;
pub use target::target;
