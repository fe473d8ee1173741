//! A graph that does a bit of everything, over whose threads of an earlier commit tests go on.
//!
//! The first line of a thread says which of its paths a run takes. `examples/write.rs` wrote the
//! threads of `data/library`; no path may change, or they could not go on.
mod page;
mod paths;
mod seen;

pub use page::{OldPage, Page, say};
pub use paths::{World, graph, old_graph};
pub use seen::{ThreadReading, seen};

/// The store's clock when the threads were written, in milliseconds since the Unix epoch. Tests
/// read them by a clock of their own, so it does not matter when they run.
pub const THEN: i64 = 2_000_000_000_000;

/// When they are read: later than every lease, wait and intent ends.
pub const LATER: i64 = THEN + 2 * 24 * 3600 * 1000;
