//! The state of one thread after an object of its log, and the changes that requests make to it.
use std::collections::BTreeMap;

use fugato_state::{Millis, Seq};
use fugato_store::{AppendResult, Commit, Fence, Record, Signal, Snapshot, Status, StoreErrorKind};
use serde::{Deserialize, Serialize};

use crate::{
    copy::CopyOf,
    layout::{Marker, Position},
    object::Content,
};

/// The largest position of a record.
pub(crate) const MAX_SEQ: Seq = i64::MAX as Seq;

/// Everything that is known of a thread but its records and folds.
#[derive(smart_default::SmartDefault, Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    /// True before the first lease or commit, and after the thread was removed.
    #[default = true]
    pub(crate) absent: bool,
    pub(crate) base: Seq,
    pub(crate) head: Seq,
    /// None while there are no records.
    pub(crate) status: Option<Status>,
    /// The time from which it can go on; none if it cannot.
    pub(crate) due: Option<Millis>,
    /// The entry of the claim index for that time.
    pub(crate) marker: Option<Marker>,
    pub(crate) fence: Fence,
    /// The greatest fence of removed threads of this name.
    pub(crate) lowest_fence: Fence,
    pub(crate) lease: Option<Holder>,
    /// The nonce of the last commit with records: leases and renewals in between do not hide it
    /// from its repeat.
    pub(crate) nonce: u128,
    pub(crate) signals: Vec<Signal>,
    /// The signals that the last commit returned, for a repeat whose first response was lost.
    pub(crate) delivered: Vec<Signal>,
    /// The ordinals of the objects that hold folds.
    pub(crate) folds: BTreeMap<Seq, u64>,
    /// The ordinal of the first object that is still read.
    pub(crate) first: u64,
    /// The home that ships this thread here; none for one that lives here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) copy: Option<CopyOf>,
    /// The store to which a copied thread moved from its home.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) moved_to: Option<String>,
}

/// The owner of a lease.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Holder {
    pub(crate) owner: String,
    pub(crate) until: Millis,
}

/// The consequence of a request.
pub(crate) enum Verdict<T> {
    /// The answer is known without a change.
    Keep(T),
    /// The answer holds once this state and content are written.
    Write(Box<(State, Content)>, T),
}

impl<T> Verdict<T> {
    /// Changes the answer.
    pub(crate) fn map<U>(self, change: impl FnOnce(T) -> U) -> Verdict<U> {
        match self {
            Self::Keep(answer) => Verdict::Keep(change(answer)),
            Self::Write(written, answer) => Verdict::Write(written, change(answer)),
        }
    }
}

pub(crate) type Decision<T> = Result<Verdict<T>, StoreErrorKind>;

/// Returns the verdict of a change that has no records and folds.
pub(crate) fn write<T>(state: State, kind: &str, answer: T) -> Verdict<T> {
    write_with(state, kind, vec![], vec![], answer)
}

pub(crate) fn write_with<T>(
    state: State,
    kind: &str,
    records: Vec<Record>,
    folds: Vec<Snapshot>,
    answer: T,
) -> Verdict<T> {
    let content = Content {
        kind: kind.to_owned(),
        records,
        folds,
    };
    Verdict::Write(Box::new((state, content)), answer)
}

impl State {
    /// Returns the time from which others are granted the lease.
    pub(crate) fn leased_until(&self, skew: Millis) -> Option<Millis> {
        let lease = self.lease.as_ref();
        lease.map(|lease| lease.until.saturating_add(skew))
    }

    pub(crate) fn conflict(&self) -> StoreErrorKind {
        StoreErrorKind::Conflict {
            head: self.head,
            fence: self.fence,
        }
    }

    pub(crate) fn append(
        &self,
        commit: &Commit,
        at: Position,
        now: Millis,
    ) -> Decision<AppendResult> {
        if let Some(repeated) = self.repeated(commit, now) {
            return Ok(Verdict::Keep(repeated));
        }
        self.check_lives_here()?;
        if (commit.expect.head, commit.expect.fence) != (self.head, self.fence) {
            return Err(self.conflict());
        }
        commit.check_base(self.base, self.head)?;
        self.clone().commit("append", commit, vec![], at, now)
    }

    pub(crate) fn fork(
        &self,
        base: &Snapshot,
        commit: &Commit,
        at: Position,
        now: Millis,
    ) -> Decision<AppendResult> {
        if let Some(repeated) = self.repeated(commit, now) {
            return Ok(Verdict::Keep(repeated));
        }
        if self.status.is_some() || commit.expect.fence != self.fence {
            return Err(self.conflict());
        }
        commit.check_base(base.seq, base.seq)?;
        let mut next = self.clone();
        (next.base, next.head, next.first) = (base.seq, base.seq, at.ordinal);
        next.commit("fork", commit, vec![base.clone()], at, now)
    }

    fn repeated(&self, commit: &Commit, now: Millis) -> Option<AppendResult> {
        let lives_here = self.status.is_some() && self.copy.is_none();
        let repeats = lives_here && self.nonce == commit.nonce;
        let (head, signals) = (self.head, || self.delivered.clone());
        repeats.then(|| AppendResult {
            head,
            now,
            signals: signals(),
        })
    }

    fn commit(
        mut self,
        kind: &str,
        commit: &Commit,
        mut folds: Vec<Snapshot>,
        at: Position,
        now: Millis,
    ) -> Decision<AppendResult> {
        commit.check_end(self.head, MAX_SEQ)?;
        let head = self.head + commit.records.len() as Seq;
        self.due = match commit.status {
            // It keeps the time since which it is runnable, which is not that of its last record.
            Status::Runnable if self.status == Some(Status::Runnable) => self.due,
            Status::Runnable => Some(now),
            Status::Sleeping { until } => Some(until),
            Status::Waiting { expires } => expires,
            Status::Idle => None,
        };
        (self.absent, self.head, self.nonce) = (false, head, commit.nonce);
        self.status = Some(commit.status);
        if commit.status.releases() {
            self.lease = None;
        }
        folds.extend(commit.base.clone());
        self.folds
            .extend(folds.iter().map(|fold| (fold.seq, at.ordinal)));
        self.delivered = std::mem::take(&mut self.signals);
        let (signals, records) = (self.delivered.clone(), commit.records.clone());
        Ok(write_with(
            self,
            kind,
            records,
            folds,
            AppendResult { head, now, signals },
        ))
    }

    /// Grants a lease, and returns its fence and end. One that ran out is taken only after `skew`,
    /// because its owner may have another time.
    pub(crate) fn acquire(
        &self,
        owner: &str,
        ttl: Millis,
        skew: Millis,
        now: Millis,
    ) -> Decision<(Fence, Millis)> {
        if let Some(Holder { owner, .. }) = &self.lease
            && let Some(until) = self.leased_until(skew)
            && until > now
        {
            let owner = owner.clone();
            return Err(StoreErrorKind::Busy { owner, until });
        }
        let until = now.saturating_add(ttl);
        let mut next = self.clone();
        next.absent = false;
        next.fence = self.fence.max(self.lowest_fence) + 1;
        next.lease = Some(Holder {
            owner: owner.to_owned(),
            until,
        });
        let fence = next.fence;
        Ok(write(next, "acquire", (fence, until)))
    }

    pub(crate) fn renew(
        &self,
        fence: Fence,
        ttl: Millis,
        now: Millis,
    ) -> Decision<(Millis, Vec<Signal>)> {
        let lives_here = self.copy.is_none() && self.fence == fence;
        let holder = self.lease.as_ref().filter(|_| lives_here);
        let holder = holder.ok_or(StoreErrorKind::LeaseLost)?;
        let mut next = self.clone();
        let (owner, until) = (holder.owner.clone(), now.saturating_add(ttl));
        next.lease = Some(Holder { owner, until });
        let signals = std::mem::take(&mut next.signals);
        Ok(write(next, "renew", (until, signals)))
    }

    pub(crate) fn release(&self, fence: Fence) -> Verdict<()> {
        if self.fence != fence || self.lease.is_none() || self.copy.is_some() {
            return Verdict::Keep(());
        }
        let mut next = self.clone();
        next.lease = None;
        write(next, "release", ())
    }

    pub(crate) fn signal(&self, signal: &Signal) -> Decision<()> {
        if self.absent {
            return Err(StoreErrorKind::NotFound);
        }
        self.check_lives_here()?;
        let mut next = self.clone();
        next.signals.push(signal.clone());
        Ok(write(next, "signal", ()))
    }

    /// Replaces the records up to a fold by it. The records after it begin in the object of the
    /// ordinal `first`.
    pub(crate) fn compact(&self, base: &Snapshot, first: u64, at: Position) -> Decision<()> {
        self.check_reaches(base.seq)?;
        let mut next = self.clone();
        (next.base, next.first) = (base.seq, first.max(self.first));
        next.folds = next.folds.split_off(&base.seq);
        next.folds.insert(base.seq, at.ordinal);
        Ok(write_with(next, "compact", vec![], vec![base.clone()], ()))
    }

    /// Forgets a fold that came with a commit.
    pub(crate) fn forget_fold(&self, seq: Seq) -> Decision<()> {
        if self.base > 0 && self.base == seq {
            let what = format!("the snapshot at {seq} stands for the records before it");
            return Err(StoreErrorKind::Invalid(what));
        }
        let mut next = self.clone();
        match next.folds.remove(&seq) {
            Some(_) => Ok(write(next, "forget", ())),
            None => Ok(Verdict::Keep(())),
        }
    }

    pub(crate) fn remove(&self) -> Verdict<()> {
        if self.absent {
            return Verdict::Keep(());
        }
        let next = Self {
            lowest_fence: self.lowest_fence.max(self.fence),
            ..Self::default()
        };
        write(next, "remove", ())
    }

    /// Checks that the position of a fold is between the compacted base and the head.
    pub(crate) fn check_reaches(&self, seq: Seq) -> Result<(), StoreErrorKind> {
        if self.status.is_none() || seq > self.head {
            Err(StoreErrorKind::NotFound)
        } else if seq < self.base {
            Err(StoreErrorKind::Compacted { base: self.base })
        } else {
            Ok(())
        }
    }
}
