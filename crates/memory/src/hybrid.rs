use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use fugato_store::StoreError;

use crate::{
    Chunk, EmbedError, Embedder, Fusion, IndexEntry, IndexUpdate, NoteFile, SearchHit, SearchIndex,
    SearchQuery, chunks,
};

/// An index and, if there is one, an embedder: what finds by words and by meaning.
///
/// An embedder that fails costs the meaning and not the search: text alone answers, and the answer
/// says so.
#[derive(Clone)]
pub struct HybridSearch {
    index: Arc<dyn SearchIndex>,
    embedder: Option<Arc<dyn Embedder>>,
    fusion: Fusion,
}

/// What was found.
#[derive(Debug)]
#[non_exhaustive]
pub struct Found {
    /// What matches, best first.
    pub hits: Vec<SearchHit>,
    /// Why text alone was searched although there is an embedder.
    pub text_alone: Option<EmbedError>,
}

/// What bringing an index up to date took.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Synced {
    /// How many entries were put, because they are new or have changed.
    pub put: usize,
    /// How many were removed, because their source is gone.
    pub removed: usize,
    /// How many were as they should be, and were left alone.
    pub unchanged: usize,
    /// Why entries were put without their vectors; the next time it is tried again.
    pub text_alone: Option<EmbedError>,
}

/// What the ids of chunks of Markdown begin with, so that an index may hold other things beside.
pub(crate) const MARKDOWN: &str = "md:";

impl HybridSearch {
    /// Searches an index by text alone.
    pub fn new(index: Arc<dyn SearchIndex>) -> Self {
        Self {
            index,
            embedder: None,
            fusion: Fusion::default(),
        }
    }

    /// Searches by vectors too.
    #[must_use]
    pub fn embedded_by(mut self, embedder: Arc<dyn Embedder>) -> Self {
        self.embedder = Some(embedder);
        self
    }

    /// How the two rankings become one; by rank if not said.
    #[must_use]
    pub fn fused_by(mut self, fusion: Fusion) -> Self {
        self.fusion = fusion;
        self
    }

    /// The index.
    pub fn index(&self) -> &Arc<dyn SearchIndex> {
        &self.index
    }

    pub(crate) fn fusion(&self) -> Fusion {
        self.fusion
    }

    /// A query that is fused as this search says.
    pub fn query(&self, text: impl Into<String>) -> SearchQuery {
        SearchQuery::new(text).fused_by(self.fusion)
    }

    /// The best for a query, which is embedded if it is not yet.
    pub async fn search(&self, mut query: SearchQuery) -> Result<Found, StoreError> {
        let mut text_alone = None;
        if let (None, Some(embedder)) = (&query.vector, &self.embedder) {
            match embed(embedder.as_ref(), &[query.text.clone()]).await {
                Ok(vectors) => query.vector = vectors.into_iter().next(),
                Err(error) => text_alone = Some(error),
            }
        }
        let hits = self.index.search(&query).await?;
        Ok(Found { hits, text_alone })
    }

    /// Brings what the index has of Markdown files up to date: what did not change is not embedded
    /// again, and what is of none of these files is removed.
    pub async fn sync(&self, files: &[NoteFile]) -> Result<Synced, StoreError> {
        let chunks = files.iter().flat_map(|file| chunks(&file.path, &file.text));
        let model = self.model();
        let wanted = chunks.map(|chunk| entry(chunk, &model)).collect();
        self.sync_entries(MARKDOWN, wanted).await
    }

    /// Brings all entries whose ids begin so up to date: these, and no others. Vectors are added.
    pub async fn sync_entries(
        &self,
        prefix: &str,
        wanted: Vec<IndexEntry>,
    ) -> Result<Synced, StoreError> {
        let there = self.index.digests(prefix).await?;
        let ids: BTreeSet<&str> = wanted.iter().map(|entry| entry.id.as_str()).collect();
        let gone = there.keys().filter(|id| !ids.contains(id.as_str()));
        let remove: Vec<String> = gone.cloned().collect();
        let count = ids.len();
        let changed = wanted.into_iter().filter(|entry| is_new(entry, &there));
        let (put, text_alone) = self.with_vectors(changed.collect()).await;
        let synced = Synced {
            put: put.len(),
            removed: remove.len(),
            unchanged: count.saturating_sub(put.len()),
            text_alone,
        };
        if !(put.is_empty() && remove.is_empty()) {
            self.index.update(IndexUpdate { remove, put }).await?;
        }
        Ok(synced)
    }

    /// The name of what embeds, which is part of every digest: another model means other vectors.
    pub(crate) fn model(&self) -> String {
        let embedder = self.embedder.as_ref();
        embedder
            .map(|embedder| embedder.name().to_owned())
            .unwrap_or_default()
    }

    pub(crate) async fn with_vectors(
        &self,
        mut entries: Vec<IndexEntry>,
    ) -> (Vec<IndexEntry>, Option<EmbedError>) {
        let Some(embedder) = &self.embedder else {
            return (entries, None);
        };
        if entries.is_empty() {
            return (entries, None);
        }
        let texts: Vec<String> = entries.iter().map(|entry| entry.text.clone()).collect();
        match embed(embedder.as_ref(), &texts).await {
            Ok(vectors) => {
                for (entry, vector) in entries.iter_mut().zip(vectors) {
                    entry.vector = Some(vector);
                }
                (entries, None)
            }
            Err(error) => {
                // With another digest than it should have, an entry is put anew the next time.
                for entry in &mut entries {
                    entry.digest = !entry.digest;
                }
                (entries, Some(error))
            }
        }
    }
}

/// Asks for vectors, and believes only as many as there are texts.
async fn embed(embedder: &dyn Embedder, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
    let vectors = embedder.embed(texts).await?.vectors;
    if vectors.len() == texts.len() {
        return Ok(vectors);
    }
    let what = format!("{} vectors for {} texts", vectors.len(), texts.len());
    Err(EmbedError::new(embedder.name(), what))
}

fn entry(chunk: Chunk, model: &str) -> IndexEntry {
    let digest = chunk.digest(model);
    let id = format!("{MARKDOWN}{}", chunk.id);
    IndexEntry::new(id, chunk.text)
        .digest(digest)
        .importance(chunk.importance)
}

fn is_new(entry: &IndexEntry, there: &BTreeMap<String, u64>) -> bool {
    there.get(&entry.id) != Some(&entry.digest)
}

impl fmt::Debug for HybridSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HybridSearch")
            .field("model", &self.model())
            .field("fusion", &self.fusion)
            .finish_non_exhaustive()
    }
}
