//! Logs that break one promise each, to show that the suite sees it.
mod log;
mod store;

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use fugato_state::ThreadId;
use fugato_store::{Lease, MemoryLog, Signal, Snapshot};

use super::{Abilities, LogFactory, OpenError, Opened, TestClock};

macro_rules! flaws {
    ($($(#[doc = $doc:literal])+ $flaw:ident => $scenario:ident,)+) => {
        /// How a [`BrokenLog`] is broken.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Flaw {
            $($(#[doc = $doc])+ $flaw,)+
        }

        impl Flaw {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$flaw),+];

            /// The name of the scenario that must reject it.
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
    /// The records of a commit lie the wrong way round.
    SwapsOrder => gap_free,
    /// Names that differ in case only are one thread.
    MixesThreads => isolated,
    /// The newest record is seen later.
    Lags => read_your_writes,
    /// Reading returns one record more than asked for.
    ReadsPastLimit => bounded_read,
    /// What is too large is acknowledged and not written.
    SwallowsLarge => sizes,
    /// A lease goes to whoever asks.
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
    /// Claims granted at once overlap.
    SharesClaims => racing_claims_share,
    /// The lease of one is granted to all who ask at once.
    SharesLease => racing_owners_one_wins,
    /// A signal comes with every append.
    RepeatsSignal => signal,
    /// Signals are lost.
    LosesSignal => signal,
    /// The time is what the clock shows.
    FollowsClock => time_never_runs_backwards,
    /// The latest fold may be later than asked for.
    LooksAhead => put_and_latest,
    /// Deleted folds stay.
    KeepsDeleted => put_and_latest,
    /// A fold past the head is stored at the head.
    AcceptsFuture => no_snapshot_past_head,
    /// The base of a commit is not stored.
    DropsBase => base_rides_in_the_commit,
    /// The list begins at the end.
    ListsBackwards => list_pages,
    /// A fork replaces what is there.
    ForksOver => fork_whole_or_not,
    /// Compaction takes more than it was told to.
    CompactsAll => compact_keeps_what_it_promises,
    /// Folds of removed threads stay.
    LeavesOrphans => remove_leaves_no_orphans,
    /// All is gone when the log is opened again.
    LosesOnReopen => reopening_loses_nothing,
}

/// Makes logs of one flaw, which claim every ability.
#[derive(Debug)]
pub struct BrokenLogs {
    flaw: Flaw,
    newest: Mutex<Option<BrokenLog>>,
}

impl BrokenLogs {
    /// A factory of logs with this flaw.
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

    async fn fresh(&self, clock: &TestClock) -> Result<Opened, OpenError> {
        let fresh = BrokenLog::new(self.flaw, clock);
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Opened::whole(newest.insert(fresh).clone()))
    }

    async fn reopen(&self, clock: &TestClock) -> Result<Opened, OpenError> {
        if self.flaw == Flaw::LosesOnReopen {
            return self.fresh(clock).await;
        }
        let newest = self
            .newest
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        Ok(Opened::whole(newest.ok_or("nothing was opened before")?))
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

/// What flaws remember.
#[derive(Debug, Default)]
struct Memory {
    signals: Vec<Signal>,
    claimed: Vec<Lease>,
    orphans: Vec<Snapshot>,
}

impl BrokenLog {
    /// A log with this flaw.
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
