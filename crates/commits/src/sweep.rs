//! Deleting objects that are not read any more, and that no create can hit any more.
use std::collections::BTreeMap;

use fugato_state::{Millis, ThreadId};
use fugato_store::StoreError;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use object_store::{Error, ObjectMeta, ObjectStore as _, ObjectStoreExt as _, path::Path};

use crate::{
    CommitLog,
    error::Fault,
    layout::{Position, THREADS, ThreadKey, name_path},
    log::PARALLEL,
    options::millis,
};

impl CommitLog {
    /// Deletes the objects of all threads that compaction and removal have left behind longer ago
    /// than the zombie age, and returns their number. Compacting a thread does so for that thread.
    ///
    /// It lists every object of the store, so that a daily call is often enough.
    pub async fn sweep(&self) -> Result<usize, StoreError> {
        let sweep = async {
            let threads = Path::from(THREADS);
            let folders = self.chain.store.list_with_delimiter(Some(&threads)).await?;
            let folders = folders.common_prefixes;
            let mut swept = 0;
            for key in folders.iter().filter_map(ThreadKey::of_folder) {
                swept += self.sweep_thread(&key).await?;
            }
            Ok::<_, Fault>(swept)
        };
        sweep.await.map_err(|fault| fault.during("sweep"))
    }

    /// Deletes the objects of one thread that are not read any more, and returns their number.
    ///
    /// A writer that was suspended wants to create an object where another is by now: it must find
    /// one as long as it may wake, which is why objects stay for the zombie age. The newest of those
    /// that could go stays longer: by it a listing that lags behind leads to the end of the chain.
    pub(crate) async fn sweep_thread(&self, key: &ThreadKey) -> Result<usize, Fault> {
        let known = self.chain.look(key).await?;
        let Some(at) = known.at else { return Ok(0) };
        let mut incarnations: BTreeMap<u32, BTreeMap<u64, Millis>> = BTreeMap::new();
        for (position, meta) in self.objects(key).await? {
            let ages = incarnations.entry(position.incarnation).or_default();
            ages.insert(position.ordinal, meta.last_modified.timestamp_millis());
        }
        let old = self
            .chain
            .now()
            .saturating_sub(millis(self.chain.options.zombie_age));
        let mut unread = vec![];
        for (incarnation, objects) in incarnations {
            let first_read = if incarnation == at.incarnation && !known.state.absent {
                known.state.first
            } else {
                u64::MAX
            };
            let stays = objects
                .range(..=first_read)
                .rfind(|(_, time)| **time <= old);
            let Some((stays, _)) = stays else { continue };
            let below = objects.range(..stays).map(|(ordinal, _)| Position {
                incarnation,
                ordinal: *ordinal,
            });
            unread.extend(below.map(|position| key.object(position)));
        }
        self.delete_all(unread).await
    }

    /// Takes the content of the objects of a removed thread, which stay in their places until they
    /// are swept, and everything else that it had.
    pub(crate) async fn erase(&self, thread: &ThreadId, key: &ThreadKey) -> Result<(), Fault> {
        let known = self.chain.look(key).await?;
        let Some(at) = known.at else { return Ok(()) };
        // If another thread of this name began meanwhile, its objects come later.
        let end = if known.state.absent {
            at
        } else {
            Position { ordinal: 0, ..at }
        };
        let listed = self.objects(key).await?.into_iter();
        let mut last = None;
        let mut full = vec![];
        for (position, meta) in listed.filter(|(position, _)| *position <= end) {
            // The last object of each incarnation says that it ended.
            if let Some((before, path)) = last.replace((position, meta))
                && before_is_content(before, position, &path)
            {
                full.push(path.location);
            }
        }
        let blank = stream::iter(full).map(async |path| {
            let put = self.chain.store.put(&path, vec![].into());
            put.await.map(|_| ())
        });
        let blank = blank.buffer_unordered(PARALLEL);
        blank.try_collect::<()>().await?;
        for incarnation in 0..=at.incarnation {
            if incarnation == at.incarnation && !known.state.absent {
                break;
            }
            let folds = self.separate_folds(key, incarnation).await?.into_iter();
            let mut gone: Vec<_> = folds.map(|seq| key.fold(incarnation, seq)).collect();
            gone.push(name_path(thread, incarnation));
            self.delete_all(gone).await?;
        }
        Ok(())
    }

    /// Returns all objects of a thread's log, in their order.
    async fn objects(&self, key: &ThreadKey) -> Result<BTreeMap<Position, ObjectMeta>, Fault> {
        let listed = self.chain.store.list(Some(&key.folder()));
        let objects = listed.try_filter_map(async |meta| {
            Ok(Position::of_object(&meta.location).map(|at| (at, meta)))
        });
        Ok(objects.try_collect().await?)
    }

    /// Deletes objects, and returns how many were there.
    async fn delete_all(&self, paths: Vec<Path>) -> Result<usize, Fault> {
        let paths = stream::iter(paths).map(Ok).boxed();
        let mut deleted = self.chain.store.delete_stream(paths);
        let mut count = 0;
        loop {
            match deleted.try_next().await {
                Ok(Some(_)) => count += 1,
                Ok(None) => return Ok(count),
                Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Returns true if an object has content that goes with its thread: it has a follower in its
/// incarnation, and is not blank yet.
fn before_is_content(before: Position, follower: Position, meta: &ObjectMeta) -> bool {
    before.incarnation == follower.incarnation && meta.size > 0
}
