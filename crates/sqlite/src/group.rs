//! Group commit by a leader, without a dedicated thread.
//!
//! The first caller becomes the leader and carries out the queued jobs, its own first; callers that
//! come meanwhile queue. A leader serves one group and then hands over to the first in the queue,
//! so that no caller works for others for ever. There is exactly one leader while anything is
//! queued: a future that is dropped leaves the queue, and hands the lead over if it was its turn.
//!
//! Callers that were just served mostly come again at once. A new leader therefore lets them queue
//! for as long as more come, up to the size of the last group. Otherwise it would wait for the disk
//! alone, and they after it. A caller that is alone never waits.
#[cfg(test)]
mod interleavings;
mod queue;
#[cfg(test)]
mod tests;

pub(crate) use queue::{Group, GroupTurn, LeaderGuard};

mod sync {
    pub(super) use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
}
