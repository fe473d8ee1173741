//! Whether what is promised holds on real processes and real servers that die.
//!
//! A child process runs threads; what its nodes do to the world is a line in an evidence file that
//! no store knows of. The parent kills it, starts it again, and at the end compares the evidence,
//! the log and the state.
//!
//! The tests of this crate do so for as long as a check of a change may take. The program does it
//! for as long as one likes, and says how it goes:
//!
//! ```sh
//! cargo run --release -p reliability -- kill --store postgres --kills 500 --seed 7
//! cargo run --release -p reliability -- --help
//! ```

pub mod chain;
pub mod child;
pub mod crowd;
pub mod driven;
pub mod evidence;
pub mod job;
pub mod judge;
pub mod kill;
pub mod load;
pub mod long;
pub mod parked;
pub mod placed;
pub mod scale;
pub mod serve;
pub mod share;
pub mod store;
pub mod visitor;

/// What a trial may fail with.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What a trial comes to.
pub type TrialResult<T> = Result<T, BoxError>;
