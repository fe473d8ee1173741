//! A log under test, with short names for the requests of scenarios.
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use fugato_state::{Millis, Seq, ThreadId};
use fugato_store::{
    Claim, Commit, Expect, Fence, Head, Lease, LeaseOutcome, LeaseRequest, Record, Signal,
    Snapshots, Status, StoreError, ThreadAdmin, ThreadLog,
};

use super::{Failure, LogFactory, OpenedLog, TestClock};

/// The time at which trials begin: some day in 2033.
const BEGIN: Millis = 2_000_000_000_000;

pub(super) struct Trial<'f> {
    factory: &'f dyn LogFactory,
    pub(super) clock: TestClock,
    pub(super) log: Arc<dyn ThreadLog>,
    snapshots: Option<Arc<dyn Snapshots>>,
    admin: Option<Arc<dyn ThreadAdmin>>,
}

impl<'f> Trial<'f> {
    pub(super) async fn start(factory: &'f dyn LogFactory) -> Result<Self, Failure> {
        let clock = TestClock::at(BEGIN);
        let opened = factory.fresh(&clock).await?;
        Self::of(factory, clock, opened)
    }

    fn of(
        factory: &'f dyn LogFactory,
        clock: TestClock,
        opened: OpenedLog,
    ) -> Result<Self, Failure> {
        let OpenedLog {
            log,
            snapshots,
            admin,
        } = opened;
        let declared = factory.abilities();
        for (what, declared, there) in [
            ("snapshots", declared.snapshots, snapshots.is_some()),
            ("administration", declared.admin, admin.is_some()),
        ] {
            if declared != there {
                let what = format!("{what}: declared {declared}, but there {there}");
                return Err(Failure::new(what));
            }
        }
        Ok(Self {
            factory,
            clock,
            log,
            snapshots,
            admin,
        })
    }

    /// Opens the log again; returns false if it is not declared persistent.
    pub(super) async fn reopen(&mut self) -> Result<bool, Failure> {
        if !self.factory.abilities().persistent {
            return Ok(false);
        }
        let clock = self.clock.clone();
        let closed: Arc<dyn ThreadLog> = Arc::new(fugato_store::MemoryLog::default());
        (self.log, self.snapshots, self.admin) = (closed, None, None);
        let opened = self.factory.reopen(&clock).await?;
        *self = Self::of(self.factory, clock, opened)?;
        Ok(true)
    }

    pub(super) fn snapshots(&self) -> Option<Arc<dyn Snapshots>> {
        self.snapshots.clone()
    }

    pub(super) fn admin(&self) -> Option<Arc<dyn ThreadAdmin>> {
        self.admin.clone()
    }

    pub(super) async fn head(&self, thread: &ThreadId) -> Result<Head, Failure> {
        let head = self.log.head(thread).await?;
        head.ok_or_else(|| Failure::new(format!("thread {thread} has no head")))
    }

    /// Returns all records of a thread, as text.
    pub(super) async fn texts(&self, thread: &ThreadId) -> Result<Vec<(Seq, String)>, Failure> {
        self.texts_from(thread, 1).await
    }

    pub(super) async fn texts_from(
        &self,
        thread: &ThreadId,
        from: Seq,
    ) -> Result<Vec<(Seq, String)>, Failure> {
        let records = self.log.read(thread, from, 10_000).await?;
        let text = |record: Record| String::from_utf8_lossy(&record.0).into_owned();
        Ok(records
            .into_iter()
            .map(|(seq, record)| (seq, text(record)))
            .collect())
    }

    pub(super) async fn try_acquire(
        &self,
        thread: &ThreadId,
        owner: &str,
        ttl: Millis,
    ) -> Result<LeaseOutcome, StoreError> {
        let (thread, owner) = (thread.clone(), owner.to_owned());
        self.log
            .lease(LeaseRequest::Acquire { thread, owner, ttl })
            .await
    }

    pub(super) async fn acquire(
        &self,
        thread: &ThreadId,
        owner: &str,
        ttl: Millis,
    ) -> Result<Lease, Failure> {
        let leased = self.try_acquire(thread, owner, ttl).await?;
        match leases(leased)?.as_slice() {
            [lease] => Ok(lease.clone()),
            other => Err(Failure::new(format!(
                "acquire granted {other:?}, not one lease"
            ))),
        }
    }

    pub(super) async fn claim(
        &self,
        n: usize,
        owner: &str,
        ttl: Millis,
    ) -> Result<Vec<Lease>, Failure> {
        self.claim_of("", n, owner, ttl).await
    }

    /// Claims threads whose names begin with a prefix.
    pub(super) async fn claim_of(
        &self,
        prefix: &str,
        n: usize,
        owner: &str,
        ttl: Millis,
    ) -> Result<Vec<Lease>, Failure> {
        let claim = Claim {
            prefix: prefix.to_owned(),
            n,
            owner: owner.to_owned(),
            ttl,
            ..Claim::default()
        };
        self.claim_as(claim).await
    }

    pub(super) async fn claim_as(&self, claim: Claim) -> Result<Vec<Lease>, Failure> {
        leases(self.log.lease(LeaseRequest::Claim(claim)).await?)
    }

    pub(super) async fn renew(
        &self,
        thread: &ThreadId,
        fence: Fence,
        ttl: Millis,
    ) -> Result<LeaseOutcome, StoreError> {
        self.log
            .lease(LeaseRequest::Renew {
                thread: thread.clone(),
                fence,
                ttl,
            })
            .await
    }

    pub(super) async fn release(
        &self,
        thread: &ThreadId,
        fence: Fence,
    ) -> Result<LeaseOutcome, StoreError> {
        self.log
            .lease(LeaseRequest::Release {
                thread: thread.clone(),
                fence,
            })
            .await
    }

    pub(super) async fn signal(
        &self,
        thread: &ThreadId,
        signal: &Signal,
    ) -> Result<LeaseOutcome, StoreError> {
        let (thread, signal) = (thread.clone(), signal.clone());
        self.log
            .lease(LeaseRequest::Signal { thread, signal })
            .await
    }
}

pub(super) fn leases(answer: LeaseOutcome) -> Result<Vec<Lease>, Failure> {
    match answer {
        LeaseOutcome::Granted(granted) => Ok(granted),
        other => Err(Failure::new(format!("expected leases, got {other:?}"))),
    }
}

pub(super) fn thread(name: &str) -> ThreadId {
    ThreadId::new(name).expect("scenarios use short names without control characters")
}

pub(super) fn cancel(why: &str) -> Signal {
    Signal::Cancel {
        by: "reader".into(),
        why: why.into(),
    }
}

/// Creates a commit with a nonce of its own.
pub(super) fn commit(head: Seq, fence: Fence, texts: &[&str]) -> Commit {
    static NONCES: AtomicU64 = AtomicU64::new(1);
    let nonce = u128::from(NONCES.fetch_add(1, Ordering::Relaxed));
    Commit {
        expect: Expect { head, fence },
        nonce: nonce << 64 | nonce,
        records: texts
            .iter()
            .map(|text| Record(text.as_bytes().to_vec()))
            .collect(),
        status: Status::Runnable,
        base: None,
    }
}

/// Returns the contents of a thread after these texts, from position 1 on.
pub(super) fn numbered(texts: &[&str]) -> Vec<(Seq, String)> {
    (1..)
        .zip(texts.iter().map(|text| (*text).to_owned()))
        .collect()
}
