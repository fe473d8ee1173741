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

/// An index over texts and, where there are any, their vectors. It is derived: whatever is in it
/// can be built anew from its source.
///
/// *Contract*
/// - **whole**: an update is done whole or not at all.
/// - **latest**: an entry replaces the one of its id.
/// - **recall**: a query of two Chinese characters finds every entry whose text holds them.
/// - **text alone**: a query without a vector is answered by text, whatever vectors there are.
/// - **history does not matter**: two indexes with the same entries answer alike, in whatever order
///   and by whatever detours the entries came. Of equal scores the lesser id comes first.
#[async_trait]
pub trait SearchIndex: Send + Sync {
    /// Removes entries, and puts others in.
    async fn update(&self, update: IndexUpdate) -> Result<(), StoreError>;

    /// The entries that match, best first.
    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchHit>, StoreError>;

    /// The digests of the entries whose ids begin so, by id.
    async fn digests(&self, prefix: &str) -> Result<BTreeMap<String, u64>, StoreError>;
}

/// What an index has of a text.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct IndexEntry {
    /// Where it comes from: unique in the index.
    pub id: String,
    /// What is searched.
    pub text: String,
    /// The same as a vector, of as many numbers as every other in the index.
    pub vector: Option<Vec<f32>>,
    /// What tells whether the source has changed.
    pub digest: u64,
    /// How much it matters: from 0 to 1.
    pub importance: f32,
}

impl IndexEntry {
    /// A text of middling importance.
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

    /// With its vector.
    #[must_use]
    pub fn vector(mut self, vector: Vec<f32>) -> Self {
        self.vector = Some(vector);
        self
    }

    /// With another digest than that of the text.
    #[must_use]
    pub fn digest(mut self, digest: u64) -> Self {
        self.digest = digest;
        self
    }

    /// With an importance, which is brought between 0 and 1.
    #[must_use]
    pub fn importance(mut self, importance: f32) -> Self {
        self.importance = if importance.is_nan() {
            0.0
        } else {
            importance.clamp(0.0, 1.0)
        };
        self
    }
}

/// What changes in an index. What is both removed and put is put.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IndexUpdate {
    /// The ids of those to remove; one that is not there is no error.
    pub remove: Vec<String>,
    /// Those to put; of two with one id the last counts.
    pub put: Vec<IndexEntry>,
}

impl IndexUpdate {
    /// Puts entries.
    pub fn put(entries: impl IntoIterator<Item = IndexEntry>) -> Self {
        Self {
            remove: vec![],
            put: entries.into_iter().collect(),
        }
    }

    /// Removes entries.
    pub fn remove<S: Into<String>>(ids: impl IntoIterator<Item = S>) -> Self {
        Self {
            remove: ids.into_iter().map(Into::into).collect(),
            put: vec![],
        }
    }
}

/// What to look for.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SearchQuery {
    /// What a person would ask.
    pub text: String,
    /// The same as a vector; none for text alone.
    pub vector: Option<Vec<f32>>,
    /// How many at most.
    pub limit: usize,
    /// What the ids of all hits begin with.
    pub prefix: String,
    /// The least importance of a hit.
    pub min_importance: f32,
    /// How the two rankings become one.
    pub fusion: Fusion,
}

impl SearchQuery {
    /// The ten best for a text, among all.
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

    /// Gives the embedding of the text.
    #[must_use]
    pub fn near(mut self, vector: Vec<f32>) -> Self {
        self.vector = Some(vector);
        self
    }

    /// How many at most.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Only those whose ids begin so.
    #[must_use]
    pub fn within(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Only those that matter as much.
    #[must_use]
    pub fn min_importance(mut self, importance: f32) -> Self {
        self.min_importance = importance;
        self
    }

    /// How the two rankings become one.
    #[must_use]
    pub fn fused_by(mut self, fusion: Fusion) -> Self {
        self.fusion = fusion;
        self
    }

    /// How many each ranking must be asked for, so that what is good in both is not missed.
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
    /// How well it matches; only scores of one search compare.
    pub score: f64,
    /// How well its text matches, by BM25; none if it does not.
    pub text_score: Option<f64>,
    /// The cosine of its vector and that of the query; none if it was not among the nearest.
    pub vector_score: Option<f64>,
}

const _: fn(&dyn SearchIndex) = |_| ();
