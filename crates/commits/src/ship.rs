//! A store whose threads are copied as they are written.
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use fugato_state::{Seq, ThreadId, say};
use fugato_store::{
    AppendResult, Commit, Head, Lease, LeaseOutcome, LeaseRequest, Record, Snapshot, Snapshots,
    StoreError, StoreErrorKind, ThreadAdmin, ThreadFilter, ThreadLog, ThreadStore, ThreadSummary,
    absence, is_departure,
};

use crate::{
    CommitLog, Home,
    copy::{Parcel, ParcelEnd},
    error::Fault,
};

/// The records that are read at once to be shipped.
pub(crate) const PAGE: usize = 100;
/// The threads that are remembered as in step.
const REMEMBERED: usize = 10_000;

/// A store that ships: every commit is written here first, and acknowledged only when it is in the
/// copy as well.
///
/// A commit whose copy fails is `Unavailable`, and its repeat ships it. Whoever leases a thread, or
/// appends to it without having done so before, first ships what an earlier process left behind.
/// Nothing is acknowledged that the copy lacks, so the copy alone is enough to go on.
///
/// A copy takes commits of its [`Home`] alone. After it was restored elsewhere, this store
/// acknowledges nothing of the thread any more: `Invalid` says why.
///
/// A thread that moves from here to another store ([`move_thread`](fugato_store::move_thread)) takes
/// its copy along: before it is whole there, the copy is told, and from then on nobody restores it.
///
/// Signals and separate snapshots are not shipped: a signal that nobody received yet is lost with
/// the store, and a snapshot costs the time of folding again.
#[derive(derive_more::Debug)]
#[debug("ShippingLog {{ home: {home}, copy: {copy:?}, .. }}")]
pub struct ShippingLog<L> {
    local: L,
    copy: CommitLog,
    home: Home,
    /// The heads up to which this process knows the copy to agree.
    in_step: Mutex<HashMap<ThreadId, Seq>>,
}

impl<L: ThreadStore> ShippingLog<L> {
    /// Creates a store that ships what is written to `local` into `copy`. The home is that of the
    /// local store: all its processes name the same one, and it goes when the store goes.
    pub fn new(local: L, copy: CommitLog, home: Home) -> Self {
        Self {
            local,
            copy,
            home,
            in_step: Mutex::default(),
        }
    }

    fn in_step(&self) -> MutexGuard<'_, HashMap<ThreadId, Seq>> {
        self.in_step.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, thread: &ThreadId, head: Seq) {
        let mut in_step = self.in_step();
        if in_step.len() >= REMEMBERED {
            in_step.clear();
        }
        in_step.insert(thread.clone(), head);
    }

    /// Ships what the copy of a thread lacks, and returns the position up to which it agrees.
    ///
    /// # Errors
    /// `Invalid` if the copy belongs to another home, or knows more than this store.
    pub async fn catch_up(&self, thread: &ThreadId) -> Result<Seq, StoreError> {
        self.in_step().remove(thread);
        // Each time another process shipped, or wrote, at the same time.
        for _ in 0..3 {
            match self.try_to_catch_up(thread).await {
                Err(error) if error.is_conflict() => {}
                Err(error) => return Err(error),
                Ok(head) => {
                    self.remember(thread, head);
                    return Ok(head);
                }
            }
        }
        Err(StoreError::new(StoreErrorKind::Unavailable, "ship").on(thread))
    }

    async fn try_to_catch_up(&self, thread: &ThreadId) -> Result<Seq, StoreError> {
        let failed = Fault::of("ship", thread);
        let invalid = |what: String| failed(StoreErrorKind::Invalid(what).into());
        let known = self.copy.copied(thread).await.map_err(&failed)?;
        let copy = known.state;
        copy.check_home(self.home)
            .map_err(|kind| failed(kind.into()))?;
        let Some(head) = self.local.head(thread).await? else {
            if copy.status.is_none() {
                return Ok(0);
            }
            return Err(invalid(say!(
                "the copy has this thread, and this store has not: restore it, or delete it",
                "副本里有这个对话，而这个存储里没有：请恢复它，或者删除它"
            )));
        };
        if copy.holds(head.seq, Some(head.nonce)) {
            return Ok(head.seq);
        }
        if copy.head >= head.seq && copy.status.is_some() {
            return Err(invalid(say!(
                "the copy knows more of this thread than this store, or otherwise: restore it, or \
                 ship to another place",
                "关于这个对话，副本比这个存储知道得更多，或者内容不同：请恢复它，或者换一个地方存副本"
            )));
        }
        let (start, mut after) = if copy.status.is_none() || copy.head < head.base {
            let fold = self.local.latest_at(thread, head.base).await?;
            (fold.filter(|fold| fold.seq == head.base), head.base)
        } else {
            self.check_agrees(thread, copy.base, copy.head).await?;
            (None, copy.head)
        };
        if start.is_none() && after > copy.head {
            // It was compacted once more meanwhile.
            return Err(failed(StoreErrorKind::Unavailable.into()));
        }
        let mut start = start;
        loop {
            let records = self.load(thread, after, head.seq).await?;
            let reached = after.saturating_add(records.len() as Seq);
            let parcel = Parcel {
                start: start.take(),
                after,
                records,
                end: (reached == head.seq).then_some(ParcelEnd {
                    nonce: head.nonce,
                    status: head.status,
                    fence: head.fence,
                    base: None,
                }),
            };
            let received = self.copy.receive(thread, self.home, &parcel).await;
            received.map_err(&failed)?;
            if reached == head.seq {
                return Ok(reached);
            }
            after = reached;
        }
    }

    /// Checks that the last record of a copy is what stands here in its place.
    async fn check_agrees(
        &self,
        thread: &ThreadId,
        base: Seq,
        head: Seq,
    ) -> Result<(), StoreError> {
        if head == base {
            return Ok(());
        }
        let copied = self.copy.read(thread, head, 1).await?;
        match self.local.read(thread, head, 1).await {
            Ok(own) if own == copied => Ok(()),
            Err(error) if matches!(error.kind, StoreErrorKind::Compacted { .. }) => Ok(()),
            Err(error) => Err(error),
            Ok(_) => {
                let what = "the copy holds another history of this thread; ship to another place";
                let kind = StoreErrorKind::Invalid(what.into());
                Err(StoreError::new(kind, "ship").on(thread))
            }
        }
    }

    /// Reads records up to a position, as many as one commit may have.
    async fn load(
        &self,
        thread: &ThreadId,
        after: Seq,
        end: Seq,
    ) -> Result<Vec<Record>, StoreError> {
        load(&self.local, thread, after, end).await
    }

    /// Ships a commit that was just written.
    async fn ship(
        &self,
        thread: &ThreadId,
        commit: &Commit,
        head: Seq,
        before: Seq,
    ) -> Result<(), StoreError> {
        let len = commit.records.len() as Seq;
        if before.checked_add(len) == Some(head) {
            let parcel = Parcel {
                start: None,
                after: before,
                records: commit.records.clone(),
                end: Some(ParcelEnd {
                    nonce: commit.nonce,
                    status: commit.status,
                    fence: commit.expect.fence,
                    base: commit.base.clone(),
                }),
            };
            match self.copy.receive(thread, self.home, &parcel).await {
                Ok(()) => {
                    self.remember(thread, head);
                    return Ok(());
                }
                Err(fault) => {
                    let error = fault.during("ship").on(thread);
                    if !error.is_conflict() {
                        self.in_step().remove(thread);
                        return Err(error);
                    }
                }
            }
        }
        self.catch_up(thread).await.map(|_| ())
    }

    /// Ships what was left of a thread that was just leased, and the fence of the lease, and gives
    /// the lease back if it cannot.
    async fn begin(&self, lease: &Lease) -> Result<(), StoreError> {
        let shipped = async {
            self.catch_up(&lease.thread).await?;
            let fence = self
                .copy
                .receive_fence(&lease.thread, self.home, lease.fence);
            fence.await.map_err(Fault::of("ship", &lease.thread))
        };
        let shipped = shipped.await;
        if shipped.is_err() {
            let (thread, fence) = (lease.thread.clone(), lease.fence);
            // Otherwise it ends with its time.
            let _ = self
                .local
                .lease(LeaseRequest::Release { thread, fence })
                .await;
        }
        shipped
    }

    /// Tells the copy that a thread moves to another store.
    async fn depart(&self, thread: &ThreadId) -> Result<(), StoreError> {
        let Some(away) = absence(&self.local, thread).await? else {
            return Ok(());
        };
        let (copy, to) = (&self.copy, away.route.to());
        let told = copy.receive_departure(thread, self.home, to).await;
        told.map_err(Fault::of("ship", thread))
    }
}

/// Reads records up to a position, as many as one commit may have.
pub(crate) async fn load(
    from: &(impl ThreadLog + ?Sized),
    thread: &ThreadId,
    after: Seq,
    end: Seq,
) -> Result<Vec<Record>, StoreError> {
    let (mut records, mut bytes) = (vec![], 0);
    while let next = after.saturating_add(records.len() as Seq)
        && next < end
    {
        let left = usize::try_from(end - next).unwrap_or(PAGE).min(PAGE);
        let page = from.read(thread, next + 1, left).await?;
        if page.is_empty() {
            let missing = format!("the records after {next} are missing");
            let kind = StoreErrorKind::Corrupt(missing);
            return Err(StoreError::new(kind, "read").on(thread));
        }
        for (_, record) in page {
            bytes += record.0.len();
            if bytes > Commit::MAX_COMMIT {
                return Ok(records);
            }
            records.push(record);
        }
    }
    Ok(records)
}

#[async_trait]
impl<L: ThreadStore> ThreadLog for ShippingLog<L> {
    async fn append(&self, thread: &ThreadId, commit: &Commit) -> Result<AppendResult, StoreError> {
        let known = self.in_step().get(thread).copied();
        let before = match known {
            Some(before) => before,
            None => self.catch_up(thread).await?,
        };
        let appended = self.local.append(thread, commit).await?;
        self.ship(thread, commit, appended.head, before).await?;
        Ok(appended)
    }

    async fn read(
        &self,
        thread: &ThreadId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, Record)>, StoreError> {
        self.local.read(thread, from, limit).await
    }

    async fn head(&self, thread: &ThreadId) -> Result<Option<Head>, StoreError> {
        self.local.head(thread).await
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseOutcome, StoreError> {
        let departs = match &request {
            LeaseRequest::Renew { thread, .. } if is_departure(&request) => Some(thread.clone()),
            _ => None,
        };
        let outcome = self.local.lease(request).await?;
        if let Some(thread) = departs {
            self.depart(&thread).await?;
        }
        let LeaseOutcome::Granted(leases) = outcome else {
            return Ok(outcome);
        };
        let (mut begun, mut refused) = (vec![], None);
        for lease in leases {
            match self.begin(&lease).await {
                Ok(()) => begun.push(lease),
                Err(error) => refused = Some(error),
            }
        }
        // A thread that cannot be shipped does not keep a worker from the others.
        match refused {
            Some(error) if begun.is_empty() => Err(error),
            _ => Ok(LeaseOutcome::Granted(begun)),
        }
    }
}

#[async_trait]
impl<L: ThreadStore> Snapshots for ShippingLog<L> {
    async fn put(&self, thread: &ThreadId, snapshot: Snapshot) -> Result<(), StoreError> {
        self.local.put(thread, snapshot).await
    }

    async fn latest_at(&self, thread: &ThreadId, seq: Seq) -> Result<Option<Snapshot>, StoreError> {
        self.local.latest_at(thread, seq).await
    }

    async fn delete(&self, thread: &ThreadId, seq: Seq) -> Result<(), StoreError> {
        self.local.delete(thread, seq).await
    }
}

#[async_trait]
impl<L: ThreadStore> ThreadAdmin for ShippingLog<L> {
    async fn list(&self, filter: ThreadFilter) -> Result<Vec<ThreadSummary>, StoreError> {
        self.local.list(filter).await
    }

    async fn fork(
        &self,
        thread: &ThreadId,
        base: Snapshot,
        commit: &Commit,
    ) -> Result<AppendResult, StoreError> {
        self.catch_up(thread).await?;
        let forked = self.local.fork(thread, base, commit).await?;
        self.catch_up(thread).await?;
        Ok(forked)
    }

    async fn compact(&self, thread: &ThreadId, base: Snapshot) -> Result<(), StoreError> {
        self.catch_up(thread).await?;
        self.local.compact(thread, base.clone()).await?;
        self.copy.compact(thread, base).await
    }

    async fn remove(&self, thread: &ThreadId) -> Result<(), StoreError> {
        let failed = Fault::of("remove", thread);
        // The copy goes first: what was removed is never restored.
        let known = self.copy.copied(thread).await.map_err(&failed)?;
        known
            .state
            .check_home(self.home)
            .map_err(|kind| failed(kind.into()))?;
        self.in_step().remove(thread);
        self.copy.remove(thread).await?;
        self.local.remove(thread).await
    }
}
