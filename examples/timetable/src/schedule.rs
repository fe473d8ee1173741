#![doc = include_str!("../../../docs/scheduling.md")]
//!
//! Nothing here waits, asks or stores: every function reads a [`ScheduleState`] and returns the
//! changes to make.
mod board;
mod change;
mod class;
mod diff;
mod explain;
mod fewest_moves;
#[cfg(test)]
pub(crate) mod fixture;
pub mod health;
mod local_search;
mod lookup;
mod objective;
pub mod order;
mod patch;
mod quality;
mod queue;
mod refine;
mod refusal;
mod relocate;
mod repair;
pub mod rough_build;
mod rules;
pub mod scope;
mod sections;
mod state;
mod terms;
mod text;
pub mod told;
pub mod tools;

pub use board::Board;
pub use change::Change;
pub use class::{ClassItem, ClassWrite, WrittenClass};
pub use diff::{Coordinate, Difference, Location, PlaceChange, differences, locate};
pub use explain::{Obstacle, ObstacleReason, OtherPlace, PlaceReason, explain};
pub use fewest_moves::fewest_moves;
pub use local_search::local_search;
pub use lookup::Point;
pub use objective::{CostlyTime, Discomfort, ObjectiveTerm, PlacementPreferences};
pub use patch::SchedulePatch;
pub use quality::Quality;
pub use queue::{Queue, QueueUpdate};
pub use refine::{OptimisationReport, RefineEnd, refine};
pub use refusal::{BrokenRule, WriteRefusal};
pub use relocate::WriteOptions;
pub use repair::{LaterEnd, Repair, RepairKind, RepairMove, repairs};
pub use sections::{Sections, SectionsError};
pub(crate) use sections::{clock, range, ranges};
pub use state::*;
pub use terms::{ClosedTime, FixedTime, Terms};
