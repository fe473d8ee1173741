//! A log in memory, for tests and for threads that need not outlive the process.
mod thread;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use async_trait::async_trait;
use fugato_state::{Millis, Seq, ThreadId};

use self::thread::Thread;
use crate::{
    AppendResult, Claim, Commit, Expect, Head, Lease, LeaseOutcome, LeaseRequest, Record, Snapshot,
    Snapshots, StoreError, StoreErrorKind, ThreadAdmin, ThreadFilter, ThreadLog, ThreadSummary,
};

/// A store of threads in memory. Clones share the threads.
#[derive(derive_more::Debug, Clone)]
#[debug("MemoryLog {{ .. }}")]
pub struct MemoryLog {
    shared: Arc<LogInner>,
}

struct LogInner {
    threads: RwLock<Threads>,
    clock: Box<dyn Fn() -> Millis + Send + Sync>,
    /// The largest time seen, so that time never runs backwards.
    newest: AtomicI64,
    /// The greatest fence of removed threads: a new thread under an old name must not grant a fence
    /// that a former owner still holds.
    lowest_fence: AtomicU64,
}

type Threads = BTreeMap<ThreadId, Mutex<Thread>>;

impl Default for MemoryLog {
    fn default() -> Self {
        Self::with_clock(system_clock)
    }
}

/// Returns the clock of this machine, in milliseconds since the Unix epoch.
pub fn system_clock() -> Millis {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Millis::try_from(now.as_millis()).unwrap_or(Millis::MAX)
}

impl MemoryLog {
    /// Creates a log that reads the time from `clock`, in milliseconds since the Unix epoch. While
    /// the clock is behind the largest time seen, that time is used.
    pub fn with_clock(clock: impl Fn() -> Millis + Send + Sync + 'static) -> Self {
        let shared = LogInner {
            threads: RwLock::default(),
            clock: Box::new(clock),
            newest: AtomicI64::new(Millis::MIN),
            lowest_fence: AtomicU64::new(0),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    fn now(&self) -> Millis {
        let now = (self.shared.clock)();
        self.shared
            .newest
            .fetch_max(now, Ordering::Relaxed)
            .max(now)
    }

    fn threads(&self) -> RwLockReadGuard<'_, Threads> {
        self.shared
            .threads
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn threads_mut(&self) -> RwLockWriteGuard<'_, Threads> {
        self.shared
            .threads
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `act` on a thread, which is created if it is missing.
    fn make<T>(&self, name: &ThreadId, act: impl FnOnce(&mut Thread) -> T) -> T {
        let threads = self.threads();
        if let Some(thread) = threads.get(name) {
            return act(&mut lock(thread));
        }
        drop(threads);
        let mut threads = self.threads_mut();
        act(&mut lock(threads.entry(name.clone()).or_default()))
    }

    /// Runs `act` on a thread, if it exists.
    fn with<T>(&self, name: &ThreadId, act: impl FnOnce(&mut Thread) -> T) -> Option<T> {
        let threads = self.threads();
        Some(act(&mut lock(threads.get(name)?)))
    }

    fn lowest_fence(&self) -> u64 {
        self.shared.lowest_fence.load(Ordering::Relaxed)
    }

    fn claim(&self, claim: &Claim) -> Vec<Lease> {
        let now = self.now();
        let threads = self.threads();
        let lowest = self.lowest_fence();
        let mut found: Vec<_> = threads
            .iter()
            .filter_map(|(name, thread)| {
                let locked = lock(thread);
                locked.is_claimable(now).then(|| (locked.due, name, thread))
            })
            .filter(|(_, name, _)| claim.wants(name))
            .collect();
        found.sort_by_key(|(due, ..)| *due);
        let granted = found.into_iter().filter_map(|(_, name, thread)| {
            let mut thread = lock(thread);
            // Another owner may have taken it since.
            let claimable = thread.is_claimable(now);
            claimable
                .then(|| {
                    let acquired = thread.acquire(name, &claim.owner, now, claim.ttl, lowest);
                    acquired.ok()
                })
                .flatten()
        });
        granted.take(claim.n).collect()
    }
}

fn lock(thread: &Mutex<Thread>) -> MutexGuard<'_, Thread> {
    thread.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Names the operation and the thread in an error.
fn failed(operation: &'static str, name: &ThreadId) -> impl Fn(StoreErrorKind) -> StoreError {
    move |kind| StoreError::new(kind, operation).on(name)
}

#[async_trait]
impl ThreadLog for MemoryLog {
    async fn append(&self, name: &ThreadId, commit: &Commit) -> Result<AppendResult, StoreError> {
        let failed = failed("append", name);
        commit.check_size().map_err(&failed)?;
        let now = self.now();
        if commit.expect != (Expect { head: 0, fence: 0 }) {
            // A commit that expects an existing thread does not create one.
            let appended = self.with(name, |thread| thread.append(commit, now));
            let missing = StoreErrorKind::Conflict { head: 0, fence: 0 };
            return appended.unwrap_or(Err(missing)).map_err(failed);
        }
        self.make(name, |thread| thread.append(commit, now))
            .map_err(failed)
    }

    async fn read(
        &self,
        name: &ThreadId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, Record)>, StoreError> {
        let read = self.with(name, |thread| thread.read(from, limit));
        read.unwrap_or_else(|| Ok(vec![]))
            .map_err(failed("read", name))
    }

    async fn head(&self, name: &ThreadId) -> Result<Option<Head>, StoreError> {
        let now = self.now();
        Ok(self.with(name, |thread| thread.head(now)).flatten())
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseOutcome, StoreError> {
        match request {
            LeaseRequest::Acquire {
                thread: name,
                owner,
                ttl,
            } => {
                let now = self.now();
                let lease = self.make(&name, |thread| {
                    thread.acquire(&name, &owner, now, ttl, self.lowest_fence())
                });
                Ok(LeaseOutcome::Granted(vec![
                    lease.map_err(failed("lease", &name))?,
                ]))
            }
            LeaseRequest::Claim(claim) => Ok(LeaseOutcome::Granted(self.claim(&claim))),
            LeaseRequest::Renew {
                thread: name,
                fence,
                ttl,
            } => {
                let now = self.now();
                let renewed = self.with(&name, |thread| thread.renew(fence, now, ttl));
                let renewed = renewed.unwrap_or(Err(StoreErrorKind::LeaseLost));
                let (until, signals) = renewed.map_err(failed("renew", &name))?;
                Ok(LeaseOutcome::Renewed { until, signals })
            }
            LeaseRequest::Release { thread, fence } => {
                self.with(&thread, |thread| thread.release(fence));
                Ok(LeaseOutcome::Done)
            }
            LeaseRequest::Signal {
                thread: name,
                signal,
            } => {
                let left = self.with(&name, |thread| thread.signal(signal));
                left.ok_or(StoreErrorKind::NotFound)
                    .map_err(failed("signal", &name))?;
                Ok(LeaseOutcome::Done)
            }
        }
    }
}

#[async_trait]
impl Snapshots for MemoryLog {
    async fn put(&self, name: &ThreadId, snapshot: Snapshot) -> Result<(), StoreError> {
        let put = self.with(name, |thread| thread.put(snapshot));
        put.unwrap_or(Err(StoreErrorKind::NotFound))
            .map_err(failed("put a snapshot of", name))
    }

    async fn latest_at(&self, name: &ThreadId, seq: Seq) -> Result<Option<Snapshot>, StoreError> {
        Ok(self.with(name, |thread| thread.latest_at(seq)).flatten())
    }

    async fn delete(&self, name: &ThreadId, seq: Seq) -> Result<(), StoreError> {
        let deleted = self.with(name, |thread| thread.delete(seq));
        deleted
            .unwrap_or(Ok(()))
            .map_err(failed("delete a snapshot of", name))
    }
}

#[async_trait]
impl ThreadAdmin for MemoryLog {
    async fn list(&self, filter: ThreadFilter) -> Result<Vec<ThreadSummary>, StoreError> {
        let threads = self.threads();
        let listed = threads.iter().filter_map(|(name, thread)| {
            let wanted = name.as_str().starts_with(&filter.prefix)
                && filter.after.as_ref().is_none_or(|after| name > after);
            let thread = lock(thread);
            let status = thread.status.filter(|_| wanted)?;
            Some(ThreadSummary {
                thread: name.clone(),
                head: thread.end(),
                status,
            })
        });
        Ok(listed.take(filter.limit).collect())
    }

    async fn fork(
        &self,
        name: &ThreadId,
        base: Snapshot,
        commit: &Commit,
    ) -> Result<AppendResult, StoreError> {
        let failed = failed("fork", name);
        commit.check_size().map_err(&failed)?;
        let now = self.now();
        self.make(name, |thread| thread.fork(base, commit, now))
            .map_err(failed)
    }

    async fn compact(&self, name: &ThreadId, base: Snapshot) -> Result<(), StoreError> {
        let compacted = self.with(name, |thread| thread.compact(base));
        compacted
            .unwrap_or(Err(StoreErrorKind::NotFound))
            .map_err(failed("compact", name))
    }

    async fn remove(&self, name: &ThreadId) -> Result<(), StoreError> {
        let mut threads = self.threads_mut();
        if let Some(removed) = threads.remove(name) {
            let fence = lock(&removed).fence;
            self.shared.lowest_fence.fetch_max(fence, Ordering::Relaxed);
        }
        Ok(())
    }
}
