use std::collections::BTreeMap;

use fugato_state::{Millis, Seq, ThreadId};
use fugato_store::{
    AppendResult, Commit, Expect, Head, Lease, LeaseOutcome, Record, Signal, Status, StoreErrorKind,
};

use super::super::{Failure, failure::same, trial::thread};

/// The owner of all leases.
pub(super) const OWNER: &str = "owner";

/// The duration of claimed leases, in milliseconds.
pub(super) const TTL: Millis = 20;

pub(super) type ModelRefusal<T> = Result<T, StoreErrorKind>;

pub(super) fn id(name: u8) -> ThreadId {
    thread(&format!("thread {name}"))
}

/// The model of a thread.
#[derive(Debug, Clone, Default)]
struct Thread {
    records: Vec<Record>,
    base: Seq,
    last: Option<(u128, Status, Vec<Signal>)>,
    due: Option<Millis>,
    fence: u64,
    until: Millis,
    signals: Vec<Signal>,
}

#[derive(Debug, Default)]
pub(super) struct Model {
    threads: BTreeMap<u8, Thread>,
    pub(super) now: Millis,
    /// The greatest fence that a name ever had.
    fences: BTreeMap<u8, u64>,
}

impl Model {
    pub(super) fn at(now: Millis) -> Self {
        Self {
            now,
            ..Self::default()
        }
    }

    fn entry(&mut self, name: u8) -> &mut Thread {
        self.threads.entry(name).or_default()
    }

    pub(super) fn append(&mut self, name: u8, commit: &Commit) -> ModelRefusal<AppendResult> {
        let now = self.now;
        let known = self.threads.get(&name).cloned().unwrap_or_default();
        let head = known.records.len() as Seq;
        if let Some((nonce, _, signals)) = known.last
            && nonce == commit.nonce
        {
            return Ok(AppendResult { head, now, signals });
        }
        if commit.expect
            != (Expect {
                head,
                fence: known.fence,
            })
        {
            return Err(StoreErrorKind::Conflict {
                head,
                fence: known.fence,
            });
        }
        let thread = self.entry(name);
        let was_runnable = matches!(thread.last, Some((_, Status::Runnable, _)));
        thread.due = match commit.status {
            Status::Runnable if was_runnable => thread.due,
            Status::Runnable => Some(now),
            Status::Sleeping { until } => Some(until),
            Status::Waiting { expires } => expires,
            Status::Idle => None,
        };
        if commit.status.releases() {
            thread.until = Millis::MIN;
        }
        thread.records.extend(commit.records.iter().cloned());
        let signals = std::mem::take(&mut thread.signals);
        thread.last = Some((commit.nonce, commit.status, signals.clone()));
        Ok(AppendResult {
            head: thread.records.len() as Seq,
            now,
            signals,
        })
    }

    pub(super) fn head(&self, name: u8) -> Option<Head> {
        let thread = self.threads.get(&name)?;
        let (nonce, status, _) = thread.last.clone()?;
        let (seq, base, fence) = (thread.records.len() as Seq, thread.base, thread.fence);
        Some(Head {
            seq,
            base,
            fence,
            status,
            nonce,
            leased_until: Some(thread.until).filter(|until| *until > self.now),
            now: self.now,
        })
    }

    pub(super) fn read(
        &self,
        name: u8,
        from: Seq,
        limit: usize,
    ) -> ModelRefusal<Vec<(Seq, Record)>> {
        let Some(thread) = self.threads.get(&name) else {
            return Ok(vec![]);
        };
        if from.max(1) <= thread.base {
            return Err(StoreErrorKind::Compacted { base: thread.base });
        }
        let all = (1..).zip(thread.records.iter().cloned());
        Ok(all.skip_while(|(seq, _)| *seq < from).take(limit).collect())
    }

    /// Grants a lease. The log chooses how much greater the new fence is.
    fn grant(&mut self, name: u8, ttl: Millis, granted: u64) -> Lease {
        let now = self.now;
        let highest = self.fences.entry(name).or_default();
        *highest = granted.max(*highest + 1);
        let (fence, until) = (*highest, now + ttl);
        let thread = self.entry(name);
        (thread.fence, thread.until) = (fence, until);
        Lease {
            thread: id(name),
            fence,
            head: thread.records.len() as Seq,
            until,
            now,
        }
    }

    pub(super) fn acquire(
        &mut self,
        name: u8,
        ttl: Millis,
        got: &ModelRefusal<LeaseOutcome>,
    ) -> ModelRefusal<LeaseOutcome> {
        match self.threads.get(&name) {
            Some(thread) if thread.until > self.now => Err(StoreErrorKind::Busy {
                owner: OWNER.into(),
                until: thread.until,
            }),
            _ => {
                let granted = match got {
                    Ok(LeaseOutcome::Granted(leases)) => {
                        leases.first().map_or(0, |lease| lease.fence)
                    }
                    _ => 0,
                };
                Ok(LeaseOutcome::Granted(vec![self.grant(name, ttl, granted)]))
            }
        }
    }

    /// Returns the expected claim. The order of threads that are due equally long is not promised,
    /// so that the model follows the log there.
    pub(super) fn claim(&mut self, n: usize, granted: &[Lease]) -> Result<LeaseOutcome, Failure> {
        let now = self.now;
        let mut free: Vec<_> = (self.threads.iter())
            .filter(|(_, thread)| thread.until <= now)
            .filter_map(|(name, thread)| Some((thread.due.filter(|due| *due <= now)?, *name)))
            .collect();
        free.sort_unstable();
        let mut leases = vec![];
        for (place, lease) in granted.iter().enumerate() {
            let due = free.get(place).map(|(due, _)| *due);
            let name = free.iter().find(|(_, name)| id(*name) == lease.thread);
            let Some((_, name)) = name.filter(|(own, _)| Some(*own) == due) else {
                return Err(Failure::new(format!(
                    "claimed {lease:?}; could go on: {free:?}"
                )));
            };
            leases.push(self.grant(*name, TTL, lease.fence));
        }
        same("threads claimed", granted.len(), free.len().min(n))?;
        Ok(LeaseOutcome::Granted(leases))
    }

    pub(super) fn renew(
        &mut self,
        name: u8,
        fence: u64,
        ttl: Millis,
    ) -> ModelRefusal<LeaseOutcome> {
        let now = self.now;
        let held = |thread: &&mut Thread| {
            thread.fence == fence && fence > 0 && thread.until != Millis::MIN
        };
        let thread = self
            .threads
            .get_mut(&name)
            .filter(held)
            .ok_or(StoreErrorKind::LeaseLost)?;
        thread.until = now + ttl;
        let signals = std::mem::take(&mut thread.signals);
        Ok(LeaseOutcome::Renewed {
            until: thread.until,
            signals,
        })
    }

    pub(super) fn compact(&mut self, name: u8, seq: Seq) -> ModelRefusal<()> {
        let thread = self
            .threads
            .get_mut(&name)
            .filter(|thread| thread.last.is_some());
        let thread = thread.ok_or(StoreErrorKind::NotFound)?;
        if seq > thread.records.len() as Seq {
            return Err(StoreErrorKind::NotFound);
        }
        if seq < thread.base {
            return Err(StoreErrorKind::Compacted { base: thread.base });
        }
        thread.base = seq;
        Ok(())
    }

    pub(super) fn release(&mut self, name: u8, fence: u64) {
        if let Some(thread) = self.threads.get_mut(&name)
            && thread.fence == fence
        {
            thread.until = Millis::MIN;
        }
    }

    pub(super) fn signal(&mut self, name: u8, signal: Signal) -> ModelRefusal<LeaseOutcome> {
        let thread = self
            .threads
            .get_mut(&name)
            .ok_or(StoreErrorKind::NotFound)?;
        thread.signals.push(signal);
        Ok(LeaseOutcome::Done)
    }

    pub(super) fn remove(&mut self, name: u8) {
        self.threads.remove(&name);
    }

    /// Returns the head and fence that a writer would expect.
    pub(super) fn expectation(&self, name: u8) -> Expect {
        let thread = self.threads.get(&name);
        let (head, fence) = thread.map_or((0, 0), |it| (it.records.len() as Seq, it.fence));
        Expect { head, fence }
    }
}
