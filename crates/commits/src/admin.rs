//! Snapshots, and administration of threads.
use std::collections::BTreeSet;

use async_trait::async_trait;
use fugato_state::{Seq, ThreadId};
use fugato_store::{
    AppendResult, Commit, Snapshot, Snapshots, StoreError, StoreErrorKind, ThreadAdmin,
    ThreadFilter, ThreadSummary,
};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use object_store::{Error, ObjectStoreExt as _, path::Path};

use crate::{
    CommitLog,
    error::Fault,
    layout::{NAMES, Position, ThreadKey, fold_seq, name_of},
    log::PARALLEL,
};

#[async_trait]
impl Snapshots for CommitLog {
    async fn put(&self, thread: &ThreadId, snapshot: Snapshot) -> Result<(), StoreError> {
        let key = ThreadKey::of(thread);
        let put = async {
            let known = self.chain.look(&key).await?;
            known.state.check_reaches(snapshot.seq)?;
            // One that is in the log says the same, and cannot be written late.
            if let Some(at) = known.at
                && !known.state.folds.contains_key(&snapshot.seq)
            {
                let path = key.fold(at.incarnation, snapshot.seq);
                self.chain.store.put(&path, snapshot.body.into()).await?;
            }
            Ok::<_, Fault>(())
        };
        put.await.map_err(Fault::of("put a snapshot of", thread))
    }

    async fn latest_at(&self, thread: &ThreadId, seq: Seq) -> Result<Option<Snapshot>, StoreError> {
        let latest = self.latest(&ThreadKey::of(thread), seq).await;
        latest.map_err(Fault::of("read a snapshot of", thread))
    }

    async fn delete(&self, thread: &ThreadId, seq: Seq) -> Result<(), StoreError> {
        let key = ThreadKey::of(thread);
        let delete = async {
            let forget = self.chain.change(&key, Some(thread), |turn| {
                turn.state
                    .forget_fold(seq)
                    .map(|verdict| verdict.map(|()| turn.next))
            });
            let at = forget.await?;
            match self
                .chain
                .store
                .delete(&key.fold(at.incarnation, seq))
                .await
            {
                Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
                Err(error) => Err(Fault::from(error)),
            }
        };
        delete
            .await
            .map_err(Fault::of("delete a snapshot of", thread))
    }
}

impl CommitLog {
    async fn latest(&self, key: &ThreadKey, seq: Seq) -> Result<Option<Snapshot>, Fault> {
        // Each time the one that was found went meanwhile.
        for _ in 0..3 {
            let known = self.chain.look(key).await?;
            let Some(at) = known.at.filter(|_| !known.state.absent) else {
                return Ok(None);
            };
            let in_log = known.state.folds.range(..=seq).next_back();
            // One before the base may have been put late.
            let lowest = in_log.map_or(known.state.base, |(newest, _)| newest + 1);
            let separate = self.separate_folds(key, at.incarnation).await?;
            let separate = separate.range(lowest.min(seq)..=seq).next_back().copied();
            let (newest, body) = match (separate.filter(|it| *it >= lowest), in_log) {
                (Some(newest), _) => {
                    let found = self
                        .chain
                        .store
                        .get(&key.fold(at.incarnation, newest))
                        .await;
                    let body = match found {
                        Ok(found) => Some(found.bytes().await?.to_vec()),
                        Err(Error::NotFound { .. }) => None,
                        Err(error) => return Err(error.into()),
                    };
                    (newest, body)
                }
                (None, Some((newest, ordinal))) => {
                    let at = Position {
                        ordinal: *ordinal,
                        ..at
                    };
                    let object = self.object(key, at).await?;
                    let fold = object.and_then(|object| {
                        // The base of a fork may be replaced by that of its commit.
                        let mut folds = object.content.folds.into_iter();
                        folds.rfind(|fold| fold.seq == *newest)
                    });
                    (*newest, fold.map(|fold| fold.body))
                }
                (None, None) => return Ok(None),
            };
            if let Some(body) = body {
                return Ok(Some(Snapshot { seq: newest, body }));
            }
        }
        Err(StoreErrorKind::Unavailable.into())
    }

    /// Returns the positions of the folds that are objects of their own.
    pub(crate) async fn separate_folds(
        &self,
        key: &ThreadKey,
        incarnation: u32,
    ) -> Result<BTreeSet<Seq>, Fault> {
        let listed = self.chain.store.list(Some(&key.folds(incarnation)));
        let seqs = listed.try_filter_map(async |meta| Ok(fold_seq(&meta.location)));
        Ok(seqs.try_collect().await?)
    }

    /// Returns the names of all threads, in their order; some may be removed.
    pub(crate) async fn names(&self) -> Result<BTreeSet<ThreadId>, Fault> {
        let listed = self.chain.store.list(Some(&Path::from(NAMES)));
        let names = listed.try_filter_map(async |meta| Ok(name_of(&meta.location)));
        Ok(names.try_collect().await?)
    }

    async fn list_threads(&self, filter: &ThreadFilter) -> Result<Vec<ThreadSummary>, Fault> {
        let mut names = self.names().await?;
        names.retain(|name| {
            name.as_str().starts_with(&filter.prefix)
                && filter.after.as_ref().is_none_or(|after| name > after)
        });
        let summaries = stream::iter(names)
            .map(async |thread| {
                let known = self.chain.look(&ThreadKey::of(&thread)).await?;
                Ok::<_, Fault>(known.state.status.map(|status| ThreadSummary {
                    thread,
                    head: known.state.head,
                    status,
                }))
            })
            .buffered(PARALLEL)
            .try_filter_map(async |summary| Ok(summary));
        summaries.take(filter.limit).try_collect().await
    }
}

#[async_trait]
impl ThreadAdmin for CommitLog {
    async fn list(&self, filter: ThreadFilter) -> Result<Vec<ThreadSummary>, StoreError> {
        let listed = self.list_threads(&filter).await;
        listed.map_err(|fault| fault.during("list threads"))
    }

    async fn fork(
        &self,
        thread: &ThreadId,
        base: Snapshot,
        commit: &Commit,
    ) -> Result<AppendResult, StoreError> {
        let failed = Fault::of("fork", thread);
        commit.check_size().map_err(|kind| failed(kind.into()))?;
        let key = ThreadKey::of(thread);
        let fork = self.chain.change(&key, Some(thread), |turn| {
            turn.state.fork(&base, commit, turn.next, turn.now)
        });
        fork.await.map_err(failed)
    }

    async fn compact(&self, thread: &ThreadId, base: Snapshot) -> Result<(), StoreError> {
        let key = ThreadKey::of(thread);
        let compact = async {
            let known = self.chain.look(&key).await?;
            known.state.check_reaches(base.seq)?;
            let at = known.at.ok_or(StoreErrorKind::NotFound)?;
            let first = if base.seq == known.state.head {
                Some(at.ordinal + 1)
            } else {
                self.seek(&key, &known, base.seq + 1).await?
            };
            let first = first.ok_or(StoreErrorKind::Unavailable)?;
            let compact = self.chain.change(&key, Some(thread), |turn| {
                if turn.next.incarnation != at.incarnation {
                    return Err(StoreErrorKind::NotFound);
                }
                turn.state.compact(&base, first, turn.next)
            });
            compact.await?;
            self.sweep_thread(&key).await.map(|_| ())
        };
        compact.await.map_err(Fault::of("compact", thread))
    }

    async fn remove(&self, thread: &ThreadId) -> Result<(), StoreError> {
        let key = ThreadKey::of(thread);
        let remove = async {
            let remove = self
                .chain
                .change(&key, Some(thread), |turn| Ok(turn.state.remove()));
            remove.await?;
            self.erase(thread, &key).await?;
            self.sweep_thread(&key).await.map(|_| ())
        };
        remove.await.map_err(Fault::of("remove", thread))
    }
}
