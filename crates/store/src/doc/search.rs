use async_trait::async_trait;

use super::{DocEntry, Namespace};
use crate::StoreError;

/// Searching documents. A store that can do so offers it by
/// [`DocStore::searcher`](super::DocStore::searcher); one that cannot is wrapped by something that
/// keeps an index beside it.
#[async_trait]
pub trait DocSearch: Send + Sync {
    /// The documents of a namespace and all within it that match, best first.
    async fn search(&self, space: &Namespace, query: &DocQuery) -> Result<Vec<DocHit>, StoreError>;
}

/// What to search for.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DocQuery {
    /// What a person would ask.
    pub text: String,
    /// The same as a vector, where the caller has an embedding of it.
    pub vector: Option<Vec<f32>>,
    /// How many at most.
    pub limit: usize,
}

impl DocQuery {
    /// The ten best for a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            vector: None,
            limit: 10,
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
}

/// A document that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct DocHit {
    /// Where it lives.
    pub space: Namespace,
    /// The document, with its value.
    pub entry: DocEntry,
    /// How well it matches; greater is better, and only scores of one search compare.
    pub score: f64,
}

const _: fn(&dyn DocSearch) = |_| ();
