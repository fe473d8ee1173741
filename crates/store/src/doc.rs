//! Documents: data that outlives a thread.
mod memory;
mod name;
mod search;
mod value;
mod write;

use async_trait::async_trait;
use serde::{Serialize, de::DeserializeOwned};

pub use self::{
    memory::MemoryDocs,
    name::{DocKey, InvalidName, Namespace},
    search::{DocHit, DocQuery, DocSearch},
    value::{Doc, DocEntry, DocFilter, Version},
    write::{DocWrite, Precondition},
};
use crate::{StoreError, StoreErrorKind};

/// JSON documents under keys in namespaces, for data that outlives a thread: preferences of a user,
/// long-term memory, catalogues, counters that several threads share.
///
/// *Contract*, each a scenario of the conformance suite:
/// - **round trip**: `get` returns the value of the newest write exactly, with the version that the
///   write answered, the store's time at the write, and when it expires.
/// - **compare and set**: a write with a [`Precondition`] that does not hold is `Changed`, with the
///   version that is there, and has written nothing.
/// - **versions are unique**: each put gives the document a version that no other put of this
///   document ever had, also not one before it was deleted, removed or expired. Versions are only
///   compared for equality.
/// - **batch**: `write` writes all of a batch or nothing, and answers a version for each put and
///   none for each deletion, in order. Every precondition is about what was there before the batch.
/// - **isolated**: namespaces do not see each other, not even one within the other; names that
///   differ in case or in composition of characters are different.
/// - **expiry**: a document is gone from the millisecond on at which it expires, for `get`, `list`
///   and preconditions. A put without a time to live lasts, whatever was there before.
/// - **delete**: a deleted document is gone; deleting none is no error.
/// - **list**: the documents of one namespace in the order of the bytes of their keys, after a key,
///   with a prefix, at most as many as asked for, with their values only if asked for.
/// - **remove**: takes a namespace and all within it, and nothing beside it.
/// - **sizes**: a value over 1 MiB or a batch over 16 MiB is `TooLarge`; a batch of none or of more
///   than 1,000, one that names a document twice, or a time to live below 1 ms is `Invalid`.
///   Neither writes anything.
/// - **read your writes**: what `write` acknowledged, `get` and `list` return at once.
/// - **time**: it is the store's, and never runs backwards; what has expired does not come back.
///
/// A repeated put whose first answer was lost is harmless without a precondition, and `Changed`
/// with one: then `get` shows whether the stored value is the caller's own.
#[async_trait]
pub trait DocStore: Send + Sync {
    /// Returns the document under a key; none if there is none or it has expired.
    async fn get(&self, space: &Namespace, key: &DocKey) -> Result<Option<Doc>, StoreError>;

    /// Writes a batch, whole or not at all; see [`DocWrite::encode`] for what every store checks
    /// first.
    async fn write(&self, batch: Vec<DocWrite>) -> Result<Vec<Option<Version>>, StoreError>;

    /// Returns the documents of a namespace that match, in the order of their keys.
    async fn list(&self, space: &Namespace, filter: DocFilter)
    -> Result<Vec<DocEntry>, StoreError>;

    /// Removes a namespace and all within it; removing none is no error.
    async fn remove(&self, space: &Namespace) -> Result<(), StoreError>;

    /// Returns the search over the documents, by meaning or words; none if this store does not
    /// support it.
    fn searcher(&self) -> Option<&dyn DocSearch> {
        None
    }
}

/// Convenience methods for every [`DocStore`].
#[async_trait]
pub trait DocStoreExt: DocStore {
    /// Writes one document, without a precondition.
    async fn put(
        &self,
        space: &Namespace,
        key: &DocKey,
        value: impl Serialize + Send,
    ) -> Result<Version, StoreError> {
        let write = DocWrite::put(space, key, to_json(value)?);
        self.write_one(write).await.and_then(put_has_version)
    }

    /// Writes one document if the precondition holds; otherwise `Changed`.
    async fn put_if(
        &self,
        space: &Namespace,
        key: &DocKey,
        value: impl Serialize + Send,
        expect: Precondition,
    ) -> Result<Version, StoreError> {
        let write = DocWrite::put(space, key, to_json(value)?).only_if(expect);
        self.write_one(write).await.and_then(put_has_version)
    }

    /// Deletes a document, without a precondition; deleting a missing one is no error.
    async fn delete(&self, space: &Namespace, key: &DocKey) -> Result<(), StoreError> {
        self.write_one(DocWrite::delete(space, key)).await?;
        Ok(())
    }

    /// Writes a batch of one.
    async fn write_one(&self, write: DocWrite) -> Result<Option<Version>, StoreError> {
        let versions = self.write(vec![write]).await?;
        Ok(versions.into_iter().next().flatten())
    }

    /// Returns the value under a key as a `T`; `Corrupt` if it does not deserialise.
    async fn get_as<T: DeserializeOwned>(
        &self,
        space: &Namespace,
        key: &DocKey,
    ) -> Result<Option<T>, StoreError> {
        let Some(doc) = self.get(space, key).await? else {
            return Ok(None);
        };
        serde_json::from_value(doc.value)
            .map(Some)
            .map_err(|error| {
                let what = format!("the value is no {}", std::any::type_name::<T>());
                StoreError::new(StoreErrorKind::Corrupt(what), "get")
                    .on_document(space, key)
                    .because(error)
            })
    }

    /// Searches a namespace; `Unsupported` if the store has no search.
    async fn search(&self, space: &Namespace, query: &DocQuery) -> Result<Vec<DocHit>, StoreError> {
        match self.searcher() {
            Some(searcher) => searcher.search(space, query).await,
            None => Err(StoreError::new(StoreErrorKind::Unsupported, "search")),
        }
    }
}

impl<T: DocStore + ?Sized> DocStoreExt for T {}

fn to_json(value: impl Serialize) -> Result<serde_json::Value, StoreError> {
    serde_json::to_value(value).map_err(|error| {
        let what = "the value cannot be written as JSON".into();
        StoreError::new(StoreErrorKind::Invalid(what), "write").because(error)
    })
}

fn put_has_version(version: Option<Version>) -> Result<Version, StoreError> {
    version.ok_or_else(|| {
        StoreError::new(StoreErrorKind::Other, "write").because("the store answered no version")
    })
}

const _: fn(&dyn DocStore) = |_| ();
