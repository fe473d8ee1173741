//! A store under test, with short names for the requests of scenarios.
use std::sync::Arc;

use fugato_state::Millis;
use fugato_store::{
    Doc, DocEntry, DocFilter, DocKey, DocStore, DocWrite, MemoryDocs, Namespace, Precondition,
    StoreErrorKind, Version,
};
use serde_json::Value;

use super::DocFactory;
use crate::log::{Failure, TestClock};

/// The time at which trials begin: some day in 2033.
const BEGIN: Millis = 2_000_000_000_000;

pub(super) struct Trial<'f> {
    factory: &'f dyn DocFactory,
    pub(super) clock: TestClock,
    pub(super) docs: Arc<dyn DocStore>,
}

impl<'f> Trial<'f> {
    pub(super) async fn start(factory: &'f dyn DocFactory) -> Result<Self, Failure> {
        let clock = TestClock::at(BEGIN);
        let docs = factory.fresh(&clock).await?;
        Ok(Self {
            factory,
            clock,
            docs,
        })
    }

    /// Opens the store again; returns false if it is not declared persistent.
    pub(super) async fn reopen(&mut self) -> Result<bool, Failure> {
        if !self.factory.persistent() {
            return Ok(false);
        }
        self.docs = Arc::new(MemoryDocs::default());
        self.docs = self.factory.reopen(&self.clock).await?;
        Ok(true)
    }

    pub(super) async fn get(&self, path: &str, name: &str) -> Result<Option<Doc>, Failure> {
        Ok(self.docs.get(&space(path), &key(name)).await?)
    }

    /// Returns the value alone.
    pub(super) async fn value(&self, path: &str, name: &str) -> Result<Option<Value>, Failure> {
        Ok(self.get(path, name).await?.map(|doc| doc.value))
    }

    pub(super) async fn try_write(
        &self,
        batch: Vec<DocWrite>,
    ) -> Result<Vec<Option<Version>>, StoreErrorKind> {
        self.docs.write(batch).await.map_err(|error| error.kind)
    }

    pub(super) async fn write(&self, write: DocWrite) -> Result<Option<Version>, Failure> {
        let answers = self.docs.write(vec![write]).await?;
        match answers.as_slice() {
            [one] => Ok(*one),
            other => Err(Failure::new(format!("one write was answered by {other:?}"))),
        }
    }

    pub(super) async fn put(
        &self,
        path: &str,
        name: &str,
        value: impl Into<Value> + Send,
    ) -> Result<Version, Failure> {
        let answer = self.write(put(path, name, value)).await?;
        answer.ok_or_else(|| Failure::new("a put was answered by no version"))
    }

    pub(super) async fn list(
        &self,
        path: &str,
        filter: DocFilter,
    ) -> Result<Vec<DocEntry>, Failure> {
        Ok(self.docs.list(&space(path), filter).await?)
    }

    /// Returns the keys of a namespace, in the order of the list.
    pub(super) async fn keys(&self, path: &str, filter: DocFilter) -> Result<Vec<String>, Failure> {
        let listed = self.list(path, filter).await?;
        Ok(listed.into_iter().map(|entry| entry.key.into()).collect())
    }
}

pub(super) fn space(path: &str) -> Namespace {
    path.parse().expect("scenarios use allowed namespaces")
}

pub(super) fn key(name: &str) -> DocKey {
    DocKey::new(name).expect("scenarios use allowed keys")
}

pub(super) fn put(path: &str, name: &str, value: impl Into<Value>) -> DocWrite {
    DocWrite::put(&space(path), &key(name), value.into())
}

pub(super) fn delete(path: &str, name: &str) -> DocWrite {
    DocWrite::delete(&space(path), &key(name))
}

/// Returns the error of a write whose precondition does not hold.
pub(super) fn changed<T>(there: Option<Version>) -> Result<T, StoreErrorKind> {
    Err(StoreErrorKind::Changed { version: there })
}

/// Returns a precondition that this version meets.
pub(super) fn version(version: Version) -> Precondition {
    Precondition::Version(version)
}
