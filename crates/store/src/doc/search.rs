use async_trait::async_trait;

use super::{DocEntry, Namespace};
use crate::StoreError;

/// The search over documents. A store that supports it returns it from
/// [`DocStore::searcher`](super::DocStore::searcher); another store can be wrapped by a type that
/// keeps its own index.
#[async_trait]
pub trait DocSearch: Send + Sync {
    /// Returns the matching documents of a namespace and of all namespaces within it, best first.
    async fn search(&self, space: &Namespace, query: &DocQuery) -> Result<Vec<DocHit>, StoreError>;
}

/// A search request for documents.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DocQuery {
    /// The query text.
    pub text: String,
    /// The embedding of the text, if the caller has one.
    pub vector: Option<Vec<f32>>,
    /// The largest number of hits.
    pub limit: usize,
}

impl DocQuery {
    /// Creates a query for the ten best hits for a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            vector: None,
            limit: 10,
        }
    }

    fugato_state::setters! {
        /// Sets the embedding of the text.
        pub fn near(vector: Vec<f32>) { vector = Some(vector) }

        /// Sets the largest number of hits.
        pub fn limit(limit: usize) { limit = limit }
    }
}

/// A document that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct DocHit {
    /// The namespace of the document.
    pub space: Namespace,
    /// The document, with its value.
    pub entry: DocEntry,
    /// The relevance; greater is better. Scores are comparable only within one search.
    pub score: f64,
}

const _: fn(&dyn DocSearch) = |_| ();
