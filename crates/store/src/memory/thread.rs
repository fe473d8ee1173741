//! One thread in memory, and the requests on it.
use std::collections::BTreeMap;

use fugato_state::{Millis, Seq, ThreadId};

use crate::{
    AppendResult, Commit, Fence, Head, Lease, Record, Signal, Snapshot, Status, StoreErrorKind,
};

type Result<T> = std::result::Result<T, StoreErrorKind>;

#[derive(Default)]
pub(super) struct Thread {
    base: Seq,
    records: Vec<Record>,
    nonce: u128,
    /// None while there are no records.
    pub(super) status: Option<Status>,
    /// The time from which it can go on; none if it cannot.
    pub(super) due: Option<Millis>,
    pub(super) fence: Fence,
    lease: Option<(String, Millis)>,
    signals: Vec<Signal>,
    /// The signals that the last commit returned, for a repeat whose first response was lost.
    delivered: Vec<Signal>,
    snapshots: BTreeMap<Seq, Vec<u8>>,
}

impl Thread {
    pub(super) fn end(&self) -> Seq {
        self.base + self.records.len() as Seq
    }

    fn holder(&self, now: Millis) -> Option<&(String, Millis)> {
        self.lease.as_ref().filter(|(_, until)| *until > now)
    }

    pub(super) fn is_claimable(&self, now: Millis) -> bool {
        self.due.is_some_and(|due| due <= now) && self.holder(now).is_none()
    }

    pub(super) fn conflict(&self) -> StoreErrorKind {
        StoreErrorKind::Conflict {
            head: self.end(),
            fence: self.fence,
        }
    }

    pub(super) fn append(&mut self, commit: &Commit, now: Millis) -> Result<AppendResult> {
        if let Some(repeated) = self.repeated(commit, now) {
            return Ok(repeated);
        }
        if (commit.expect.head, commit.expect.fence) != (self.end(), self.fence) {
            return Err(self.conflict());
        }
        commit.check_base(self.base, self.end())?;
        Ok(self.write(commit, now))
    }

    pub(super) fn fork(
        &mut self,
        base: Snapshot,
        commit: &Commit,
        now: Millis,
    ) -> Result<AppendResult> {
        if let Some(repeated) = self.repeated(commit, now) {
            return Ok(repeated);
        }
        if self.status.is_some() || commit.expect.fence != self.fence {
            return Err(self.conflict());
        }
        commit.check_base(base.seq, base.seq)?;
        self.base = base.seq;
        self.snapshots.insert(base.seq, base.body);
        Ok(self.write(commit, now))
    }

    fn repeated(&self, commit: &Commit, now: Millis) -> Option<AppendResult> {
        let repeats = self.status.is_some() && self.nonce == commit.nonce;
        let signals = || self.delivered.clone();
        repeats.then(|| AppendResult {
            head: self.end(),
            now,
            signals: signals(),
        })
    }

    fn write(&mut self, commit: &Commit, now: Millis) -> AppendResult {
        self.records.extend(commit.records.iter().cloned());
        self.nonce = commit.nonce;
        self.due = match commit.status {
            // It keeps the time since which it is runnable, which is not that of its last record.
            Status::Runnable if self.status == Some(Status::Runnable) => self.due,
            Status::Runnable => Some(now),
            Status::Sleeping { until } => Some(until),
            Status::Waiting { expires } => expires,
            Status::Idle => None,
        };
        self.status = Some(commit.status);
        if commit.status.releases() {
            self.lease = None;
        }
        if let Some(base) = &commit.base {
            self.snapshots.insert(base.seq, base.body.clone());
        }
        self.delivered = std::mem::take(&mut self.signals);
        AppendResult {
            head: self.end(),
            now,
            signals: self.delivered.clone(),
        }
    }

    pub(super) fn read(&self, from: Seq, limit: usize) -> Result<Vec<(Seq, Record)>> {
        let from = from.max(1);
        if from <= self.base {
            return Err(StoreErrorKind::Compacted { base: self.base });
        }
        let skip = usize::try_from(from - self.base - 1).unwrap_or(usize::MAX);
        let records = self.records.iter().skip(skip).take(limit);
        Ok(records
            .cloned()
            .zip(from..)
            .map(|(record, seq)| (seq, record))
            .collect())
    }

    pub(super) fn head(&self, now: Millis) -> Option<Head> {
        self.status.map(|status| Head {
            seq: self.end(),
            base: self.base,
            fence: self.fence,
            status,
            nonce: self.nonce,
            leased_until: self.holder(now).map(|(_, until)| *until),
            now,
        })
    }

    pub(super) fn acquire(
        &mut self,
        thread: &ThreadId,
        owner: &str,
        now: Millis,
        ttl: Millis,
        lowest: Fence,
    ) -> Result<Lease> {
        if let Some((owner, until)) = self.holder(now) {
            return Err(StoreErrorKind::Busy {
                owner: owner.clone(),
                until: *until,
            });
        }
        let until = now.saturating_add(ttl);
        self.fence = self.fence.max(lowest) + 1;
        self.lease = Some((owner.to_owned(), until));
        Ok(Lease {
            thread: thread.clone(),
            fence: self.fence,
            head: self.end(),
            until,
            now,
        })
    }

    pub(super) fn renew(
        &mut self,
        fence: Fence,
        now: Millis,
        ttl: Millis,
    ) -> Result<(Millis, Vec<Signal>)> {
        let lease = self.lease.as_mut().filter(|_| self.fence == fence);
        let (_, until) = lease.ok_or(StoreErrorKind::LeaseLost)?;
        *until = now.saturating_add(ttl);
        Ok((*until, std::mem::take(&mut self.signals)))
    }

    pub(super) fn release(&mut self, fence: Fence) {
        if self.fence == fence {
            self.lease = None;
        }
    }

    pub(super) fn signal(&mut self, signal: Signal) {
        self.signals.push(signal);
    }

    pub(super) fn put(&mut self, snapshot: Snapshot) -> Result<()> {
        self.check_reaches(snapshot.seq)?;
        self.snapshots.insert(snapshot.seq, snapshot.body);
        Ok(())
    }

    pub(super) fn latest_at(&self, seq: Seq) -> Option<Snapshot> {
        let (seq, body) = self.snapshots.range(..=seq).next_back()?;
        Some(Snapshot {
            seq: *seq,
            body: body.clone(),
        })
    }

    pub(super) fn delete(&mut self, seq: Seq) -> Result<()> {
        if self.base > 0 && self.base == seq {
            let what = format!("the snapshot at {seq} stands for the records before it");
            return Err(StoreErrorKind::Invalid(what));
        }
        self.snapshots.remove(&seq);
        Ok(())
    }

    pub(super) fn compact(&mut self, base: Snapshot) -> Result<()> {
        self.check_reaches(base.seq)?;
        let drop = usize::try_from(base.seq - self.base).unwrap_or(usize::MAX);
        self.records.drain(..drop);
        self.base = base.seq;
        self.snapshots = self.snapshots.split_off(&base.seq);
        self.snapshots.insert(base.seq, base.body);
        Ok(())
    }

    /// Checks that the position of a fold is between the compacted base and the head.
    fn check_reaches(&self, seq: Seq) -> Result<()> {
        if self.status.is_none() || seq > self.end() {
            Err(StoreErrorKind::NotFound)
        } else if seq < self.base {
            Err(StoreErrorKind::Compacted { base: self.base })
        } else {
            Ok(())
        }
    }
}
