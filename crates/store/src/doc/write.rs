use std::collections::BTreeSet;

use fugato_state::Millis;
use serde_json::Value;

use super::{Doc, DocKey, Namespace, Version};
use crate::{StoreError, StoreErrorKind};

/// A write to one document, made by [`put`](Self::put) or [`delete`](Self::delete).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocWrite {
    /// The namespace of the document.
    pub space: Namespace,
    /// The key of the document.
    pub key: DocKey,
    /// The new value; none to delete the document.
    pub value: Option<Value>,
    /// The time to live, in milliseconds of the store's clock; none if it never expires.
    pub ttl: Option<Millis>,
    /// The precondition of the write.
    pub expect: Precondition,
}

/// The condition on the stored document under which a write happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precondition {
    /// No condition.
    #[default]
    Any,
    /// The document does not exist.
    Absent,
    /// The document has this version.
    Version(Version),
}

impl Precondition {
    /// Checks the condition against the stored version; returns `Changed` if it does not hold.
    pub fn check(self, there: Option<Version>) -> Result<(), StoreErrorKind> {
        let holds = match self {
            Self::Any => true,
            Self::Absent => there.is_none(),
            Self::Version(expected) => there == Some(expected),
        };
        if holds {
            Ok(())
        } else {
            Err(StoreErrorKind::Changed { version: there })
        }
    }
}

impl DocWrite {
    /// The most writes of a batch.
    pub const MAX_BATCH: usize = 1000;
    /// The largest batch, the JSON text of all values together, in bytes.
    pub const MAX_BATCH_BYTES: usize = 16 << 20;

    /// Creates a write that puts a value, replacing a stored one.
    pub fn put(space: &Namespace, key: &DocKey, value: Value) -> Self {
        Self {
            space: space.clone(),
            key: key.clone(),
            value: Some(value),
            ttl: None,
            expect: Precondition::Any,
        }
    }

    /// Creates a write that deletes the document, if it exists.
    pub fn delete(space: &Namespace, key: &DocKey) -> Self {
        Self {
            space: space.clone(),
            key: key.clone(),
            value: None,
            ttl: None,
            expect: Precondition::Any,
        }
    }

    fugato_state::setters! {
        /// Sets the precondition.
        pub fn only_if(expect: Precondition) { expect = expect }

        /// Sets the time to live, in milliseconds.
        pub fn lasting(ttl: Millis) { ttl = Some(ttl) }
    }

    /// Checks a batch as every store does before it writes, and returns its values as JSON text, to
    /// whose sizes the limits apply.
    pub fn encode(batch: &[Self]) -> Result<Vec<Option<String>>, StoreError> {
        let refused = |kind| StoreError::new(kind, "write");
        let (count, most) = (batch.len(), Self::MAX_BATCH);
        if count == 0 || count > most {
            let what = format!("a batch has 1 to {most} writes; this one has {count}");
            return Err(refused(StoreErrorKind::Invalid(what)));
        }
        let (mut seen, mut texts, mut whole) = (BTreeSet::new(), Vec::with_capacity(count), 0);
        for write in batch {
            let on = |error: StoreError| error.on_document(&write.space, &write.key);
            if !seen.insert((&write.space, &write.key)) {
                let what = "a batch writes a document once".to_owned();
                return Err(on(refused(StoreErrorKind::Invalid(what))));
            }
            let text = write.encode_one().map_err(refused).map_err(on)?;
            whole += text.as_ref().map_or(0, String::len);
            texts.push(text);
        }
        if whole > Self::MAX_BATCH_BYTES {
            return Err(refused(StoreErrorKind::TooLarge {
                bytes: whole,
                limit: Self::MAX_BATCH_BYTES,
            }));
        }
        Ok(texts)
    }

    fn encode_one(&self) -> Result<Option<String>, StoreErrorKind> {
        if let Some(ttl) = self.ttl.filter(|ttl| *ttl < 1) {
            let what = format!("a time to live of {ttl} ms; 1 and more are allowed");
            return Err(StoreErrorKind::Invalid(what));
        }
        let Some(value) = &self.value else {
            return Ok(None);
        };
        let text = value.to_string();
        let (bytes, limit) = (text.len(), Doc::MAX_VALUE);
        if bytes > limit {
            return Err(StoreErrorKind::TooLarge { bytes, limit });
        }
        Ok(Some(text))
    }
}
