//! Opening a copy: its thread goes on in another store.
use fugato_state::{Millis, Seq, ThreadId, say};
use fugato_store::{
    Commit, Expect, Fence, Head, Lease, LeaseOutcome, LeaseRequest, Snapshot, Snapshots as _,
    Status, StoreError, StoreErrorKind, ThreadStore,
};

use crate::{
    CommitLog, Home,
    chain::{ChainEnd, Turn},
    copy::{CopyOf, ParcelEnd},
    error::Fault,
    layout::{Position, ThreadKey},
    ship::load,
};

/// The owner of a lease on a thread that is being restored.
const OWNER: &str = "a restore that has not ended";
/// The time to live of that lease while nothing is written yet. A thread of one commit needs no
/// longer one.
const SOON: Millis = 10_000;
/// The time to live of that lease if the thread is written in several commits: a hundred years, so
/// that nobody goes on with a part of it.
const LONG: Millis = 100 * 365 * 24 * 60 * 60 * 1_000;

/// The most leases that are given out one after the other. Some stores, such as MySQL, begin with
/// numbers in the billions.
const MOST_LEASES: Fence = 1_000_000;

/// The place of a log at which a thread goes on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RestorePoint {
    /// The last commit.
    #[default]
    Newest,
    /// The last commit that was shipped until a time, in milliseconds since the Unix epoch.
    Time(Millis),
    /// The commit that ends at a position.
    Position(Seq),
}

/// A thread that was restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RestoreReport {
    /// The position at which it goes on.
    pub head: Seq,
    /// The positions after it, which the copy keeps; 0 if it goes on at the end. Otherwise the new
    /// home needs another place to ship to.
    pub left_behind: Seq,
}

impl CommitLog {
    /// Returns the home of the copy of a thread; none if no copy of it is here.
    pub async fn home(&self, thread: &ThreadId) -> Result<Option<Home>, StoreError> {
        let known = self.copied(thread).await;
        let state = known.map_err(Fault::of("read the copy of", thread))?.state;
        Ok(state.copy.map(|copy| copy.home))
    }

    /// Returns the store to which a thread moved from the home of its copy; none if it lives there,
    /// or no copy of it is here.
    pub async fn moved_to(&self, thread: &ThreadId) -> Result<Option<String>, StoreError> {
        let known = self.copied(thread).await;
        let known = known.map_err(Fault::of("read the copy of", thread))?;
        Ok(known.state.moved_to)
    }

    /// Returns the threads of which copies are here, in the order of their names, also those that
    /// were leased and never written: a later home grants none of their fences.
    pub async fn copies(&self) -> Result<Vec<ThreadId>, StoreError> {
        let copies = async {
            let mut copies = vec![];
            for thread in self.names().await? {
                let known = self.copied(&thread).await?;
                copies.extend(known.state.copy.map(|_| thread));
            }
            Ok(copies)
        };
        copies
            .await
            .map_err(|fault: Fault| fault.during("list copies"))
    }

    /// Writes the copy of a thread into a store, its new home, where it goes on with its records,
    /// its status, the nonce of its last commit, and a greater fence than before.
    ///
    /// From then on the copy belongs to that home. The old one, if it is alive after all, ships
    /// nothing more of the thread, and so acknowledges nothing: call this only with the consent of
    /// somebody who knows that it is dead. A store that writes without shipping is not stopped.
    ///
    /// Repeating it after a crash ends what was begun. The new home needs as many leases as the
    /// thread ever had, since a store gives out fences one by one.
    ///
    /// # Errors
    /// `NotFound` if there is no copy, no whole commit at this point, or it was compacted;
    /// `Invalid` if the store has a thread of this name, or grants fences that are far from those of
    /// the copy, or if the thread moved from its home to another store;
    /// `Busy` for ten seconds after a crash.
    pub async fn restore<L: ThreadStore + ?Sized>(
        &self,
        thread: &ThreadId,
        to: &L,
        home: Home,
        point: RestorePoint,
    ) -> Result<RestoreReport, StoreError> {
        let failed = Fault::of("restore", thread);
        let known = self.copied(thread).await.map_err(&failed)?;
        if known.state.copy.is_none() {
            return Err(failed(StoreErrorKind::NotFound.into()));
        }
        let stays = known.state.check_stays();
        stays.map_err(|kind| failed(kind.into()))?;
        let found = self.commit_at(thread, &known, point).await;
        let (head, end) = found.map_err(&failed)?;
        let mut work = Work {
            thread,
            to,
            head,
            end,
            base: known.state.base,
            only_base: None,
            now: self.chain.now(),
        };
        if work.base == head {
            work.only_base = self.fold_at(&work).await?;
        }
        if let Some((from, fence)) = work.begin(known.state.fence).await? {
            let given = async {
                let key = ThreadKey::of(thread);
                let give = |turn: Turn<'_>| turn.state.give(home);
                self.chain.change(&key, Some(thread), give).await?;
                // The old home may have shipped a last commit before the copy was taken from it.
                let now = self.copied(thread).await?;
                if now.state.head == known.state.head {
                    Ok(())
                } else {
                    Err(Fault::from(StoreErrorKind::Unavailable))
                }
            };
            if let Err(fault) = given.await {
                if from == 0 {
                    // Otherwise it ends with its time.
                    let _ = work.release(fence).await;
                }
                return Err(failed(fault));
            }
            // Where this fails, nobody goes on with what is written so far: the next attempt does.
            self.write(&work, from, fence).await?;
            work.release(fence).await?;
        }
        Ok(RestoreReport {
            head,
            left_behind: known.state.head.saturating_sub(head),
        })
    }

    /// Finds the whole commit of a point: its position, and how the log stood after it.
    async fn commit_at(
        &self,
        thread: &ThreadId,
        known: &ChainEnd,
        point: RestorePoint,
    ) -> Result<(Seq, ParcelEnd), Fault> {
        let key = ThreadKey::of(thread);
        let at = known.at.ok_or(StoreErrorKind::NotFound)?;
        let mut ordinal = at.ordinal;
        loop {
            let here = Position { ordinal, ..at };
            let object = self.object(&key, here).await?;
            let object = object.ok_or(StoreErrorKind::NotFound)?;
            let state = object.state;
            let fits = match point {
                RestorePoint::Newest => true,
                RestorePoint::Time(time) => object.time <= time,
                RestorePoint::Position(seq) => state.head <= seq,
            };
            let is_begun = state.status.is_some() || known.state.status.is_none();
            if fits && is_begun && matches!(state.copy, Some(CopyOf { whole: true, .. })) {
                if state.head < known.state.base {
                    let base = known.state.base;
                    return Err(StoreErrorKind::Compacted { base }.into());
                }
                if let RestorePoint::Position(seq) = point
                    && state.head != seq
                {
                    let head = state.head;
                    let what = say!(
                        "no commit ends at {seq}; the last one before ends at {head}",
                        "没有在第 {seq} 条结束的提交；之前最近的一次到第 {head} 条为止"
                    );
                    return Err(StoreErrorKind::Invalid(what).into());
                }
                let end = ParcelEnd {
                    nonce: state.nonce,
                    status: state.status.unwrap_or(Status::Runnable),
                    fence: state.fence,
                    base: None,
                };
                return Ok((state.head, end));
            }
            if ordinal <= known.state.first {
                return Err(StoreErrorKind::NotFound.into());
            }
            ordinal -= 1;
        }
    }

    /// Returns the fold with which a log begins.
    async fn fold_at<L: ThreadStore + ?Sized>(
        &self,
        work: &Work<'_, L>,
    ) -> Result<Option<Snapshot>, StoreError> {
        let fold = self.latest_at(work.thread, work.base).await?;
        Ok(fold.filter(|fold| fold.seq == work.base))
    }

    /// Writes the records after `from`.
    async fn write<L: ThreadStore + ?Sized>(
        &self,
        work: &Work<'_, L>,
        from: Seq,
        fence: Fence,
    ) -> Result<(), StoreError> {
        let thread = work.thread;
        let (mut base, mut after) = (None, from);
        if from == 0 {
            if let Some(fold) = &work.only_base {
                return work.begin_at_base(fold, fence).await;
            }
            base = self.fold_at(work).await?;
            after = work.base;
        }
        while after < work.head {
            let records = load(self, thread, after, work.head).await?;
            let reached = after.saturating_add(records.len() as Seq);
            let is_last = reached == work.head;
            if !is_last {
                work.hold(fence).await?;
            }
            let commit = Commit {
                expect: Expect { head: after, fence },
                // The others are nobody's, and the same in every attempt.
                nonce: if is_last {
                    work.end.nonce
                } else {
                    reached.into()
                },
                records,
                status: if is_last {
                    work.end.status
                } else {
                    Status::Runnable
                },
                base: None,
            };
            match base.take() {
                None => work.to.append(thread, &commit).await?,
                Some(fold) => {
                    let expect = Expect { head: 0, fence };
                    let commit = Commit { expect, ..commit };
                    work.to.fork(thread, fold, &commit).await?
                }
            };
            after = reached;
        }
        Ok(())
    }
}

/// A thread on its way into a store.
struct Work<'a, L: ?Sized> {
    thread: &'a ThreadId,
    to: &'a L,
    head: Seq,
    end: ParcelEnd,
    base: Seq,
    /// The fold that is all there is, if there are no records after it.
    only_base: Option<Snapshot>,
    now: Millis,
}

impl<L: ThreadStore + ?Sized> Work<'_, L> {
    /// Leases the thread under a greater fence than that of its copy, and returns the position up
    /// to which it is there; none if it is there already.
    async fn begin(&self, above: Fence) -> Result<Option<(Seq, Fence)>, StoreError> {
        loop {
            let leased = self.lease(SOON).await;
            let there = self.to.head(self.thread).await?;
            let is_end = |there: &Head| (there.seq, there.nonce) == (self.head, self.end.nonce);
            match (leased, there) {
                (Ok(lease), Some(there)) if is_end(&there) => {
                    self.finish(&there).await?;
                    self.release(lease.fence).await?;
                    return Ok(None);
                }
                (Ok(lease), Some(there)) => {
                    self.release(lease.fence).await?;
                    let end = there.seq;
                    return Err(self.refuse(StoreErrorKind::Invalid(say!(
                        "the store has a thread of this name, which ends at {end}",
                        "存储里已有同名的对话，到第 {end} 条为止"
                    ))));
                }
                (Ok(lease), None) if lease.fence > above => return Ok(Some((0, lease.fence))),
                (Ok(lease), None) => {
                    self.release(lease.fence).await?;
                    if above - lease.fence > MOST_LEASES {
                        let fence = lease.fence;
                        return Err(self.refuse(StoreErrorKind::Invalid(say!(
                            "its leases had numbers up to {above}, and those of this store begin at \
                             {fence}: too far apart to be given out one by one",
                            "它的租约编号到 {above} 为止，而这个存储从 {fence} 开始：相差太多，无法逐个发放"
                        ))));
                    }
                }
                // An earlier attempt came so far.
                (Err(error), Some(there)) if is_ours(&error) => {
                    if is_end(&there) {
                        self.finish(&there).await?;
                        self.release(there.fence).await?;
                        return Ok(None);
                    }
                    return Ok(Some((there.seq, there.fence)));
                }
                // It kept the thread for long, and wrote nothing.
                (Err(error), None) if is_ours(&error) && self.is_long(&error) => {
                    self.to.remove(self.thread).await?;
                }
                (Err(error), _) => return Err(error),
            }
        }
    }

    /// Drops the record that only stood for the fold.
    async fn finish(&self, there: &Head) -> Result<(), StoreError> {
        match &self.only_base {
            Some(fold) if there.base < fold.seq => self.to.compact(self.thread, fold.clone()).await,
            _ => Ok(()),
        }
    }

    fn is_long(&self, error: &StoreError) -> bool {
        let long = self.now.saturating_add(LONG / 2);
        matches!(&error.kind, StoreErrorKind::Busy { until, .. } if *until > long)
    }

    /// Creates a thread of which nothing is left but its fold.
    async fn begin_at_base(&self, fold: &Snapshot, fence: Fence) -> Result<(), StoreError> {
        self.hold(fence).await?;
        let before = Snapshot {
            seq: fold.seq.saturating_sub(1),
            body: fold.body.clone(),
        };
        let commit = Commit {
            expect: Expect { head: 0, fence },
            nonce: self.end.nonce,
            // A log does not begin without a record; it goes with what is before the fold.
            records: vec![fugato_store::Record(vec![])],
            status: self.end.status,
            base: Some(fold.clone()),
        };
        self.to.fork(self.thread, before, &commit).await?;
        self.to.compact(self.thread, fold.clone()).await
    }

    async fn lease(&self, ttl: Millis) -> Result<Lease, StoreError> {
        let request = LeaseRequest::Acquire {
            thread: self.thread.clone(),
            owner: OWNER.into(),
            ttl,
        };
        match self.to.lease(request).await? {
            LeaseOutcome::Granted(leases) => leases.into_iter().next(),
            _ => None,
        }
        .ok_or_else(|| self.refuse(StoreErrorKind::LeaseLost))
    }

    /// Keeps the thread to this work for as long as it takes.
    async fn hold(&self, fence: Fence) -> Result<(), StoreError> {
        let (thread, ttl) = (self.thread.clone(), LONG);
        let request = LeaseRequest::Renew { thread, fence, ttl };
        self.to.lease(request).await.map(|_| ())
    }

    async fn release(&self, fence: Fence) -> Result<(), StoreError> {
        let thread = self.thread.clone();
        let request = LeaseRequest::Release { thread, fence };
        self.to.lease(request).await.map(|_| ())
    }

    fn refuse(&self, kind: StoreErrorKind) -> StoreError {
        StoreError::new(kind, "restore").on(self.thread)
    }
}

fn is_ours(error: &StoreError) -> bool {
    matches!(&error.kind, StoreErrorKind::Busy { owner, .. } if owner == OWNER)
}
