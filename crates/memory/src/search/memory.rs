use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    sync::{PoisonError, RwLock, RwLockReadGuard},
};

use async_trait::async_trait;
use fugato_store::{StoreError, StoreErrorKind};

use super::{
    IndexEntry, IndexUpdate, SearchHit, SearchIndex, SearchQuery, Vectors, text::TextIndex,
};

/// An index in memory: an inverted index scored by BM25, and an exact search over all vectors.
#[derive(Debug, Default)]
pub struct MemoryIndex {
    inner: RwLock<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    slots: BTreeMap<String, u32>,
    entries: Vec<Option<StoredEntry>>,
    free: Vec<u32>,
    text: TextIndex,
    vectors: Vectors,
}

/// An entry without its vector, which is in the vector index.
#[derive(Debug)]
struct StoredEntry {
    id: String,
    text: String,
    digest: u64,
    importance: f32,
    has_vector: bool,
}

impl MemoryIndex {
    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.read().slots.len()
    }

    /// Returns true if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn read(&self) -> RwLockReadGuard<'_, Inner> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl SearchIndex for MemoryIndex {
    async fn update(&self, update: IndexUpdate) -> Result<(), StoreError> {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        inner.check(&update)?;
        let put = update.put.iter().map(|entry| &entry.id);
        for id in update.remove.iter().chain(put) {
            inner.remove(id);
        }
        for entry in update.put {
            inner.put(entry)?;
        }
        Ok(())
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchHit>, StoreError> {
        self.read().search(query)
    }

    async fn digests(&self, prefix: &str) -> Result<BTreeMap<String, u64>, StoreError> {
        let inner = self.read();
        let from_prefix = inner.slots.range(prefix.to_owned()..);
        let digests = from_prefix
            .take_while(|(id, _)| id.starts_with(prefix))
            .filter_map(|(id, slot)| Some((id.clone(), inner.entry(*slot)?.digest)));
        Ok(digests.collect())
    }
}

impl Inner {
    /// Refuses an update that would fail halfway.
    fn check(&self, update: &IndexUpdate) -> Result<(), StoreError> {
        let put = update.put.iter().map(|entry| &entry.id);
        let replaced: BTreeSet<&String> = update.remove.iter().chain(put).collect();
        let has_vector = |id: &&&String| {
            let kept = self
                .slots
                .get(id.as_str())
                .and_then(|slot| self.entry(*slot));
            kept.is_some_and(|kept| kept.has_vector)
        };
        let leaving = replaced.iter().filter(has_vector).count();
        let vectors = update
            .put
            .iter()
            .filter_map(|entry| entry.vector.as_deref());
        let checked = self.vectors.check_all(leaving, vectors);
        checked.map_err(|error| invalid("update", error))?;
        let room = u32::try_from(self.entries.len() + update.put.len());
        room.map(drop).map_err(|error| invalid("update", error))
    }

    fn entry(&self, slot: u32) -> Option<&StoredEntry> {
        self.entries.get(slot as usize)?.as_ref()
    }

    fn remove(&mut self, id: &str) {
        let Some(slot) = self.slots.remove(id) else {
            return;
        };
        self.vectors.remove(slot as usize);
        self.free.push(slot);
        if let Some(entry) = self.entries.get_mut(slot as usize).and_then(Option::take) {
            self.text.remove(slot, &entry.text);
        }
    }

    fn put(&mut self, entry: IndexEntry) -> Result<(), StoreError> {
        self.remove(&entry.id);
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => u32::try_from(self.entries.len()).map_err(|error| invalid("update", error))?,
        };
        if let Some(vector) = &entry.vector {
            let put = self.vectors.put(slot as usize, vector);
            put.map_err(|error| invalid("update", error))?;
        }
        self.text.put(slot, &entry.text);
        self.slots.insert(entry.id.clone(), slot);
        let kept = StoredEntry {
            id: entry.id,
            text: entry.text,
            digest: entry.digest,
            importance: entry.importance,
            has_vector: entry.vector.is_some(),
        };
        match self.entries.get_mut(slot as usize) {
            Some(empty) => *empty = Some(kept),
            None => self.entries.push(Some(kept)),
        }
        Ok(())
    }

    fn search(&self, query: &SearchQuery) -> Result<Vec<SearchHit>, StoreError> {
        let wanted = |slot: u32| {
            self.entry(slot).is_some_and(|entry| {
                entry.importance >= query.min_importance && entry.id.starts_with(&query.prefix)
            })
        };
        let mut by_text = self.text.scores(&query.text);
        by_text.retain(|(slot, _)| wanted(*slot));
        let by_text = self.best(by_text, query.depth());
        let by_vector = match &query.vector {
            None => vec![],
            Some(vector) => {
                let accept = |slot| u32::try_from(slot).is_ok_and(wanted);
                let nearest = self.vectors.nearest(vector, query.depth(), accept);
                let nearest = nearest.map_err(|error| invalid("search", error))?;
                let slots = nearest.into_iter().filter_map(|(slot, cosine)| {
                    u32::try_from(slot).ok().map(|slot| (slot, cosine))
                });
                self.best(slots.collect(), query.depth())
            }
        };
        Ok(query.fusion.fuse(by_text, by_vector, query.limit))
    }

    /// Returns the best entries. Of equal scores those with the lesser ids come first, whatever
    /// their slots.
    fn best(&self, scores: Vec<(u32, f64)>, depth: usize) -> Vec<(&str, f64)> {
        let named = |(slot, score)| Some((self.entry(slot)?.id.as_str(), score));
        let mut named: Vec<(&str, f64)> = scores.into_iter().filter_map(named).collect();
        let order = |a: &(&str, f64), b: &(&str, f64)| -> Ordering {
            b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0))
        };
        if named.len() > depth {
            named.select_nth_unstable_by(depth, order);
            named.truncate(depth);
        }
        named.sort_unstable_by(order);
        named
    }
}

fn invalid(
    operation: &'static str,
    error: impl std::error::Error + Send + Sync + 'static,
) -> StoreError {
    StoreError::new(StoreErrorKind::Invalid(error.to_string()), operation).because(error)
}
