//! The move itself, step by step.
use fugato_state::{Millis, Seq, ThreadId, say};

use super::{
    ARRIVING, Absence, IS_ARRIVING, MOVED, Route, SLOT, SOON, Stage, end_of_return, is_move,
};
use crate::{
    Commit, Expect, Fence, Head, LeaseOutcome, LeaseRequest, Record, Signal, Snapshot, Status,
    StoreError, StoreErrorKind, ThreadLog, ThreadStore,
};

/// The number of records that are read at once.
const PAGE: usize = 256;

/// A thread that lives in another store now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MoveReport {
    /// The position at which it went on there.
    pub head: Seq,
}

/// Finds where a thread is that a store has and cannot run because of a move; none if the store can
/// run it, or does not know it. Nothing is changed.
///
/// # Errors
/// Those of the store.
pub async fn absence<L: ThreadLog + ?Sized>(
    log: &L,
    thread: &ThreadId,
) -> Result<Option<Absence>, StoreError> {
    let head = log.head(thread).await?;
    let until = head.and_then(|head| head.leased_until);
    if until.is_none_or(|until| until < IS_ARRIVING) {
        return Ok(None);
    }
    // A lease that lasts so long is granted to nobody else: this only asks for its owner.
    let owner = "a look".to_owned();
    let work = Work { thread, owner };
    match work.acquire(log, SOON).await? {
        LeaseAttempt::Held { owner, until } => {
            Ok(Route::of(&owner).map(|route| Absence { route, until }))
        }
        LeaseAttempt::Granted(fence) => work.release(log, fence).await.map(|()| None),
    }
}

/// Moves a thread from one store to another, where it goes on with its records, its status and the
/// nonce of its last commit. Its fences are those of the new store, which mean nothing in the old one.
///
/// The old store runs it until all but its last record is in the new one. Then a lease of seconds
/// keeps it there, and the commit point makes that a lease for ever. The last record is written
/// after it, so at most one of the two stores is the thread's home, wherever the move is killed:
/// before the commit point it goes on in the old store when the lease has ended, and after it the
/// same [`Route`] ends what was begun, as often as it is repeated. A thread that has arrived stays as
/// it is.
///
/// The old store keeps the records, to be read or removed. The thread can move back, if it was not
/// compacted further than they go. Folds but the one that the log begins with stay behind, and so do
/// documents, which are no part of a log. A signal that nobody received before the commit point is
/// passed on at the end, and is lost if the move is killed in between. Times of a thread are those
/// of a store's clock, and the clock of the new one counts.
///
/// # Errors
/// `NotFound` if there is no such thread; `Busy` while it runs, while another process moves it, or
/// after it moved elsewhere; `Invalid` if the new store has another thread of this name, and then the
/// thread stays.
pub async fn move_thread<F: ThreadStore + ?Sized, T: ThreadStore + ?Sized>(
    thread: &ThreadId,
    from: &F,
    to: &T,
    route: &Route,
) -> Result<MoveReport, StoreError> {
    let work = Work {
        thread,
        owner: route.owner(),
    };
    let seen = work.end(from).await?;
    let has_moved = seen.leased_until.is_some() && work.has_left(from).await?;
    // Once it has left, nothing changes there any more.
    let mut end = work.end(from).await?;
    let mut fence = seen.fence;
    let Some(mut copy) = work.arrive((from, to), &end, has_moved).await? else {
        return Ok(MoveReport { head: end.seq });
    };
    work.fill((from, to), &mut copy, &end).await?;
    if !has_moved {
        fence = match work.acquire(from, SOON).await? {
            LeaseAttempt::Granted(fence) => fence,
            LeaseAttempt::Held { owner, until } => {
                return Err(work.refuse(StoreErrorKind::Busy { owner, until }));
            }
        };
        // What came until then.
        let filled = async {
            end = work.end(from).await?;
            work.fill((from, to), &mut copy, &end).await
        };
        if let Err(error) = filled.await {
            // Nobody else knows this fence. If it fails, the lease ends with its time.
            let _ = work.release(from, fence).await;
            return Err(error);
        }
    }
    let signals = work.renew(from, fence, MOVED).await?;
    work.finish((from, to), copy, &end).await?;
    for signal in signals {
        let thread = thread.clone();
        to.lease(LeaseRequest::Signal { thread, signal }).await?;
    }
    Ok(MoveReport { head: end.seq })
}

/// A thread on its way.
struct Work<'a> {
    thread: &'a ThreadId,
    owner: String,
}

/// The copy in the new store, which nobody can run.
struct Arriving {
    fence: Fence,
    /// The position up to which it is there; 0 if nothing is.
    there: Seq,
    /// True if the thread was there before.
    returns: bool,
}

enum LeaseAttempt {
    Granted(Fence),
    Held { owner: String, until: Millis },
}

impl Work<'_> {
    /// Returns the end of the thread in the old store.
    async fn end<F: ThreadStore + ?Sized>(&self, from: &F) -> Result<Head, StoreError> {
        let end = from.head(self.thread).await?;
        end.ok_or_else(|| self.refuse(StoreErrorKind::NotFound))
    }

    /// Returns true if this move is past its commit point. Refuses a thread that somebody holds.
    async fn has_left<F: ThreadStore + ?Sized>(&self, from: &F) -> Result<bool, StoreError> {
        match self.acquire(from, SOON).await? {
            LeaseAttempt::Granted(fence) => self.release(from, fence).await.map(|()| false),
            LeaseAttempt::Held { owner, until }
                if owner == self.owner && Stage::of(until) == Stage::Moved =>
            {
                Ok(true)
            }
            LeaseAttempt::Held { owner, until } => {
                Err(self.refuse(StoreErrorKind::Busy { owner, until }))
            }
        }
    }

    /// Keeps the thread in the new store; none if it has arrived there already.
    async fn arrive<F: ThreadStore + ?Sized, T: ThreadStore + ?Sized>(
        &self,
        (from, to): (&F, &T),
        end: &Head,
        has_moved: bool,
    ) -> Result<Option<Arriving>, StoreError> {
        let back = end_of_return(&self.owner);
        // If the lease is ours after this look, then this fence is ours or an older one.
        let before = self.fence(to).await?;
        let leased = self.acquire(to, SOON).await?;
        let there = to.head(self.thread).await?;
        let (fence, ttl, there) = match (leased, there) {
            (LeaseAttempt::Granted(fence), Some(there)) => {
                self.release(to, fence).await?;
                if !has_moved {
                    return Err(self.other(there.seq));
                }
                self.drop_stand_in((from, to), end).await?;
                return Ok(None);
            }
            (LeaseAttempt::Granted(fence), None) if has_moved => {
                self.release(to, fence).await?;
                return Err(self.refuse(StoreErrorKind::Invalid(say!(
                    "it moved, and was removed in the new store",
                    "它已移走，并在新的存储中被删除"
                ))));
            }
            (LeaseAttempt::Granted(fence), None) => (fence, ARRIVING, None),
            (LeaseAttempt::Held { owner, .. }, there) if owner == self.owner => {
                (before, ARRIVING, there)
            }
            (LeaseAttempt::Held { owner, until }, Some(there))
                if is_move(&owner) && until.abs_diff(back) < SLOT.cast_unsigned() / 2 =>
            {
                (before, back.saturating_sub(there.now), Some(there))
            }
            (LeaseAttempt::Held { .. }, Some(_)) if has_moved => {
                self.drop_stand_in((from, to), end).await?;
                return Ok(None);
            }
            // It was here once, and left: it comes back.
            (LeaseAttempt::Held { owner, until }, Some(there))
                if is_move(&owner)
                    && matches!(Stage::of(until), Stage::Moved | Stage::Returning) =>
            {
                (before, back.saturating_sub(there.now), Some(there))
            }
            (LeaseAttempt::Held { owner, until }, _) => {
                return Err(self.refuse(StoreErrorKind::Busy { owner, until }));
            }
        };
        if let Some(there) = &there {
            self.check_same((from, to), end, there).await?;
        }
        self.renew(to, fence, ttl).await?;
        let there = there.map_or(0, |there| there.seq);
        Ok(Some(Arriving {
            fence,
            there,
            returns: ttl != ARRIVING,
        }))
    }

    /// Returns the position after which records are missing in the new store, with the fold before
    /// them if nothing is there.
    async fn missing<F: ThreadStore + ?Sized>(
        &self,
        from: &F,
        copy: &Arriving,
        end: &Head,
    ) -> Result<(Seq, Option<Snapshot>), StoreError> {
        match copy.there {
            0 if end.base > 0 => Ok((end.base, Some(self.base(from, end.base).await?))),
            there if there < end.base => Err(self.other(there)),
            there => Ok((there, None)),
        }
    }

    /// Writes all that is missing but the last record.
    async fn fill<F: ThreadStore + ?Sized, T: ThreadStore + ?Sized>(
        &self,
        (from, to): (&F, &T),
        copy: &mut Arriving,
        end: &Head,
    ) -> Result<(), StoreError> {
        let (mut after, mut base) = self.missing(from, copy, end).await?;
        while after + 1 < end.seq {
            let records = self.load(from, after, end.seq - 1).await?;
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
            self.write(to, base.take(), commit).await?;
            (after, copy.there) = (reached, reached);
        }
        Ok(())
    }

    /// Writes the last record, and lets the new store run the thread.
    async fn finish<F: ThreadStore + ?Sized, T: ThreadStore + ?Sized>(
        &self,
        (from, to): (&F, &T),
        copy: Arriving,
        end: &Head,
    ) -> Result<(), StoreError> {
        let (after, base) = self.missing(from, &copy, end).await?;
        let commit = Commit {
            expect: Expect {
                head: after,
                fence: copy.fence,
            },
            nonce: end.nonce,
            // A log does not begin without a record; where only the fold is left, this one stands
            // for what is before it.
            records: vec![Record(vec![])],
            status: end.status,
            base: None,
        };
        if after < end.seq {
            let records = self.load(from, after, end.seq).await?;
            let commit = Commit { records, ..commit };
            self.write(to, base, commit).await?;
        } else if let Some(fold) = base {
            let before = Snapshot {
                seq: fold.seq.saturating_sub(1),
                body: fold.body.clone(),
            };
            let base = Some(fold);
            self.write(to, Some(before), Commit { base, ..commit })
                .await?;
        }
        self.drop_stand_in((from, to), end).await?;
        self.release(to, copy.fence).await?;
        // A store that ships tells its copy with the first lease that the thread lives there again.
        if copy.returns
            && let LeaseAttempt::Granted(fence) = self.acquire(to, SOON).await?
        {
            self.release(to, fence).await?;
        }
        Ok(())
    }

    /// Drops the record that stands for a fold which is all there is, whoever has the thread by now.
    async fn drop_stand_in<F: ThreadStore + ?Sized, T: ThreadStore + ?Sized>(
        &self,
        (from, to): (&F, &T),
        end: &Head,
    ) -> Result<(), StoreError> {
        if end.base != end.seq {
            return Ok(());
        }
        let there = to.head(self.thread).await?;
        let is_fold = there.is_some_and(|there| there.base + 1 == end.seq);
        if !is_fold || to.read(self.thread, end.seq, 1).await? != [(end.seq, Record(vec![]))] {
            return Ok(());
        }
        let fold = self.base(from, end.base).await?;
        to.compact(self.thread, fold).await
    }

    /// Refuses a thread that is not the beginning of the one that moves.
    async fn check_same<F: ThreadStore + ?Sized, T: ThreadStore + ?Sized>(
        &self,
        (from, to): (&F, &T),
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
            "the new store has a thread of this name, which ends at {end} and is no beginning of this \
             one; if a move left it there, delete it there",
            "新的存储已有同名对话，到位置 {end} 为止，不是它的开头；如果是移动留下的，请在那里删除"
        )))
    }

    /// Writes records; the first ones after a fold begin the thread.
    async fn write<T: ThreadStore + ?Sized>(
        &self,
        to: &T,
        base: Option<Snapshot>,
        mut commit: Commit,
    ) -> Result<(), StoreError> {
        match base {
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

    async fn acquire<T: ThreadLog + ?Sized>(
        &self,
        log: &T,
        ttl: Millis,
    ) -> Result<LeaseAttempt, StoreError> {
        let request = LeaseRequest::Acquire {
            thread: self.thread.clone(),
            owner: self.owner.clone(),
            ttl,
        };
        match log.lease(request).await {
            Ok(LeaseOutcome::Granted(leases)) => {
                let lease = leases.into_iter().next();
                let lease = lease.ok_or_else(|| self.refuse(StoreErrorKind::LeaseLost))?;
                Ok(LeaseAttempt::Granted(lease.fence))
            }
            Ok(_) => Err(self.refuse(StoreErrorKind::LeaseLost)),
            Err(StoreError {
                kind: StoreErrorKind::Busy { owner, until },
                ..
            }) => Ok(LeaseAttempt::Held { owner, until }),
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

    async fn release<T: ThreadLog + ?Sized>(
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
