//! Logs that break one promise each, to show that the suite sees it.
mod log;
mod store;

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use fugato_state::ThreadId;
use fugato_store::{Lease, MemoryLog, Signal, Snapshot};

use super::{Abilities, LogFactory, OpenError, OpenedLog, TestClock};

macro_rules! flaws {
    ($($(#[doc = $doc:literal])+ $flaw:ident => $scenario:ident,)+) => {
        /// The flaw of a [`BrokenLog`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Flaw {
            $($(#[doc = $doc])+ $flaw,)+
        }

        impl Flaw {
            /// All flaws.
            pub const ALL: &[Self] = &[$(Self::$flaw),+];

            /// Returns the name of the scenario that must reject it.
            pub fn rejected_by(self) -> &'static str {
                match self {
                    $(Self::$flaw => stringify!($scenario),)+
                }
            }
        }
    };
}

flaws! {
    /// The last record of a commit of several is lost.
    LosesRecord => atomic,
    /// The head that a writer expects is not compared.
    IgnoresHead => compare_and_set,
    /// The fence that a writer expects is not compared.
    IgnoresFence => compare_and_set,
    /// It compares, and writes a moment later.
    ComparesTooEarly => racing_writers_one_wins,
    /// A repeated commit is a conflict.
    ForgetsNonce => idempotent,
    /// A repeated commit is written again.
    AppendsTwice => idempotent,
    /// The answer to a repeated commit lacks the signals of the first.
    ForgetsDelivery => idempotent,
    /// Positions leave one out.
    LeavesGap => gap_free,
    /// The records of a commit are in the wrong order.
    SwapsOrder => gap_free,
    /// Names that differ in case only are one thread.
    MixesThreads => isolated,
    /// The newest record becomes visible later.
    Lags => read_your_writes,
    /// A read returns one record more than requested.
    ReadsPastLimit => bounded_read,
    /// A record that is too large is acknowledged and not written.
    SwallowsLarge => sizes,
    /// A lease is granted to every caller.
    StealsLease => lease,
    /// A lease that is lost is renewed.
    RenewsLost => lease,
    /// A lease ends a moment later than said.
    OverstaysLease => lease,
    /// An append with status `Idle` keeps the lease.
    KeepsLease => release,
    /// An old owner gives back the lease of a new one.
    ReleasesOthers => release,
    /// Claims come with the youngest first.
    ClaimsYoungest => claim,
    /// Claims return what was claimed before.
    ClaimsTwice => claim,
    /// Claims return the threads of every agent.
    ClaimsOfAll => claim_of_an_agent,
    /// Threads of other agents count against the number of a claim.
    FiltersTooLate => claim_of_an_agent,
    /// Claims grant what they except.
    ClaimsOwn => claim_of_what_one_runs,
    /// Concurrent claims overlap.
    SharesClaims => racing_claims_share,
    /// A lease is granted to all concurrent callers.
    SharesLease => racing_owners_one_wins,
    /// A signal is delivered with every append.
    RepeatsSignal => signal,
    /// Signals are lost.
    LosesSignal => signal,
    /// The time of the log is that of the clock.
    FollowsClock => time_never_runs_backwards,
    /// The latest snapshot may be after the requested position.
    LooksAhead => put_and_latest,
    /// Deleted snapshots stay.
    KeepsDeleted => put_and_latest,
    /// A snapshot past the head is stored at the head.
    AcceptsFuture => no_snapshot_past_head,
    /// The base of a commit is not stored.
    DropsBase => base_rides_in_the_commit,
    /// The list starts at the end.
    ListsBackwards => list_pages,
    /// A fork replaces an existing thread.
    ForksOver => fork_whole_or_not,
    /// Compaction removes more than requested.
    CompactsAll => compact_keeps_what_it_promises,
    /// Snapshots of removed threads stay.
    LeavesOrphans => remove_leaves_no_orphans,
    /// Everything is lost when the log is opened again.
    LosesOnReopen => reopening_loses_nothing,
}

/// A factory of logs with one flaw, which declare every ability.
#[derive(Debug)]
pub struct BrokenLogs {
    flaw: Flaw,
    newest: Mutex<Option<BrokenLog>>,
}

impl BrokenLogs {
    /// Creates a factory of logs with this flaw.
    pub fn new(flaw: Flaw) -> Self {
        Self {
            flaw,
            newest: Mutex::default(),
        }
    }
}

#[async_trait]
impl LogFactory for BrokenLogs {
    fn abilities(&self) -> Abilities {
        Abilities::all()
    }

    async fn fresh(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        let fresh = BrokenLog::new(self.flaw, clock);
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(OpenedLog::whole(newest.insert(fresh).clone()))
    }

    async fn reopen(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        if self.flaw == Flaw::LosesOnReopen {
            return self.fresh(clock).await;
        }
        let newest = self
            .newest
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        Ok(OpenedLog::whole(newest.ok_or("nothing was opened before")?))
    }
}

/// A log in memory with a flaw.
#[derive(Debug, Clone)]
pub struct BrokenLog {
    inner: MemoryLog,
    flaw: Flaw,
    clock: TestClock,
    memory: Arc<Mutex<Memory>>,
}

/// The data that flaws keep between requests.
#[derive(Debug, Default)]
struct Memory {
    signals: Vec<Signal>,
    claimed: Vec<Lease>,
    orphans: Vec<Snapshot>,
}

impl BrokenLog {
    /// Creates a log with this flaw.
    pub fn new(flaw: Flaw, clock: &TestClock) -> Self {
        let time = clock.clone();
        let inner = MemoryLog::with_clock(move || time.now());
        Self {
            inner,
            flaw,
            clock: clock.clone(),
            memory: Arc::default(),
        }
    }

    fn has(&self, flaw: Flaw) -> bool {
        self.flaw == flaw
    }

    fn remember<T>(&self, with: impl FnOnce(&mut Memory) -> T) -> T {
        with(&mut self.memory.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn name(&self, thread: &ThreadId) -> ThreadId {
        let lower = || ThreadId::new(thread.as_str().to_lowercase());
        let mixed = self.has(Flaw::MixesThreads).then(lower);
        mixed.and_then(Result::ok).unwrap_or_else(|| thread.clone())
    }
}
