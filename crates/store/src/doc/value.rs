use fugato_state::Millis;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::DocKey;

/// Which writing of a document this is. Only equality means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Version(pub u64);

/// A document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doc {
    /// What was put.
    pub value: Value,
    /// Which writing of it this is.
    pub version: Version,
    /// When it was put, in milliseconds of the store's clock.
    pub written: Millis,
    /// From when on it is gone, in milliseconds of the store's clock.
    pub expires: Option<Millis>,
}

impl Doc {
    /// The largest value, in bytes of its JSON text.
    pub const MAX_VALUE: usize = 1 << 20;

    /// Whether it is gone at this time.
    pub fn has_expired(&self, now: Millis) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

/// A line of the list of documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocEntry {
    /// The key.
    pub key: DocKey,
    /// The value, if it was asked for.
    pub value: Option<Value>,
    /// Which writing of it this is.
    pub version: Version,
    /// When it was put, in milliseconds of the store's clock.
    pub written: Millis,
    /// From when on it is gone, in milliseconds of the store's clock.
    pub expires: Option<Millis>,
}

/// Which documents of a namespace to list; all, up to 1,000, without their values if not said.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocFilter {
    /// Only keys that begin so.
    pub prefix: String,
    /// Only keys that come after this one.
    pub after: Option<DocKey>,
    /// How many at most.
    pub limit: usize,
    /// Whether the values come along.
    pub values: bool,
}

impl DocFilter {
    /// Only keys that begin so.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Only keys that come after this one: the last one of the page before.
    #[must_use]
    pub fn after(mut self, key: DocKey) -> Self {
        self.after = Some(key);
        self
    }

    /// How many at most.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// With their values.
    #[must_use]
    pub fn values(mut self) -> Self {
        self.values = true;
        self
    }

    /// Whether a key matches.
    pub fn matches(&self, key: &DocKey) -> bool {
        key.as_str().starts_with(&self.prefix)
            && self.after.as_ref().is_none_or(|after| key > after)
    }
}

impl Default for DocFilter {
    fn default() -> Self {
        Self {
            prefix: String::new(),
            after: None,
            limit: 1000,
            values: false,
        }
    }
}
