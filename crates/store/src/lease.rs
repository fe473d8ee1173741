use fugato_state::{Millis, Seq, ThreadId};
use serde::{Deserialize, Serialize};

/// The number of a lease: each new lease of a thread has a greater one than all before.
pub type Fence = u64;

/// A request about the leases of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseRequest {
    /// The right to write one thread, which need not exist yet.
    Acquire {
        /// The thread.
        thread: ThreadId,
        /// The owner, for messages to people.
        owner: String,
        /// The time to live, in milliseconds.
        ttl: Millis,
    },
    /// The right to write up to `n` threads of an agent that can go on now.
    Claim(Claim),
    /// More time for a lease that is still held.
    Renew {
        /// The thread.
        thread: ThreadId,
        /// The fence of the lease.
        fence: Fence,
        /// The new time to live from now, in milliseconds.
        ttl: Millis,
    },
    /// Gives a lease back; giving it back twice is no error.
    Release {
        /// The thread.
        thread: ThreadId,
        /// The fence of the lease.
        fence: Fence,
    },
    /// Leaves a signal for the owner of the thread. Needs no lease.
    Signal {
        /// The thread.
        thread: ThreadId,
        /// The signal.
        signal: Signal,
    },
}

/// A request for threads that can go on now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Claim {
    /// The beginning of the names of the agent's threads; the empty text is that of all threads.
    pub prefix: String,
    /// The largest number of leases.
    pub n: usize,
    /// The owner, for messages to people.
    pub owner: String,
    /// The time to live, in milliseconds.
    pub ttl: Millis,
    /// Threads that are not granted: those that the owner runs already, whose leases may be over
    /// because the machine slept or the store was slow.
    pub except: Vec<ThreadId>,
}

impl Claim {
    /// Returns true if a thread of this name may be granted.
    pub fn wants(&self, thread: &ThreadId) -> bool {
        thread.as_str().starts_with(&self.prefix) && !self.except.contains(thread)
    }
}

/// The response to a lease request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseOutcome {
    /// These leases: one for `Acquire`, up to `n` for `Claim`.
    Granted(Vec<Lease>),
    /// The lease was renewed, and these signals arrived.
    Renewed {
        /// The time at which it ends, in milliseconds of the store's clock.
        until: Millis,
        /// Signals that arrived since the last append or renewal.
        signals: Vec<Signal>,
    },
    /// The lease was given back, or the signal was left.
    Done,
}

/// A lease: the right to write one thread for a limited time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The thread.
    pub thread: ThreadId,
    /// The fence: commits under an older fence fail.
    pub fence: Fence,
    /// The last position of the thread; 0 if it does not exist yet.
    pub head: Seq,
    /// The time at which the lease ends, in milliseconds of the store's clock.
    pub until: Millis,
    /// The clock of the store, in milliseconds since the Unix epoch.
    pub now: Millis,
}

/// A message to the owner of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Signal {
    /// Stop the run.
    Cancel {
        /// The caller that asks.
        by: String,
        /// The reason.
        why: String,
    },
}
