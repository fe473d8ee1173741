use std::sync::Arc;

use async_trait::async_trait;
use fugato_state::{Seq, ThreadId};
use fugato_store::{
    AppendResult, Commit, Head, Lease, LeaseOutcome, LeaseRequest, Record, StoreError,
    StoreErrorKind, ThreadLog,
};
use futures::{StreamExt as _, TryStreamExt as _, stream};

use crate::{
    chain::{Chain, ChainEnd, FoundObject},
    error::Fault,
    layout::{Position, ThreadKey},
    object::Object,
    options::millis,
};

/// The number of objects that are read at the same time.
pub(crate) const PARALLEL: usize = 8;

/// The logs of many threads as objects in a folder, in memory or in a bucket. Clones share what they
/// know of the threads.
///
/// A commit is one object that must not be there before, so that the store decides which of two
/// writers wins. Every log on the same objects, in whatever process, sees the same threads.
///
/// A request whose future is dropped may have been carried out or not, and other requests are not
/// affected.
#[derive(derive_more::Debug, Clone)]
#[debug("CommitLog {{ store: {}, .. }}", self.chain.store)]
pub struct CommitLog {
    pub(crate) chain: Arc<Chain>,
}

impl CommitLog {
    /// Reads records; none if objects went meanwhile, which a look at the new end explains.
    async fn read_after(
        &self,
        key: &ThreadKey,
        known: &ChainEnd,
        from: Seq,
        limit: usize,
    ) -> Result<Option<Vec<(Seq, Record)>>, Fault> {
        let state = &known.state;
        if state.status.is_some() && from <= state.base {
            return Err(StoreErrorKind::Compacted { base: state.base }.into());
        }
        let Some(at) = known.at.filter(|_| from <= state.head && limit > 0) else {
            return Ok(Some(vec![]));
        };
        let Some(start) = self.seek(key, known, from).await? else {
            return Ok(None);
        };
        let objects = stream::iter(start..=at.ordinal)
            .map(|ordinal| self.object(key, Position { ordinal, ..at }))
            .buffered(PARALLEL);
        futures::pin_mut!(objects);
        let mut records = vec![];
        while records.len() < limit
            && let Some(object) = objects.try_next().await?
        {
            let Some(object) = object else {
                return Ok(None);
            };
            let numbered = (object.before + 1..).zip(object.content.records);
            let wanted = numbered.skip_while(|(seq, _)| *seq < from);
            records.extend(wanted.take(limit - records.len()));
        }
        Ok(Some(records))
    }

    /// Returns the ordinal of the object that holds a record of the log, which must exist: the last
    /// one that begins before it. It is sought from the end, in growing steps, since most readers
    /// want the newest records.
    pub(crate) async fn seek(
        &self,
        key: &ThreadKey,
        known: &ChainEnd,
        seq: Seq,
    ) -> Result<Option<u64>, Fault> {
        let Some(at) = known.at else { return Ok(None) };
        let begins_before = async |ordinal| {
            let object = self.object(key, Position { ordinal, ..at }).await?;
            Ok::<_, Fault>(object.map(|object| object.before < seq))
        };
        // The wanted one is in `low..high`.
        let (mut low, mut high) = (known.state.first, at.ordinal + 1);
        let mut step = 1;
        while low + 1 < high {
            let middle = high.saturating_sub(step).max(low + (high - low) / 2);
            match begins_before(middle).await? {
                None => return Ok(None),
                Some(true) => low = middle,
                Some(false) => high = middle,
            }
            step *= 2;
        }
        Ok(Some(low))
    }

    /// Reads an object; none if it went.
    pub(crate) async fn object(
        &self,
        key: &ThreadKey,
        at: Position,
    ) -> Result<Option<Box<Object>>, Fault> {
        match self.chain.get(&key.object(at)).await? {
            FoundObject::Whole(object) => Ok(Some(object)),
            FoundObject::Missing | FoundObject::Blank => Ok(None),
        }
    }
}

#[async_trait]
impl ThreadLog for CommitLog {
    async fn append(&self, thread: &ThreadId, commit: &Commit) -> Result<AppendResult, StoreError> {
        let failed = Fault::of("append", thread);
        commit.check_size().map_err(|kind| failed(kind.into()))?;
        let key = ThreadKey::of(thread);
        let append = self.chain.change(&key, Some(thread), |turn| {
            turn.state.append(commit, turn.next, turn.now)
        });
        append.await.map_err(failed)
    }

    async fn read(
        &self,
        thread: &ThreadId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, Record)>, StoreError> {
        let key = ThreadKey::of(thread);
        let read = async {
            // Each time the thread was compacted or removed amid the reading.
            for _ in 0..3 {
                let known = self.chain.look(&key).await?;
                let records = self.read_after(&key, &known, from.max(1), limit).await?;
                if let Some(records) = records {
                    return Ok(records);
                }
            }
            Err(Fault::from(StoreErrorKind::Unavailable))
        };
        read.await.map_err(Fault::of("read", thread))
    }

    async fn head(&self, thread: &ThreadId) -> Result<Option<Head>, StoreError> {
        let known = self.chain.look(&ThreadKey::of(thread)).await;
        let state = known.map_err(Fault::of("read the end of", thread))?.state;
        let (now, skew) = (self.chain.now(), millis(self.chain.options.max_skew));
        Ok(state.status.map(|status| Head {
            seq: state.head,
            base: state.base,
            fence: state.fence,
            status,
            nonce: state.nonce,
            leased_until: state.leased_until(skew).filter(|until| *until > now),
            now,
        }))
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseOutcome, StoreError> {
        let chain = &self.chain;
        match request {
            LeaseRequest::Acquire { thread, owner, ttl } => {
                let lease = self.acquire(&thread, &owner, ttl).await;
                let lease = lease.map_err(Fault::of("lease", &thread))?;
                Ok(LeaseOutcome::Granted(vec![lease]))
            }
            LeaseRequest::Claim(claim) => {
                let leases = chain.claim(&claim).await;
                let leases = leases.map_err(|fault| fault.during("claim threads"))?;
                Ok(LeaseOutcome::Granted(leases))
            }
            LeaseRequest::Renew { thread, fence, ttl } => {
                let key = ThreadKey::of(&thread);
                let renew = chain.change(&key, Some(&thread), |turn| {
                    turn.state.renew(fence, ttl, turn.now)
                });
                let (until, signals) = renew.await.map_err(Fault::of("renew", &thread))?;
                Ok(LeaseOutcome::Renewed { until, signals })
            }
            LeaseRequest::Release { thread, fence } => {
                let key = ThreadKey::of(&thread);
                let release =
                    chain.change(&key, Some(&thread), |turn| Ok(turn.state.release(fence)));
                release.await.map_err(Fault::of("release", &thread))?;
                Ok(LeaseOutcome::Done)
            }
            LeaseRequest::Signal { thread, signal } => {
                let key = ThreadKey::of(&thread);
                let leave = chain.change(&key, Some(&thread), |turn| turn.state.signal(&signal));
                leave.await.map_err(Fault::of("signal", &thread))?;
                Ok(LeaseOutcome::Done)
            }
        }
    }
}

impl CommitLog {
    async fn acquire(&self, thread: &ThreadId, owner: &str, ttl: i64) -> Result<Lease, Fault> {
        let skew = millis(self.chain.options.max_skew);
        let key = ThreadKey::of(thread);
        let acquire = self.chain.change(&key, Some(thread), |turn| {
            let (head, now) = (turn.state.head, turn.now);
            let verdict = turn.state.acquire(owner, ttl, skew, now)?;
            Ok(verdict.map(|(fence, until)| Lease {
                thread: thread.clone(),
                fence,
                head,
                until,
                now,
            }))
        });
        acquire.await
    }
}
