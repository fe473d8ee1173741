use std::path::Path;

use async_trait::async_trait;
use fugato_store::{
    Doc, DocEntry, DocFilter, DocKey, DocStore, DocWrite, Namespace, StoreError, Version,
};

use crate::{
    SqliteLog,
    log::unexpected,
    options::SqliteOptions,
    request::{Answer, Request},
};

/// A document store in one `SQLite` file, which may be that of a [`SqliteLog`]. Clones share it.
///
/// Writes of documents and appends to threads share their transactions and their wait for the disk.
/// Later writes remove expired documents, a few with each.
#[derive(Debug, Clone)]
pub struct SqliteDocs {
    log: SqliteLog,
}

impl SqliteDocs {
    /// Opens a database, or creates one; see [`SqliteLog::open`] for the errors.
    ///
    /// If this process has a log open on the same file, use [`SqliteLog::docs`] instead: two
    /// connections that write would wait for each other.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Ok(SqliteLog::open(path)?.docs())
    }

    /// Opens a database with options.
    pub fn open_with(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Self, StoreError> {
        Ok(SqliteLog::open_with(path, options)?.docs())
    }
}

impl SqliteLog {
    /// Returns the documents in the same file as the threads.
    pub fn docs(&self) -> SqliteDocs {
        SqliteDocs { log: self.clone() }
    }
}

#[async_trait]
impl DocStore for SqliteDocs {
    async fn get(&self, space: &Namespace, key: &DocKey) -> Result<Option<Doc>, StoreError> {
        // One row is not worth another thread.
        let doc = self.log.shared.readers.doc(space, key);
        doc.map_err(|refused| refused.into_store("get").on_document(space, key))
    }

    async fn write(&self, batch: Vec<DocWrite>) -> Result<Vec<Option<Version>>, StoreError> {
        let texts = DocWrite::encode(&batch)?;
        match self.log.write(Request::Write(batch, texts)).await? {
            Answer::Written(versions) => Ok(versions),
            other => Err(unexpected(&other)),
        }
    }

    async fn list(
        &self,
        space: &Namespace,
        filter: DocFilter,
    ) -> Result<Vec<DocEntry>, StoreError> {
        let space = space.clone();
        let list = move |shared: &crate::log::LogInner| {
            let listed = shared.readers.docs(&space, &filter);
            listed.map_err(|refused| refused.into_store("list documents"))
        };
        self.log.read_with(list).await
    }

    async fn remove(&self, space: &Namespace) -> Result<(), StoreError> {
        self.log.done(Request::Clear(space.clone())).await
    }
}
