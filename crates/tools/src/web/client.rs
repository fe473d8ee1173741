use std::error::Error;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

/// The error of a search or a fetch: its first line is for a model.
pub type FetchFailure = Box<dyn Error + Send + Sync>;

/// A search service and a way to fetch pages.
///
/// # Contract
/// - Only what it is asked for is fetched: a redirection to another host is an error.
/// - What is returned is text, and not longer than a model can read.
#[async_trait]
pub trait Web: Send + Sync {
    /// Returns pages about a query, the best first.
    async fn search(&self, query: &str, limit: usize) -> Result<Vec<WebHit>, FetchFailure>;

    /// Returns the text of a page.
    async fn fetch(&self, url: &str) -> Result<String, FetchFailure>;
}

const _: Option<&dyn Web> = None;

/// A page that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WebHit {
    /// Its title.
    pub title: String,
    /// Its address.
    pub url: String,
    /// The part of its text that is about the query.
    #[serde(default, alias = "content")]
    pub excerpt: String,
}

impl WebHit {
    /// Creates a hit.
    pub fn new(
        title: impl Into<String>,
        url: impl Into<String>,
        excerpt: impl Into<String>,
    ) -> Self {
        Self {
            title: title.into(),
            url: url.into(),
            excerpt: excerpt.into(),
        }
    }
}
