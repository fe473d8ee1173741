use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use fugato_state::Millis;

use super::{Doc, DocEntry, DocFilter, DocKey, DocStore, DocWrite, Namespace, Version};
use crate::{StoreError, memory::system_clock};

/// The largest number of expired documents that one write removes, so that no write waits for all
/// of them.
const MOST_SWEPT: usize = 64;

/// A document store in memory, for tests and for data that need not outlive the process. Clones
/// share the documents.
#[derive(derive_more::Debug, Clone)]
#[debug("MemoryDocs {{ .. }}")]
pub struct MemoryDocs {
    shared: Arc<DocsInner>,
}

struct DocsInner {
    docs: Mutex<Docs>,
    clock: Box<dyn Fn() -> Millis + Send + Sync>,
}

#[derive(Default)]
struct Docs {
    spaces: BTreeMap<Namespace, BTreeMap<DocKey, Doc>>,
    /// The documents that expire, soonest first.
    expiring: BTreeSet<(Millis, Namespace, DocKey)>,
    /// The last assigned version.
    version: u64,
    /// The largest time seen, so that time never runs backwards.
    newest: Option<Millis>,
}

impl MemoryDocs {
    /// Creates a store that reads the time from `clock`, in milliseconds since the Unix epoch.
    /// While the clock is behind the largest time seen, that time is used.
    pub fn with_clock(clock: impl Fn() -> Millis + Send + Sync + 'static) -> Self {
        let shared = DocsInner {
            docs: Mutex::default(),
            clock: Box::new(clock),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Locks the documents, and reads the time.
    fn open(&self) -> (MutexGuard<'_, Docs>, Millis) {
        let mut docs = self
            .shared
            .docs
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let now = (self.shared.clock)();
        let now = docs.newest.map_or(now, |newest| newest.max(now));
        docs.newest = Some(now);
        (docs, now)
    }
}

impl Docs {
    fn get(&self, space: &Namespace, key: &DocKey, now: Millis) -> Option<&Doc> {
        let doc = self.spaces.get(space)?.get(key)?;
        (!doc.has_expired(now)).then_some(doc)
    }

    fn check(&self, write: &DocWrite, now: Millis) -> Result<(), StoreError> {
        let there = self.get(&write.space, &write.key, now);
        let checked = write.expect.check(there.map(|doc| doc.version));
        checked.map_err(|kind| StoreError::new(kind, "write").on_document(&write.space, &write.key))
    }

    fn apply(&mut self, write: DocWrite, now: Millis) -> Option<Version> {
        let DocWrite {
            space, key, value, ..
        } = write;
        self.take(&space, &key);
        let value = value?;
        self.version += 1;
        let doc = Doc {
            value,
            version: Version(self.version),
            written: now,
            expires: write.ttl.map(|ttl| now.saturating_add(ttl)),
        };
        if let Some(expires) = doc.expires {
            self.expiring.insert((expires, space.clone(), key.clone()));
        }
        self.spaces.entry(space).or_default().insert(key, doc);
        Some(Version(self.version))
    }

    fn take(&mut self, space: &Namespace, key: &DocKey) {
        let Some(docs) = self.spaces.get_mut(space) else {
            return;
        };
        let taken = docs.remove(key);
        if docs.is_empty() {
            self.spaces.remove(space);
        }
        if let Some(expires) = taken.and_then(|doc| doc.expires) {
            self.expiring.remove(&(expires, space.clone(), key.clone()));
        }
    }

    fn sweep(&mut self, now: Millis) {
        for _ in 0..MOST_SWEPT {
            match self.expiring.first().cloned() {
                Some((expires, space, key)) if expires <= now => self.take(&space, &key),
                _ => return,
            }
        }
    }
}

#[async_trait]
impl DocStore for MemoryDocs {
    async fn get(&self, space: &Namespace, key: &DocKey) -> Result<Option<Doc>, StoreError> {
        let (docs, now) = self.open();
        Ok(docs.get(space, key, now).cloned())
    }

    async fn write(&self, batch: Vec<DocWrite>) -> Result<Vec<Option<Version>>, StoreError> {
        DocWrite::encode(&batch)?;
        let (mut docs, now) = self.open();
        for write in &batch {
            docs.check(write, now)?;
        }
        docs.sweep(now);
        let write = |write| docs.apply(write, now);
        Ok(batch.into_iter().map(write).collect())
    }

    async fn list(
        &self,
        space: &Namespace,
        filter: DocFilter,
    ) -> Result<Vec<DocEntry>, StoreError> {
        let (docs, now) = self.open();
        let Some(docs) = docs.spaces.get(space) else {
            return Ok(vec![]);
        };
        let wanted = |(key, doc): &(&DocKey, &Doc)| filter.matches(key) && !doc.has_expired(now);
        let entry = |(key, doc): (&DocKey, &Doc)| DocEntry {
            key: key.clone(),
            value: filter.values.then(|| doc.value.clone()),
            version: doc.version,
            written: doc.written,
            expires: doc.expires,
        };
        let matching = docs.iter().filter(wanted).map(entry);
        Ok(matching.take(filter.limit).collect())
    }

    async fn remove(&self, space: &Namespace) -> Result<(), StoreError> {
        let (mut docs, _) = self.open();
        docs.spaces.retain(|other, _| !space.contains(other));
        docs.expiring.retain(|(_, other, _)| !space.contains(other));
        Ok(())
    }
}

impl Default for MemoryDocs {
    fn default() -> Self {
        Self::with_clock(system_clock)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use serde_json::json;

    use super::*;

    #[test]
    fn expired_documents_are_cleared_away_in_portions() -> Result<(), Box<dyn std::error::Error>> {
        let time = Arc::new(AtomicI64::new(0));
        let clock = Arc::clone(&time);
        let docs = MemoryDocs::with_clock(move || clock.load(Ordering::SeqCst));
        let space = Namespace::new(["short"])?;
        let key = |n: usize| DocKey::new(format!("{n}"));
        let batch = (0..100).map(|n| Ok(DocWrite::put(&space, &key(n)?, json!(n)).lasting(10)));
        let batch: Vec<_> = batch.collect::<Result<_, super::super::InvalidName>>()?;
        let last = DocWrite::put(&space, &key(100)?, json!(100));
        futures::executor::block_on(docs.write(batch))?;
        time.store(10, Ordering::SeqCst);
        let kept = || {
            docs.open()
                .0
                .spaces
                .values()
                .map(BTreeMap::len)
                .sum::<usize>()
        };
        assert_eq!(kept(), 100);
        futures::executor::block_on(docs.write(vec![last.clone()]))?;
        assert_eq!(kept(), 100 - MOST_SWEPT + 1);
        futures::executor::block_on(docs.write(vec![last]))?;
        assert_eq!((kept(), docs.open().0.expiring.len()), (1, 0));
        Ok(())
    }
}
