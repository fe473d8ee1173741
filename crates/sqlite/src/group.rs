//! Group commit by a leader, without a thread of its own.
//!
//! Whoever comes first is the leader and carries out what is queued, its own job first; whoever
//! comes meanwhile queues. A leader serves one group and then hands over to the first in the queue,
//! so that nobody works for others for ever. There is exactly one leader while anything is queued:
//! a future that is dropped leaves the queue, and hands the lead over if it was its turn.
//!
//! Those whom a leader has just served mostly come again at once. A new leader therefore lets them
//! queue for as long as more come, up to the size of the last group: otherwise it would wait for
//! the disk alone, and they for it. Whoever is alone never waits.
mod queue;
#[cfg(test)]
mod shuffled;
#[cfg(test)]
mod tests;

pub(crate) use queue::{Group, Lead, Turn};

mod sync {
    pub(super) use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
}
