use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use fugato_store::StoreError;

use crate::{
    Chunk, EmbedError, Embedder, Fusion, IndexEntry, IndexUpdate, NoteFile, SearchHit, SearchIndex,
    SearchQuery, chunks,
};

/// A search over an index, by text and, with an embedder, by vectors.
///
/// If the embedder fails, the search answers by text alone and reports that in the result.
#[derive(derive_more::Debug, Clone)]
#[debug("HybridSearch {{ model: {:?}, fusion: {fusion:?}, .. }}", self.model())]
pub struct HybridSearch {
    index: Arc<dyn SearchIndex>,
    embedder: Option<Arc<dyn Embedder>>,
    fusion: Fusion,
}

/// The result of a search.
#[derive(Debug)]
#[non_exhaustive]
pub struct SearchResult {
    /// The hits, best first.
    pub hits: Vec<SearchHit>,
    /// The error of the embedder, if therefore text alone was searched.
    pub text_alone: Option<EmbedError>,
}

/// The result of bringing an index up to date.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct SyncReport {
    /// The number of entries put because they are new or have changed.
    pub put: usize,
    /// The number of entries removed because their source is gone.
    pub removed: usize,
    /// The number of entries that were up to date and were left alone.
    pub unchanged: usize,
    /// The error of the embedder, if entries were put without their vectors; the next sync retries
    /// them.
    pub text_alone: Option<EmbedError>,
}

/// The prefix of the ids of Markdown chunks, so that an index may hold other entries, too.
pub(crate) const MARKDOWN: &str = "md:";

impl HybridSearch {
    /// Creates a search by text alone.
    pub fn new(index: Arc<dyn SearchIndex>) -> Self {
        Self {
            index,
            embedder: None,
            fusion: Fusion::default(),
        }
    }

    fugato_state::setters! {
        /// Adds an embedder, to search by vectors, too.
        pub fn embedded_by(embedder: Arc<dyn Embedder>) { embedder = Some(embedder) }

        /// Sets the fusion of the two rankings; by rank if not set.
        pub fn fused_by(fusion: Fusion) { fusion = fusion }
    }

    /// Returns the index.
    pub fn index(&self) -> &Arc<dyn SearchIndex> {
        &self.index
    }

    pub(crate) fn fusion(&self) -> Fusion {
        self.fusion
    }

    /// Creates a query with the fusion of this search.
    pub fn query(&self, text: impl Into<String>) -> SearchQuery {
        SearchQuery::new(text).fused_by(self.fusion)
    }

    /// Searches the index. A query without a vector is embedded first if there is an embedder.
    pub async fn search(&self, mut query: SearchQuery) -> Result<SearchResult, StoreError> {
        let mut text_alone = None;
        if let (None, Some(embedder)) = (&query.vector, &self.embedder) {
            match embed(embedder.as_ref(), &[query.text.clone()]).await {
                Ok(vectors) => query.vector = vectors.into_iter().next(),
                Err(error) => text_alone = Some(error),
            }
        }
        let mut hits = self.index.search(&query).await?;
        if self.embedder.as_ref().is_some_and(|own| !own.is_semantic()) {
            hits.retain(is_spelled_alike);
        }
        Ok(SearchResult { hits, text_alone })
    }

    /// Brings the Markdown entries of the index up to date. Unchanged chunks are not embedded
    /// again, and entries of other files are removed.
    pub async fn sync(&self, files: &[NoteFile]) -> Result<SyncReport, StoreError> {
        let chunks = files.iter().flat_map(|file| chunks(&file.path, &file.text));
        let model = self.model();
        let wanted = chunks.map(|chunk| entry(chunk, &model)).collect();
        self.sync_entries(MARKDOWN, wanted).await
    }

    /// Makes the entries whose ids begin with `prefix` exactly these, and adds vectors to those
    /// put.
    pub async fn sync_entries(
        &self,
        prefix: &str,
        wanted: Vec<IndexEntry>,
    ) -> Result<SyncReport, StoreError> {
        let there = self.index.digests(prefix).await?;
        let ids: BTreeSet<&str> = wanted.iter().map(|entry| entry.id.as_str()).collect();
        let gone = there.keys().filter(|id| !ids.contains(id.as_str()));
        let remove: Vec<String> = gone.cloned().collect();
        let count = ids.len();
        let changed = wanted.into_iter().filter(|entry| is_new(entry, &there));
        let (put, text_alone) = self.with_vectors(changed.collect()).await;
        let synced = SyncReport {
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

    /// Returns the embedder's name, or an empty string. It is part of every digest, because another
    /// model means other vectors.
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
                // A wrong digest makes the next sync put the entry again, with its vector.
                for entry in &mut entries {
                    entry.digest = !entry.digest;
                }
                (entries, Some(error))
            }
        }
    }
}

/// Returns true for a hit of the text, or of a vector of spelling that is near: something is nearest
/// to every query.
fn is_spelled_alike(hit: &SearchHit) -> bool {
    const NEAR: f64 = 0.3;
    hit.text_score.is_some() || hit.vector_score.is_some_and(|cosine| cosine >= NEAR)
}

/// Embeds texts; fails if the number of vectors is not the number of texts.
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
