use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

use async_trait::async_trait;
use fugato_store::{
    Doc, DocEntry, DocFilter, DocHit, DocKey, DocQuery, DocSearch, DocStore, DocWrite, Namespace,
    StoreError, Version,
};
use serde_json::Value;

use crate::{HybridSearch, IndexEntry, IndexUpdate, SyncReport};

/// A document store with a search over it, for any store and any index.
///
/// The documents are the source. An acknowledged write is in the store even if the index update
/// failed: then the next search first brings that namespace up to date. Documents that other
/// processes wrote are found after [`refresh`](Self::refresh). A hit is always a document that
/// exists now.
#[derive(Debug)]
pub struct IndexedDocs<D> {
    docs: D,
    search: HybridSearch,
    behind: Mutex<BTreeSet<Namespace>>,
}

/// The number of documents in one page of a listing.
const PAGE: usize = 500;

impl<D: DocStore> IndexedDocs<D> {
    /// Adds a search to a store. Documents that the store already holds are found after
    /// [`refresh`](Self::refresh).
    pub fn new(docs: D, search: HybridSearch) -> Self {
        Self {
            docs,
            search,
            behind: Mutex::default(),
        }
    }

    /// Brings the index of one namespace up to date, without the namespaces within it.
    pub async fn refresh(&self, space: &Namespace) -> Result<SyncReport, StoreError> {
        let mut wanted = vec![];
        let mut filter = DocFilter::default().values().limit(PAGE);
        loop {
            let page = self.docs.list(space, filter.clone()).await?;
            let last = page.last().map(|entry| entry.key.clone());
            let read = page.len();
            wanted.extend(page.into_iter().filter_map(|found| {
                let value = found.value?;
                Some(self.entry(space, &found.key, &value, found.version))
            }));
            match last {
                Some(last) if read == PAGE => filter = filter.after(last),
                _ => break,
            }
        }
        self.search.sync_entries(&id_prefix(space), wanted).await
    }

    fn entry(
        &self,
        space: &Namespace,
        key: &DocKey,
        value: &Value,
        version: Version,
    ) -> IndexEntry {
        let mut text = String::from(key.as_str());
        collect_text(value, &mut text);
        let model = self.search.model();
        let version = version.0.to_string();
        let digest = crate::digest::of(&[&version, &model]);
        IndexEntry::new(format!("{}{key}", id_prefix(space)), text).digest(digest)
    }

    async fn follow(
        &self,
        batch: &[DocWrite],
        versions: &[Option<Version>],
    ) -> Result<(), StoreError> {
        let (mut put, mut remove) = (vec![], vec![]);
        for (write, version) in batch.iter().zip(versions) {
            match (&write.value, version) {
                (Some(value), Some(version)) => {
                    put.push(self.entry(&write.space, &write.key, value, *version));
                }
                _ => remove.push(format!("{}{}", id_prefix(&write.space), write.key)),
            }
        }
        let (put, _) = self.search.with_vectors(put).await;
        self.search
            .index()
            .update(IndexUpdate { remove, put })
            .await
    }

    fn fell_behind(&self, spaces: impl IntoIterator<Item = Namespace>) {
        let mut behind = self.behind.lock().unwrap_or_else(PoisonError::into_inner);
        behind.extend(spaces);
    }

    /// Takes the set of namespaces whose index is out of date.
    fn take_behind(&self) -> BTreeSet<Namespace> {
        std::mem::take(&mut *self.behind.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn hit(&self, id: &str, score: f64) -> Result<Option<DocHit>, StoreError> {
        let Some((space, key)) = named(id) else {
            return Ok(None);
        };
        let found = self.docs.get(&space, &key).await?;
        Ok(found.map(|doc| DocHit {
            space,
            entry: DocEntry {
                key,
                value: Some(doc.value),
                version: doc.version,
                written: doc.written,
                expires: doc.expires,
            },
            score,
        }))
    }
}

#[async_trait]
impl<D: DocStore> DocStore for IndexedDocs<D> {
    async fn get(&self, space: &Namespace, key: &DocKey) -> Result<Option<Doc>, StoreError> {
        self.docs.get(space, key).await
    }

    async fn write(&self, batch: Vec<DocWrite>) -> Result<Vec<Option<Version>>, StoreError> {
        let versions = self.docs.write(batch.clone()).await?;
        if self.follow(&batch, &versions).await.is_err() {
            self.fell_behind(batch.into_iter().map(|write| write.space));
        }
        Ok(versions)
    }

    async fn list(
        &self,
        space: &Namespace,
        filter: DocFilter,
    ) -> Result<Vec<DocEntry>, StoreError> {
        self.docs.list(space, filter).await
    }

    async fn remove(&self, space: &Namespace) -> Result<(), StoreError> {
        self.docs.remove(space).await?;
        let index = self.search.index();
        // Entries that stay in the index yield no hits: their documents are gone.
        if let Ok(there) = index.digests(&tree_prefix(space)).await {
            let _ = index.update(IndexUpdate::remove(there.into_keys())).await;
        }
        Ok(())
    }

    fn searcher(&self) -> Option<&dyn DocSearch> {
        Some(self)
    }
}

#[async_trait]
impl<D: DocStore> DocSearch for IndexedDocs<D> {
    async fn search(&self, space: &Namespace, query: &DocQuery) -> Result<Vec<DocHit>, StoreError> {
        for behind in self.take_behind() {
            if let Err(error) = self.refresh(&behind).await {
                self.fell_behind([behind]);
                return Err(error);
            }
        }
        // Twice the limit, because some hits may have expired since.
        let mut asked = self.search.query(&query.text).within(tree_prefix(space));
        asked.limit = query.limit.saturating_mul(2);
        asked.vector.clone_from(&query.vector);
        let found = self.search.search(asked).await?;
        let mut hits = vec![];
        for hit in found.hits {
            if hits.len() == query.limit {
                break;
            }
            hits.extend(self.hit(&hit.id, hit.score).await?);
        }
        Ok(hits)
    }
}

/// Returns the prefix of the ids of one namespace. No name contains a line feed, so that an id
/// shows where its namespace ends.
fn id_prefix(space: &Namespace) -> String {
    format!("{}\n", tree_prefix(space))
}

/// Returns the prefix that the ids of a namespace and of all namespaces within it share, and no
/// other ids.
fn tree_prefix(space: &Namespace) -> String {
    format!("doc:{space}/")
}

fn named(id: &str) -> Option<(Namespace, DocKey)> {
    let (space, key) = id.strip_prefix("doc:")?.split_once("/\n")?;
    Some((space.parse().ok()?, key.parse().ok()?))
}

/// Appends all strings within a value to `text`.
fn collect_text(value: &Value, text: &mut String) {
    match value {
        Value::String(found) => {
            text.push('\n');
            text.push_str(found);
        }
        Value::Array(items) => items.iter().for_each(|item| collect_text(item, text)),
        Value::Object(fields) => fields.values().for_each(|field| collect_text(field, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
