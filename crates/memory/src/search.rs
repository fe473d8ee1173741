mod bm25;
mod fusion;
mod memory;
mod text;
mod vectors;

use std::collections::BTreeMap;

use async_trait::async_trait;
use fugato_store::StoreError;

pub use self::{
    bm25::Bm25,
    fusion::Fusion,
    memory::MemoryIndex,
    vectors::{VectorError, Vectors},
};

/// An index over texts and, optionally, their vectors. It is derived: its content can be rebuilt
/// from the source.
///
/// *Contract*
/// - **whole**: an update is atomic.
/// - **latest**: an entry replaces the one of its id.
/// - **recall**: a query of two Chinese characters finds every entry whose text holds them.
/// - **text alone**: a query without a vector is answered by text, whatever vectors there are.
/// - **history does not matter**: two indexes with the same entries answer alike, whatever updates
///   led to them. Of equal scores the lesser id comes first.
#[async_trait]
pub trait SearchIndex: Send + Sync {
    /// Removes entries, and puts others, in one atomic update.
    async fn update(&self, update: IndexUpdate) -> Result<(), StoreError>;

    /// Returns the entries that match, best first.
    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchHit>, StoreError>;

    /// Returns the digests of the entries whose ids begin with `prefix`, by id.
    async fn digests(&self, prefix: &str) -> Result<BTreeMap<String, u64>, StoreError>;
}

/// An entry of an index.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct IndexEntry {
    /// The id, unique in the index; it names the source.
    pub id: String,
    /// The text that is searched.
    pub text: String,
    /// The vector of the text, with as many dimensions as every other in the index.
    pub vector: Option<Vec<f32>>,
    /// The digest that detects a change of the source.
    pub digest: u64,
    /// The importance, from 0 to 1.
    pub importance: f32,
}

impl IndexEntry {
    /// Creates an entry of importance 0.5, with the digest of the text.
    pub fn new(id: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            id: id.into(),
            digest: crate::digest::of(&[&text]),
            text,
            vector: None,
            importance: 0.5,
        }
    }

    fugato_state::setters! {
        /// Sets the vector.
        pub fn vector(vector: Vec<f32>) { vector = Some(vector) }

        /// Sets another digest than that of the text.
        pub fn digest(digest: u64) { digest = digest }

        /// Sets the importance, which is clamped to 0…1.
        pub fn importance(importance: f32) {
            importance = if importance.is_nan() {
                0.0
            } else {
                importance.clamp(0.0, 1.0)
            }
        }
    }
}

/// An update of an index. An id that is both removed and put is put.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IndexUpdate {
    /// The ids to remove; an unknown id is no error.
    pub remove: Vec<String>,
    /// The entries to put; of two with one id the last counts.
    pub put: Vec<IndexEntry>,
}

impl IndexUpdate {
    /// Creates an update that puts entries.
    pub fn put(entries: impl IntoIterator<Item = IndexEntry>) -> Self {
        Self {
            remove: vec![],
            put: entries.into_iter().collect(),
        }
    }

    /// Creates an update that removes entries.
    pub fn remove<S: Into<String>>(ids: impl IntoIterator<Item = S>) -> Self {
        Self {
            remove: ids.into_iter().map(Into::into).collect(),
            put: vec![],
        }
    }
}

/// A query to an index.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SearchQuery {
    /// The text of the query.
    pub text: String,
    /// The vector of the text; `None` to search by text alone.
    pub vector: Option<Vec<f32>>,
    /// The greatest number of hits.
    pub limit: usize,
    /// The prefix that the ids of all hits have.
    pub prefix: String,
    /// The least importance of a hit.
    pub min_importance: f32,
    /// The fusion of the two rankings.
    pub fusion: Fusion,
}

impl SearchQuery {
    /// Creates a query for the ten best hits for a text, among all entries.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            vector: None,
            limit: 10,
            prefix: String::new(),
            min_importance: 0.0,
            fusion: Fusion::default(),
        }
    }

    fugato_state::setters! {
        /// Sets the embedding of the text.
        pub fn near(vector: Vec<f32>) { vector = Some(vector) }

        /// Sets the greatest number of hits.
        pub fn limit(limit: usize) { limit = limit }

        /// Limits the hits to ids with this prefix.
        pub fn within(prefix: impl Into<String>) { prefix = prefix.into() }

        /// Limits the hits to entries of at least this importance.
        pub fn min_importance(importance: f32) { min_importance = importance }

        /// Sets the fusion of the two rankings.
        pub fn fused_by(fusion: Fusion) { fusion = fusion }
    }

    /// Returns the number of entries to take from each ranking, so that an entry that is good in
    /// both is not missed.
    pub fn depth(&self) -> usize {
        self.limit.saturating_mul(4).max(50)
    }
}

/// An entry that was found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SearchHit {
    /// Its id.
    pub id: String,
    /// The fused score. Only scores of the same search can be compared.
    pub score: f64,
    /// The BM25 score of the text; `None` if the text does not match.
    pub text_score: Option<f64>,
    /// The cosine of its vector and that of the query; `None` if it is not among the nearest.
    pub vector_score: Option<f64>,
}

const _: fn(&dyn SearchIndex) = |_| ();
