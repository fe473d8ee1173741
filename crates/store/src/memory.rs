//! A log in memory, for tests and for threads that need not outlive the process.
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
    time::{SystemTime, UNIX_EPOCH},
};

use async_trait::async_trait;
use fugato_state::{Millis, Seq, ThreadId};

use crate::{
    Appended, Commit, Fence, Head, Lease, LeaseRequest, Leased, Record, Signal, Snapshot,
    Snapshots, Status, StoreError, StoreErrorKind, ThreadAdmin, ThreadFilter, ThreadLog,
    ThreadSummary,
};

/// The logs of threads in memory. Cloning shares them.
#[derive(Clone)]
pub struct MemoryLog {
    threads: Arc<RwLock<BTreeMap<ThreadId, Arc<Mutex<Thread>>>>>,
    clock: Arc<dyn Fn() -> Millis + Send + Sync>,
}

impl std::fmt::Debug for MemoryLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryLog").finish_non_exhaustive()
    }
}

impl Default for MemoryLog {
    fn default() -> Self {
        Self::with_clock(system_clock)
    }
}

/// The clock of this machine, in milliseconds since the Unix epoch.
fn system_clock() -> Millis {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis::try_from(now.as_millis()).unwrap_or(Millis::MAX)
}

#[derive(Default)]
struct Thread {
    base: Seq,
    records: Vec<Record>,
    nonce: u128,
    status: Option<Status>,
    fence: Fence,
    lease: Option<(String, Millis)>,
    signals: Vec<Signal>,
    snapshots: BTreeMap<Seq, Vec<u8>>,
}

impl Thread {
    fn head(&self) -> Seq {
        self.base + self.records.len() as Seq
    }

    fn holder(&self, now: Millis) -> Option<&(String, Millis)> {
        self.lease.as_ref().filter(|(_, until)| *until > now)
    }

    fn grant(&mut self, thread: &ThreadId, owner: &str, now: Millis, ttl: Millis) -> Lease {
        let until = now.saturating_add(ttl);
        self.fence += 1;
        self.lease = Some((owner.to_owned(), until));
        Lease { thread: thread.clone(), fence: self.fence, head: self.head(), until, now }
    }

    fn is_due(&self, now: Millis) -> bool {
        match self.status {
            Some(Status::Runnable) => true,
            Some(Status::Sleeping { until } | Status::Waiting { expires: Some(until) }) => {
                until <= now
            }
            _ => false,
        }
    }
}

impl MemoryLog {
    /// A log that reads time from `clock`, in milliseconds since the Unix epoch.
    pub fn with_clock(clock: impl Fn() -> Millis + Send + Sync + 'static) -> Self {
        Self { threads: Arc::default(), clock: Arc::new(clock) }
    }

    fn find(&self, thread: &ThreadId) -> Option<Arc<Mutex<Thread>>> {
        self.threads.read().unwrap_or_else(PoisonError::into_inner).get(thread).cloned()
    }

    fn find_or_make(&self, thread: &ThreadId) -> Arc<Mutex<Thread>> {
        if let Some(found) = self.find(thread) {
            return found;
        }
        let mut threads = self.threads.write().unwrap_or_else(PoisonError::into_inner);
        threads.entry(thread.clone()).or_default().clone()
    }

    fn claim(&self, n: usize, owner: &str, ttl: Millis) -> Vec<Lease> {
        let now = (self.clock)();
        let threads = self.threads.read().unwrap_or_else(PoisonError::into_inner);
        let mut granted = vec![];
        for (name, thread) in threads.iter() {
            if granted.len() == n {
                break;
            }
            let mut thread = lock(thread);
            if thread.is_due(now) && thread.holder(now).is_none() {
                granted.push(thread.grant(name, owner, now, ttl));
            }
        }
        granted
    }
}

fn lock(thread: &Mutex<Thread>) -> MutexGuard<'_, Thread> {
    thread.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl ThreadLog for MemoryLog {
    async fn append(&self, name: &ThreadId, commit: &Commit) -> Result<Appended, StoreError> {
        commit.check_size().map_err(|kind| StoreError::new(kind, "append").on(name))?;
        let thread = self.find_or_make(name);
        let mut thread = lock(&thread);
        let now = (self.clock)();
        if thread.status.is_some() && thread.nonce == commit.nonce {
            return Ok(Appended { head: thread.head(), now, signals: vec![] });
        }
        let (head, fence) = (thread.head(), thread.fence);
        if (commit.expect.head, commit.expect.fence) != (head, fence) {
            let kind = StoreErrorKind::Conflict { head, fence };
            return Err(StoreError::new(kind, "append").on(name));
        }
        thread.records.extend(commit.records.iter().cloned());
        thread.nonce = commit.nonce;
        thread.status = Some(commit.status);
        if commit.status.releases() {
            thread.lease = None;
        }
        if let Some(base) = &commit.base {
            thread.snapshots.insert(base.seq, base.body.clone());
        }
        let signals = std::mem::take(&mut thread.signals);
        Ok(Appended { head: thread.head(), now, signals })
    }

    async fn read(
        &self,
        name: &ThreadId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, Record)>, StoreError> {
        let Some(thread) = self.find(name) else { return Ok(vec![]) };
        let thread = lock(&thread);
        let from = from.max(1);
        if from <= thread.base {
            let kind = StoreErrorKind::Compacted { base: thread.base };
            return Err(StoreError::new(kind, "read").on(name));
        }
        let skip = usize::try_from(from - thread.base - 1).unwrap_or(usize::MAX);
        let records = thread.records.iter().skip(skip).take(limit);
        Ok((from..).zip(records.cloned()).collect())
    }

    async fn head(&self, name: &ThreadId) -> Result<Option<Head>, StoreError> {
        let Some(thread) = self.find(name) else { return Ok(None) };
        let thread = lock(&thread);
        Ok(thread.status.map(|status| Head {
            seq: thread.head(),
            base: thread.base,
            fence: thread.fence,
            status,
            nonce: thread.nonce,
            now: (self.clock)(),
        }))
    }

    async fn lease(&self, request: LeaseRequest) -> Result<Leased, StoreError> {
        let now = (self.clock)();
        match request {
            LeaseRequest::Acquire { thread: name, owner, ttl } => {
                let thread = self.find_or_make(&name);
                let mut thread = lock(&thread);
                if let Some((owner, until)) = thread.holder(now) {
                    let kind = StoreErrorKind::Busy { owner: owner.clone(), until: *until };
                    return Err(StoreError::new(kind, "lease").on(&name));
                }
                Ok(Leased::Granted(vec![thread.grant(&name, &owner, now, ttl)]))
            }
            LeaseRequest::Claim { n, owner, ttl } => Ok(Leased::Granted(self.claim(n, &owner, ttl))),
            LeaseRequest::Renew { thread: name, fence, ttl } => {
                let lost = || StoreError::new(StoreErrorKind::LeaseLost, "renew").on(&name);
                let thread = self.find(&name).ok_or_else(lost)?;
                let mut thread = lock(&thread);
                if thread.fence != fence || thread.holder(now).is_none() {
                    return Err(lost());
                }
                let until = now.saturating_add(ttl);
                if let Some(lease) = &mut thread.lease {
                    lease.1 = until;
                }
                Ok(Leased::Renewed { until, signals: std::mem::take(&mut thread.signals) })
            }
            LeaseRequest::Release { thread, fence } => {
                if let Some(thread) = self.find(&thread) {
                    let mut thread = lock(&thread);
                    if thread.fence == fence {
                        thread.lease = None;
                    }
                }
                Ok(Leased::Done)
            }
            LeaseRequest::Signal { thread: name, signal } => {
                let missing = || StoreError::new(StoreErrorKind::NotFound, "signal").on(&name);
                let thread = self.find(&name).ok_or_else(missing)?;
                lock(&thread).signals.push(signal);
                Ok(Leased::Done)
            }
        }
    }
}

#[async_trait]
impl Snapshots for MemoryLog {
    async fn put(&self, name: &ThreadId, snapshot: Snapshot) -> Result<(), StoreError> {
        let missing = || StoreError::new(StoreErrorKind::NotFound, "put a snapshot of").on(name);
        let thread = self.find(name).ok_or_else(missing)?;
        let mut thread = lock(&thread);
        if snapshot.seq > thread.head() {
            return Err(missing());
        }
        thread.snapshots.insert(snapshot.seq, snapshot.body);
        Ok(())
    }

    async fn latest_at(&self, name: &ThreadId, seq: Seq) -> Result<Option<Snapshot>, StoreError> {
        let Some(thread) = self.find(name) else { return Ok(None) };
        let thread = lock(&thread);
        let latest = thread.snapshots.range(..=seq).next_back();
        Ok(latest.map(|(seq, body)| Snapshot { seq: *seq, body: body.clone() }))
    }

    async fn delete(&self, name: &ThreadId, seq: Seq) -> Result<(), StoreError> {
        if let Some(thread) = self.find(name) {
            lock(&thread).snapshots.remove(&seq);
        }
        Ok(())
    }
}

#[async_trait]
impl ThreadAdmin for MemoryLog {
    async fn list(&self, filter: ThreadFilter) -> Result<Vec<ThreadSummary>, StoreError> {
        let threads = self.threads.read().unwrap_or_else(PoisonError::into_inner);
        let listed = threads.iter().filter_map(|(name, thread)| {
            let wanted = name.as_str().starts_with(&filter.prefix)
                && filter.after.as_ref().is_none_or(|after| name > after);
            let thread = lock(thread);
            let status = thread.status.filter(|_| wanted)?;
            Some(ThreadSummary { thread: name.clone(), head: thread.head(), status })
        });
        Ok(listed.take(filter.limit).collect())
    }

    async fn fork(
        &self,
        name: &ThreadId,
        base: Snapshot,
        commit: &Commit,
    ) -> Result<Appended, StoreError> {
        commit.check_size().map_err(|kind| StoreError::new(kind, "fork").on(name))?;
        let thread = self.find_or_make(name);
        let mut thread = lock(&thread);
        let now = (self.clock)();
        if thread.status.is_some() {
            if thread.nonce == commit.nonce {
                return Ok(Appended { head: thread.head(), now, signals: vec![] });
            }
            let kind = StoreErrorKind::Conflict { head: thread.head(), fence: thread.fence };
            return Err(StoreError::new(kind, "fork").on(name));
        }
        thread.base = base.seq;
        thread.snapshots.insert(base.seq, base.body);
        thread.records.extend(commit.records.iter().cloned());
        thread.nonce = commit.nonce;
        thread.status = Some(commit.status);
        Ok(Appended { head: thread.head(), now, signals: vec![] })
    }

    async fn compact(&self, name: &ThreadId, base: Snapshot) -> Result<(), StoreError> {
        let missing = || StoreError::new(StoreErrorKind::NotFound, "compact").on(name);
        let thread = self.find(name).ok_or_else(missing)?;
        let mut thread = lock(&thread);
        if base.seq > thread.head() || base.seq < thread.base {
            return Err(missing());
        }
        let drop = usize::try_from(base.seq - thread.base).unwrap_or(usize::MAX);
        thread.records.drain(..drop);
        thread.base = base.seq;
        thread.snapshots = thread.snapshots.split_off(&base.seq);
        thread.snapshots.insert(base.seq, base.body);
        Ok(())
    }

    async fn remove(&self, name: &ThreadId) -> Result<(), StoreError> {
        self.threads.write().unwrap_or_else(PoisonError::into_inner).remove(name);
        Ok(())
    }
}
