use fugato_state::Millis;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::DocKey;

/// The version of a document. Versions are only compared for equality.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Version(pub u64);

/// A document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doc {
    /// The value.
    pub value: Value,
    /// The version of this value.
    pub version: Version,
    /// The time of the put, in milliseconds of the store's clock.
    pub written: Millis,
    /// The time from which it counts as expired, in milliseconds of the store's clock; none if it
    /// never expires.
    pub expires: Option<Millis>,
}

impl Doc {
    /// The largest value, in bytes of its JSON text.
    pub const MAX_VALUE: usize = 1 << 20;

    /// Returns true if the document has expired at this time.
    pub fn has_expired(&self, now: Millis) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

/// An entry in a list of documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocEntry {
    /// The key.
    pub key: DocKey,
    /// The value, if the filter includes values.
    pub value: Option<Value>,
    /// The version of the document.
    pub version: Version,
    /// The time of the put, in milliseconds of the store's clock.
    pub written: Millis,
    /// The time from which it counts as expired, in milliseconds of the store's clock; none if it
    /// never expires.
    pub expires: Option<Millis>,
}

/// A filter for the documents of a namespace. The default is the first 1,000, without their values.
#[derive(smart_default::SmartDefault, Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocFilter {
    /// The prefix of the keys.
    pub prefix: String,
    /// The key after which the list begins.
    pub after: Option<DocKey>,
    /// The largest number of documents.
    #[default(1000)]
    pub limit: usize,
    /// True if the values are included.
    pub values: bool,
}

impl DocFilter {
    fugato_state::setters! {
        /// Sets the prefix of the keys.
        pub fn prefix(prefix: impl Into<String>) { prefix = prefix.into() }

        /// Sets the key after which the list begins: the last one of the page before.
        pub fn after(key: DocKey) { after = Some(key) }

        /// Sets the largest number of documents.
        pub fn limit(limit: usize) { limit = limit }
    }

    /// Includes the values.
    #[must_use]
    pub fn values(mut self) -> Self {
        self.values = true;
        self
    }

    /// Returns true if a key matches.
    pub fn matches(&self, key: &DocKey) -> bool {
        key.as_str().starts_with(&self.prefix)
            && self.after.as_ref().is_none_or(|after| key > after)
    }
}
