//! The schedule: its model, its tools, the rough build and the diagnosis. Nothing here waits,
//! asks or stores: every function reads a [`ScheduleState`] and says what should change.

mod state;

pub use state::*;
