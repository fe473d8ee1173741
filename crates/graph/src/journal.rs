//! What a run has learned and not yet stored.
use std::{
    hash::{BuildHasher, RandomState},
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

use fugato_state::{Seq, ThreadId};
use fugato_store::{
    Commit, Expect, Fence, Record, Snapshot, Status, StoreError, StoreErrorKind, ThreadLog,
};

use crate::{
    RunError, codec,
    context::Shared,
    driver::explain,
    machine::{Fact, Machine, Path, Todo},
    sight,
};

/// The facts of a run on their way into the log of its thread.
pub(crate) struct Journal {
    log: Arc<dyn ThreadLog>,
    thread: ThreadId,
    pub(crate) head: Seq,
    fence: Fence,
    facts: Vec<Fact<Path>>,
    /// A fold that the next commit writes beside its records.
    pub(crate) base: Option<Snapshot>,
    /// Bytes appended since the last snapshot.
    pub(crate) tail: usize,
}

impl Journal {
    pub(crate) fn new(log: Arc<dyn ThreadLog>, thread: ThreadId, head: Seq, fence: Fence) -> Self {
        Self {
            log,
            thread,
            head,
            fence,
            facts: vec![],
            base: None,
            tail: 0,
        }
    }

    pub(crate) fn push(&mut self, fact: Fact<Path>) {
        self.facts.push(fact);
    }

    /// Whether a node may start although nothing of this is stored. Only the beginning of a run
    /// may wait for its first step: losing both is losing neither.
    pub(crate) fn can_wait(&self) -> bool {
        self.facts
            .iter()
            .all(|fact| matches!(fact, Fact::Created { .. } | Fact::Started { .. }))
    }

    /// Stores what was learned, in one append, and then shows it.
    pub(crate) async fn flush(
        &mut self,
        machine: &Machine,
        shared: &Shared,
    ) -> Result<(), RunError> {
        if self.facts.is_empty() {
            return Ok(());
        }
        let heard = shared.hub.is_heard() || shared.hub.has_open();
        let facts = std::mem::take(&mut self.facts);
        let shown = if heard { facts.clone() } else { vec![] };
        let records = Self::encode(facts, shared)?;
        let too_large = |record: &Record| record.0.len() > Commit::MAX_RECORD;
        if let Some(at) = records.iter().position(too_large) {
            return self.break_off(records, at, shared).await;
        }
        let first = self.head + 1;
        self.store(records, status(machine)).await?;
        for (fact, seq) in shown.iter().zip(first..) {
            let events = sight::events(fact, &shared.names, &self.thread, shared.run, Some(seq));
            shared.hub.send_all(events);
        }
        Ok(())
    }

    fn encode(facts: Vec<Fact<Path>>, shared: &Shared) -> Result<Vec<Record>, RunError> {
        let at = shared.now();
        let encode = |fact| codec::encode(fact, at, shared.run, &shared.names);
        facts.into_iter().map(encode).collect()
    }

    /// A fact does not fit into a record. What a person sent is refused and changes nothing; what
    /// a task made fails the run in its place, so that the thread can be tried again or begun anew.
    async fn break_off(
        &mut self,
        mut records: Vec<Record>,
        at: usize,
        shared: &Shared,
    ) -> Result<(), RunError> {
        let Some(large) = records.get(at) else {
            return Ok(());
        };
        let (bytes, limit) = (large.0.len(), Commit::MAX_RECORD);
        let error = StoreError::new(StoreErrorKind::TooLarge { bytes, limit }, "append");
        let error = RunError::from(error.on(&self.thread));
        let sent = matches!(
            codec::read(large)?.fact,
            Fact::Created { .. } | Fact::Started { .. } | Fact::Answered { .. }
        );
        if sent {
            return Err(error);
        }
        records.truncate(at);
        let failed = Fact::RunFailed {
            error: explain(&error),
        };
        records.extend(Self::encode(vec![failed], shared)?);
        self.store(records, Status::Idle).await?;
        Err(error)
    }

    /// Stores records, in one append unless they are more than an append may bear.
    async fn store(&mut self, mut records: Vec<Record>, last: Status) -> Result<(), RunError> {
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
            self.head = self.append(&commit).await?;
            if rest.is_empty() {
                return Ok(());
            }
            records = rest;
        }
    }

    /// A store that did not answer may have written: the same commit is tried once more, and its
    /// nonce tells the store whether it was here before.
    async fn append(&self, commit: &Commit) -> Result<Seq, RunError> {
        let appended = match self.log.append(&self.thread, commit).await {
            Err(error) if error.kind == StoreErrorKind::Unavailable => {
                self.log.append(&self.thread, commit).await?
            }
            other => other?,
        };
        Ok(appended.head)
    }
}

/// Takes off what does not fit into one append.
fn overflow(records: &mut Vec<Record>) -> Vec<Record> {
    let mut whole = 0;
    let fits = records.iter().take_while(|record| {
        whole += record.0.len();
        whole <= Commit::MAX_COMMIT
    });
    let fits = fits.count();
    records.split_off(fits)
}

/// What a queue of threads must know of this one.
pub(crate) fn status(machine: &Machine) -> Status {
    match machine.todo() {
        Todo::Park => Status::Waiting {
            expires: machine.expires(),
        },
        Todo::Rest => Status::Idle,
        _ => Status::Runnable,
    }
}

/// A number that is used once: random for the process, counted within it.
pub(crate) fn nonce() -> u128 {
    static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one("fugato"));
    static COUNT: AtomicU64 = AtomicU64::new(1);
    u128::from(*PROCESS) << 64 | u128::from(COUNT.fetch_add(1, Ordering::Relaxed))
}
