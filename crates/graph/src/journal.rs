//! The facts of a run that are not stored yet.
use std::{
    hash::{BuildHasher, RandomState},
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use fugato_state::{Millis, Seq, ThreadId};
use fugato_store::{
    Commit, Expect, Fence, LeaseOutcome, LeaseRequest, Record, Snapshot, Status, StoreError,
    StoreErrorKind, ThreadLog,
};
use tokio::time::Instant;

use crate::{
    RunError, codec,
    context::RunInner,
    control::Control,
    driver::explain,
    engine::Room,
    machine::{Fact, TaskPath},
    projector,
    scope::ScopeAddress,
};

/// The facts of a run on their way into the log of its thread.
pub(crate) struct Journal {
    log: Arc<dyn ThreadLog>,
    thread: ThreadId,
    pub(crate) head: Seq,
    fence: Fence,
    facts: Vec<PendingFact>,
    /// Old records, in whose place the next ones are written.
    records: Vec<Record>,
    /// The time at which the oldest of them was recorded, if that is measured.
    oldest: Option<Instant>,
    /// The time at which the run began. Its first facts wait for its first step, and are stored
    /// with this time.
    pub(crate) began: Option<Millis>,
    /// A fold that the next commit writes with its records.
    pub(crate) base: Option<Snapshot>,
    /// Bytes appended since the last snapshot.
    pub(crate) tail: usize,
    /// True if a fact must be stored before any node starts, in every mode: if a take-over were not
    /// stored, a task that kills its process would never reach its crash limit.
    pub(crate) urgent: bool,
    /// True if the first facts of the run do not wait for its first step.
    pub(crate) stores_start: bool,
    /// True if the waiting time of facts is measured.
    pub(crate) timed: bool,
}

/// A fact that is not stored yet.
pub(crate) struct PendingFact {
    pub(crate) at: ScopeAddress,
    pub(crate) fact: Fact<TaskPath>,
    /// The updates of a done task, in their stored form.
    pub(crate) updates: Option<Vec<u8>>,
}

impl Journal {
    /// The most old records that are kept.
    const KEPT: usize = 2;

    pub(crate) fn new(log: Arc<dyn ThreadLog>, thread: ThreadId, head: Seq, fence: Fence) -> Self {
        Self {
            log,
            thread,
            head,
            fence,
            facts: vec![],
            records: vec![],
            oldest: None,
            began: None,
            base: None,
            tail: 0,
            urgent: false,
            stores_start: false,
            timed: false,
        }
    }

    pub(crate) fn push(&mut self, pending: PendingFact) {
        self.urgent |= matches!(&pending.fact, Fact::Resumed { tasks, .. } if !tasks.is_empty());
        self.facts.push(pending);
        if self.timed {
            self.oldest.get_or_insert_with(Instant::now);
        }
    }

    /// Returns the waiting time of the oldest pending fact, zero unless that is measured; none if
    /// no fact is pending.
    pub(crate) fn waits(&self) -> Option<Duration> {
        let since = self
            .oldest
            .map_or(Duration::ZERO, |oldest| oldest.elapsed());
        (!self.facts.is_empty()).then_some(since)
    }

    /// Returns true if at least `records` facts are pending, or one of them for at least `delay`.
    pub(crate) fn is_due(&self, records: usize, delay: Duration) -> bool {
        self.facts.len() >= records || self.waits().is_some_and(|waits| waits >= delay)
    }

    /// Renews the lease.
    pub(crate) async fn renew(&self, ttl: Millis, control: &Control) -> Result<(), RunError> {
        let _asking = control.asking.lock().await;
        let renewal = LeaseRequest::Renew {
            thread: self.thread.clone(),
            fence: self.fence,
            ttl,
        };
        if let LeaseOutcome::Renewed { until, signals } = self.log.lease(renewal).await? {
            control.leased(until);
            control.signals(signals);
        }
        Ok(())
    }

    /// Returns true if this fact is the beginning of the run.
    pub(crate) fn is_beginning(&self, fact: &Fact<TaskPath>) -> bool {
        self.began.is_none() && matches!(fact, Fact::Created { .. } | Fact::Started { .. })
    }

    /// Returns true if a node may start although the pending facts are not stored. Only the first
    /// facts of a run may wait for its first step: start and first step are one atomic append,
    /// unless somebody is told of the start before.
    pub(crate) fn can_wait(&self) -> bool {
        let mut facts = self.facts.iter();
        let waits = !self.stores_start;
        facts.all(|PendingFact { fact, .. }| {
            waits && matches!(fact, Fact::Created { .. } | Fact::Started { .. })
        })
    }

    /// Stores the pending facts in one append, sends their events, and gives their room back.
    pub(crate) async fn flush(
        &mut self,
        status: Status,
        shared: &RunInner,
        room: &mut Room,
    ) -> Result<(), RunError> {
        if self.facts.is_empty() {
            return Ok(());
        }
        let heard = shared.hub.has_subscribers() || shared.hub.has_open();
        self.oldest = None;
        self.urgent = false;
        let mut facts = std::mem::take(&mut self.facts);
        let records = self.encode(&facts, shared)?;
        let too_large = |record: &Record| record.0.len() > Commit::MAX_RECORD;
        if let Some(at) = records.iter().position(too_large) {
            return self.break_off(records, at, shared).await;
        }
        let first = self.head + 1;
        self.store(records, status, shared).await?;
        let shown = facts.iter().zip(first..).filter(|_| heard);
        for (PendingFact { at, fact, .. }, seq) in shown {
            if shared.withholds_failure && at.is_none() && matches!(fact, Fact::RunFailed { .. }) {
                continue;
            }
            shared
                .hub
                .send_all(projector::events(fact, at, shared, Some(seq)));
        }
        // A reader that came during the append may have read the log just before.
        if !heard && shared.hub.has_subscribers() {
            shared.hub.skip(first);
        }
        for PendingFact { fact, updates, .. } in facts.drain(..) {
            room.take_back(fact, updates);
        }
        self.facts = facts;
        Ok(())
    }

    fn encode(
        &mut self,
        facts: &[PendingFact],
        shared: &RunInner,
    ) -> Result<Vec<Record>, RunError> {
        let now = shared.now();
        let mut records = std::mem::take(&mut self.records);
        records.resize_with(facts.len(), || Record(vec![]));
        for (record, PendingFact { at, fact, updates }) in records.iter_mut().zip(facts) {
            let scope = at.as_ref().map_or("", |place| &place.text);
            let time = match fact {
                Fact::Created { .. } | Fact::Started { .. } => self.began.unwrap_or(now),
                _ => now,
            };
            let names = shared.names_of(at);
            let fact = (fact, updates.as_deref());
            codec::encode(record, fact, (time, shared.run), scope, names)?;
        }
        Ok(records)
    }

    /// Handles a fact that does not fit into a record. A fact of a request is refused, and nothing
    /// changes; a fact of a task is replaced by the failure of the run, so that the thread can be
    /// retried.
    async fn break_off(
        &mut self,
        mut records: Vec<Record>,
        at: usize,
        shared: &RunInner,
    ) -> Result<(), RunError> {
        let Some(large) = records.get(at) else {
            return Ok(());
        };
        let (bytes, limit) = (large.0.len(), Commit::MAX_RECORD);
        let error = StoreError::new(StoreErrorKind::TooLarge { bytes, limit }, "append");
        let error = RunError::from(error.on(&self.thread));
        let sent = matches!(
            codec::read(large)?.fact,
            Fact::Created { .. }
                | Fact::Started { .. }
                | Fact::Answered { .. }
                | Fact::Amended { .. }
        );
        if sent {
            return Err(error);
        }
        records.truncate(at);
        let failed = PendingFact {
            at: None,
            fact: Fact::RunFailed {
                error: explain(&error),
            },
            updates: None,
        };
        records.extend(self.encode(&[failed], shared)?);
        self.store(records, Status::Idle, shared).await?;
        Err(error)
    }

    /// Stores records, in one append unless they exceed the size of a commit.
    async fn store(
        &mut self,
        mut records: Vec<Record>,
        last: Status,
        shared: &RunInner,
    ) -> Result<(), RunError> {
        loop {
            let rest = overflow(&mut records);
            self.tail += records.iter().map(|record| record.0.len()).sum::<usize>();
            let commit = Commit {
                expect: Expect {
                    head: self.head,
                    fence: self.fence,
                },
                nonce: nonce(),
                records,
                status: if rest.is_empty() {
                    last
                } else {
                    Status::Runnable
                },
                base: self.base.take(),
            };
            self.head = self.append(&commit, shared).await?;
            if rest.is_empty() {
                self.keep(commit.records);
                return Ok(());
            }
            records = rest;
        }
    }

    /// Keeps stored records for what is written in their place, unless they are many or large.
    fn keep(&mut self, records: Vec<Record>) {
        let is_small = |record: &Record| record.0.capacity() <= Room::MOST;
        if records.len() <= Self::KEPT && records.iter().all(is_small) {
            self.records = records;
        }
    }

    /// Appends a commit. A store that did not answer may have written it: the same commit is
    /// repeated once, and its nonce lets the store recognise it.
    async fn append(&self, commit: &Commit, shared: &RunInner) -> Result<Seq, RunError> {
        let appended = match self.log.append(&self.thread, commit).await {
            Err(error) if error.kind == StoreErrorKind::Unavailable => {
                self.log.append(&self.thread, commit).await?
            }
            other => other?,
        };
        shared.control.signals(appended.signals);
        Ok(appended.head)
    }
}

/// Splits off the records that do not fit into one append.
fn overflow(records: &mut Vec<Record>) -> Vec<Record> {
    let mut whole = 0;
    let fits = records.iter().take_while(|record| {
        whole += record.0.len();
        whole <= Commit::MAX_COMMIT
    });
    let fits = fits.count();
    records.split_off(fits)
}

/// Returns a number that no other thread has. It always has 16 digits, so that logs of like threads
/// have one size, and readers with floating-point numbers only read it exactly.
pub(crate) fn incarnation() -> u64 {
    const LEAST: u64 = 1_000_000_000_000_000;
    LEAST + RandomState::new().hash_one(nonce()) % (8 * LEAST)
}

/// Returns a number that is used once: random for the process, counted within it.
pub(crate) fn nonce() -> u128 {
    static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one("fugato"));
    static COUNT: AtomicU64 = AtomicU64::new(1);
    u128::from(*PROCESS) << 64 | u128::from(COUNT.fetch_add(1, Ordering::Relaxed))
}
