//! Moving a thread from one store to another.
use fugato_state::{Millis, Seq, ThreadId, iso_8601, say};

use crate::{
    Commit, Expect, Fence, Head, LeaseOutcome, LeaseRequest, Record, Signal, Snapshot, Status,
    StoreError, StoreErrorKind, ThreadStore,
};

/// The beginning of the owner of a thread that is on its way.
const PREFIX: &str = "move: ";
/// The text between the two stores in that name.
const ARROW: &str = " => ";
/// The time to live of a lease under which nothing is written yet.
const SOON: Millis = 10_000;
/// The time to live of the lease of a move that has not come to its commit point: a hundred years.
const MOVING: Millis = 100 * 365 * 24 * 60 * 60 * 1_000;
/// The time to live of the lease that stays where a thread was: a thousand years.
const MOVED: Millis = 10 * MOVING;
/// The end of a lease from which on the thread has moved; it lies between the two.
const IS_MOVED: Millis = 20_000_000_000_000;
/// The number of records that are read at once.
const PAGE: usize = 256;

/// The way of a move: its two stores, as people call them.
///
/// Both are part of the owner under which the thread is leased while it is on its way, so they hold
/// no secrets, and are the same when the move is repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    from: String,
    to: String,
}

impl Route {
    /// Creates the way from one store to another.
    pub fn new(from: impl Into<String>, to: impl Into<String>) -> Self {
        let (from, to) = (from.into(), to.into());
        Self { from, to }
    }

    /// Reads the owner of a lease; none if it is no move.
    fn of(owner: &str) -> Option<Self> {
        let (from, to) = owner.strip_prefix(PREFIX)?.split_once(ARROW)?;
        Some(Self::new(from, to))
    }

    fn owner(&self) -> String {
        format!("{PREFIX}{}{ARROW}{}", self.from, self.to)
    }
}

/// A thread that lives in another store now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Moved {
    /// The position at which it went on there.
    pub head: Seq,
}

/// Tells who holds the lease of a thread: a move is told as one.
pub fn busy_text(owner: &str, until: Millis) -> String {
    match Route::of(owner) {
        Some(Route { from, to }) if until >= IS_MOVED => {
            say!("it moved from {from} to {to}", "它已从 {from} 移到 {to}")
        }
        Some(Route { from, to }) => say!(
            "it is on its way from {from} to {to}; repeat the move to end it",
            "它正从 {from} 移到 {to}；再移动一次即可完成"
        ),
        None => {
            let until = iso_8601(until);
            say!(
                "{owner} holds its lease until {until}",
                "{owner} 占用着它，到 {until} 为止"
            )
        }
    }
}

/// Returns true if the owner of a lease is a move, which no waiting ends.
pub fn is_move(owner: &str) -> bool {
    Route::of(owner).is_some()
}

/// Moves a thread from one store to another, where it goes on with its records, its status, the
/// nonce of its last commit, and a greater fence than before.
///
/// Nobody runs it on the way: a lease on either side keeps it, for as long as it takes. The last
/// record is written after the commit point, at which the lease of the old store becomes one for
/// ever. So at most one of the two stores is its home, wherever the move is killed. Repeating it
/// with the same [`Route`] ends what was begun, also after the commit point; a thread that has
/// arrived stays as it is.
///
/// The old store keeps the records, to be read or removed. The thread can move back, if it was not
/// compacted further than they go. Folds but the one that the log begins with stay behind, and so do
/// documents, which are no part of a log. Times of a thread are those of a store's clock, and the
/// clock of the new one counts.
///
/// # Errors
/// `NotFound` if there is no such thread; `Busy` while it runs, or after it moved elsewhere;
/// `Invalid` if the new store has another thread of this name, and then the thread stays. After any
/// other error nobody runs it until the move is repeated.
pub async fn move_thread<F: ThreadStore + ?Sized, T: ThreadStore + ?Sized>(
    thread: &ThreadId,
    from: &F,
    to: &T,
    route: &Route,
) -> Result<Moved, StoreError> {
    let work = Work {
        thread,
        owner: route.owner(),
    };
    let Some(end) = from.head(thread).await? else {
        return Err(work.refuse(StoreErrorKind::NotFound));
    };
    let (fence, has_moved) = match work.acquire(from, MOVING).await? {
        Leased::Granted(fence) => (fence, false),
        Leased::Held { owner, until } if owner == work.owner => (end.fence, until >= IS_MOVED),
        Leased::Held { owner, until } => {
            return Err(work.refuse(StoreErrorKind::Busy { owner, until }));
        }
    };
    // What was written before the lease was granted counts.
    let end = from.head(thread).await?.unwrap_or(end);
    let copy = match work.arrive(from, to, &end, has_moved).await {
        Ok(Some(copy)) => copy,
        Ok(None) => return Ok(Moved { head: end.seq }),
        Err(error) => {
            if !has_moved && matches!(error.kind, StoreErrorKind::Invalid(_)) {
                work.release(from, fence).await?;
            }
            return Err(error);
        }
    };
    let mut after = copy.after;
    let mut base = if after == 0 && end.base > 0 {
        after = end.base;
        Some(work.base(from, end.base).await?)
    } else {
        None
    };
    // All but the last record.
    while after + 1 < end.seq {
        let records = work.load(from, after, end.seq - 1).await?;
        let reached = after + records.len() as Seq;
        let commit = Commit {
            expect: Expect {
                head: after,
                fence: copy.fence,
            },
            // It is nobody's, and the same in every attempt.
            nonce: reached.into(),
            records,
            status: Status::Runnable,
            base: None,
        };
        work.write(to, &mut base, commit).await?;
        after = reached;
    }
    let mut signals = vec![];
    if !has_moved {
        signals = work.renew(from, fence, MOVED).await?;
    }
    if after < end.seq {
        let commit = Commit {
            expect: Expect {
                head: after,
                fence: copy.fence,
            },
            nonce: end.nonce,
            records: work.load(from, after, end.seq).await?,
            status: end.status,
            base: None,
        };
        work.write(to, &mut base, commit).await?;
    } else if let Some(fold) = base.take() {
        // Nothing is left but the fold. A log does not begin without a record; this one goes with
        // what is before the fold.
        let before = Snapshot {
            seq: fold.seq.saturating_sub(1),
            body: fold.body.clone(),
        };
        let commit = Commit {
            expect: Expect {
                head: 0,
                fence: copy.fence,
            },
            nonce: end.nonce,
            records: vec![Record(vec![])],
            status: end.status,
            base: Some(fold.clone()),
        };
        to.fork(thread, before, &commit).await?;
        to.compact(thread, fold).await?;
    }
    work.release(to, copy.fence).await?;
    for signal in signals {
        let thread = thread.clone();
        to.lease(LeaseRequest::Signal { thread, signal }).await?;
    }
    Ok(Moved { head: end.seq })
}

/// A thread on its way.
struct Work<'a> {
    thread: &'a ThreadId,
    owner: String,
}

/// The copy in the new store, which nobody can run.
struct Arriving {
    fence: Fence,
    /// The position up to which it is there.
    after: Seq,
}

enum Leased {
    Granted(Fence),
    Held { owner: String, until: Millis },
}

impl Work<'_> {
    /// Keeps the thread in the new store; none if it has arrived there already.
    async fn arrive<F: ThreadStore + ?Sized, T: ThreadStore + ?Sized>(
        &self,
        from: &F,
        to: &T,
        end: &Head,
        has_moved: bool,
    ) -> Result<Option<Arriving>, StoreError> {
        loop {
            // If the lease is ours after this look, then this fence is ours or an older one.
            let before = self.fence(to).await?;
            let leased = self.acquire(to, SOON).await?;
            let there = to.head(self.thread).await?;
            let fence = match (leased, there) {
                (Leased::Granted(fence), Some(there)) => {
                    if has_moved && there.base < end.base && end.base == end.seq {
                        let fold = self.base(from, end.base).await?;
                        to.compact(self.thread, fold).await?;
                    }
                    self.release(to, fence).await?;
                    if has_moved {
                        return Ok(None);
                    }
                    return Err(self.other(there.seq));
                }
                (Leased::Granted(fence), None) if has_moved => {
                    self.release(to, fence).await?;
                    return Err(self.refuse(StoreErrorKind::Invalid(say!(
                        "it moved, and was removed in the new store",
                        "它已移走，并在新的存储中被删除"
                    ))));
                }
                (Leased::Granted(fence), None) if fence <= end.fence => {
                    self.release(to, fence).await?;
                    continue;
                }
                (Leased::Granted(fence), None) => fence,
                (Leased::Held { owner, .. }, _) if owner == self.owner => before,
                // It was here once, and left: it comes back.
                (Leased::Held { owner, until }, Some(_))
                    if is_move(&owner) && until >= IS_MOVED =>
                {
                    before
                }
                (Leased::Held { .. }, Some(_)) if has_moved => return Ok(None),
                (Leased::Held { owner, until }, _) => {
                    return Err(self.refuse(StoreErrorKind::Busy { owner, until }));
                }
            };
            if let Some(there) = &there {
                self.check_same(from, to, end, there).await?;
            }
            self.renew(to, fence, MOVING).await?;
            let after = there.map_or(0, |there| there.seq);
            return Ok(Some(Arriving { fence, after }));
        }
    }

    /// Refuses a thread that is not the beginning of the one that moves.
    async fn check_same<F: ThreadStore + ?Sized, T: ThreadStore + ?Sized>(
        &self,
        from: &F,
        to: &T,
        end: &Head,
        there: &Head,
    ) -> Result<(), StoreError> {
        let is_whole = there.seq == end.seq && there.nonce == end.nonce;
        if is_whole {
            return Ok(());
        }
        if there.seq >= end.seq || there.seq < end.base {
            return Err(self.other(there.seq));
        }
        for seq in [there.base.max(end.base) + 1, there.seq] {
            if seq <= there.seq
                && seq > there.base.max(end.base)
                && from.read(self.thread, seq, 1).await? != to.read(self.thread, seq, 1).await?
            {
                return Err(self.other(there.seq));
            }
        }
        Ok(())
    }

    fn other(&self, end: Seq) -> StoreError {
        self.refuse(StoreErrorKind::Invalid(say!(
            "the new store has a thread of this name, which ends at {end}",
            "新的存储已有同名对话，到位置 {end} 为止"
        )))
    }

    /// Writes records; the first ones after a fold begin the thread.
    async fn write<T: ThreadStore + ?Sized>(
        &self,
        to: &T,
        base: &mut Option<Snapshot>,
        mut commit: Commit,
    ) -> Result<(), StoreError> {
        match base.take() {
            None => to.append(self.thread, &commit).await?,
            Some(fold) => {
                commit.expect.head = 0;
                to.fork(self.thread, fold, &commit).await?
            }
        };
        Ok(())
    }

    /// Returns the fold with which a log begins.
    async fn base<F: ThreadStore + ?Sized>(
        &self,
        from: &F,
        base: Seq,
    ) -> Result<Snapshot, StoreError> {
        let fold = from.latest_at(self.thread, base).await?;
        fold.filter(|fold| fold.seq == base)
            .ok_or_else(|| self.refuse(StoreErrorKind::Compacted { base }))
    }

    /// Reads records after a position, as many as a commit takes.
    async fn load<F: ThreadStore + ?Sized>(
        &self,
        from: &F,
        after: Seq,
        until: Seq,
    ) -> Result<Vec<Record>, StoreError> {
        let limit = usize::try_from(until - after).map_or(PAGE, |left| left.min(PAGE));
        let read = from.read(self.thread, after + 1, limit).await?;
        let mut bytes = 0;
        let records = read.into_iter().map(|(_, record)| record);
        let records: Vec<_> = records
            .take_while(|record| {
                bytes += record.0.len();
                bytes <= Commit::MAX_COMMIT
            })
            .collect();
        if records.is_empty() {
            return Err(self.refuse(StoreErrorKind::NotFound));
        }
        Ok(records)
    }

    /// Returns the fence of the newest lease, also of a thread without records.
    async fn fence<T: ThreadStore + ?Sized>(&self, to: &T) -> Result<Fence, StoreError> {
        if let Some(head) = to.head(self.thread).await? {
            return Ok(head.fence);
        }
        // A store tells the fence to whom it refuses. No thread without records has this head.
        let probe = Commit {
            expect: Expect {
                head: 1 << 40,
                fence: 0,
            },
            nonce: u128::MAX,
            records: vec![Record(vec![])],
            status: Status::Idle,
            base: None,
        };
        match to.append(self.thread, &probe).await {
            Err(StoreError {
                kind: StoreErrorKind::Conflict { fence, .. },
                ..
            }) => Ok(fence),
            Err(error) => Err(error),
            Ok(_) => Err(self.refuse(StoreErrorKind::Other)),
        }
    }

    async fn acquire<T: ThreadStore + ?Sized>(
        &self,
        log: &T,
        ttl: Millis,
    ) -> Result<Leased, StoreError> {
        let request = LeaseRequest::Acquire {
            thread: self.thread.clone(),
            owner: self.owner.clone(),
            ttl,
        };
        match log.lease(request).await {
            Ok(LeaseOutcome::Granted(leases)) => {
                let lease = leases.into_iter().next();
                let lease = lease.ok_or_else(|| self.refuse(StoreErrorKind::LeaseLost))?;
                Ok(Leased::Granted(lease.fence))
            }
            Ok(_) => Err(self.refuse(StoreErrorKind::LeaseLost)),
            Err(StoreError {
                kind: StoreErrorKind::Busy { owner, until },
                ..
            }) => Ok(Leased::Held { owner, until }),
            Err(error) => Err(error),
        }
    }

    async fn renew<T: ThreadStore + ?Sized>(
        &self,
        log: &T,
        fence: Fence,
        ttl: Millis,
    ) -> Result<Vec<Signal>, StoreError> {
        let thread = self.thread.clone();
        let request = LeaseRequest::Renew { thread, fence, ttl };
        match log.lease(request).await? {
            LeaseOutcome::Renewed { signals, .. } => Ok(signals),
            _ => Ok(vec![]),
        }
    }

    async fn release<T: ThreadStore + ?Sized>(
        &self,
        log: &T,
        fence: Fence,
    ) -> Result<(), StoreError> {
        let thread = self.thread.clone();
        let request = LeaseRequest::Release { thread, fence };
        log.lease(request).await.map(|_| ())
    }

    fn refuse(&self, kind: StoreErrorKind) -> StoreError {
        StoreError::new(kind, "move").on(self.thread)
    }
}
