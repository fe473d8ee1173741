//! Documents.
mod sql;
mod write;

use std::sync::{Arc, atomic::Ordering};

use async_trait::async_trait;
use fugato_store::{
    Doc, DocEntry, DocFilter, DocKey, DocStore, DocWrite, Namespace, StoreError, StoreErrorKind,
    Version,
};
use serde_json::Value;
use tokio_postgres::Row;

pub(crate) use self::sql::DocSql;
use crate::{
    PostgresLog, PostgresOptions,
    connection::Connection,
    database::Database,
    error::{Refusal, RequestError},
    row::{end_of_prefix, get, number, stored},
};

/// The number of writes between two removals of expired documents.
const WRITES_BETWEEN_SWEEPS: u32 = 64;

/// Documents in one schema of a `PostgreSQL` database, which may be that of a [`PostgresLog`].
/// Clones share its connections.
///
/// A batch of one write is one statement and one round trip. A larger one is one transaction, and
/// those that share a namespace wait for each other. Expired documents are removed now and then
/// after a write, a few at a time.
#[derive(Debug, Clone)]
pub struct PostgresDocs {
    database: Arc<Database>,
}

impl PostgresDocs {
    /// Connects to a database; see [`PostgresLog::connect`] for the errors. If there is a log
    /// already, [`PostgresLog::docs`] shares its connections.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        Ok(PostgresLog::connect(url).await?.docs())
    }

    /// Connects with options.
    pub async fn connect_with(url: &str, options: PostgresOptions) -> Result<Self, StoreError> {
        Ok(PostgresLog::connect_with(url, options).await?.docs())
    }
}

impl PostgresLog {
    /// Returns the documents in the same schema as the threads.
    pub fn docs(&self) -> PostgresDocs {
        PostgresDocs {
            database: Arc::clone(&self.database),
        }
    }
}

impl PostgresDocs {
    async fn find(&self, space: &Namespace, key: &DocKey) -> Result<Option<Doc>, Refusal> {
        let database = &self.database;
        let mut connection = database.connection().await?;
        let (instead, seen) = database.clock.parameters();
        let found = connection
            .maybe(
                &database.doc_sql.get,
                &[&instead, &seen, &space.as_str(), &key.as_str()],
            )
            .await?;
        let Some(row) = found else { return Ok(None) };
        let doc = Doc {
            value: json(&get::<String>(&row, 1)?)?,
            version: Version(number(get(&row, 2)?)?),
            written: get(&row, 3)?,
            expires: get(&row, 4)?,
        };
        let now = database.clock.saw(get(&row, 0)?);
        Ok((!doc.has_expired(now)).then_some(doc))
    }

    async fn list_all(
        &self,
        space: &Namespace,
        filter: &DocFilter,
    ) -> Result<Vec<DocEntry>, Refusal> {
        if filter.prefix.contains('\0') {
            // No key contains it, and the server accepts no text with it.
            return Ok(vec![]);
        }
        let database = &self.database;
        let mut connection = database.connection().await?;
        let (instead, seen) = database.clock.parameters();
        let after = filter.after.as_ref().map(DocKey::as_str);
        let rows = connection
            .rows(
                &database.doc_sql.list,
                &[
                    &instead,
                    &seen,
                    &space.as_str(),
                    &filter.prefix,
                    &after,
                    &end_of_prefix(&filter.prefix),
                    &stored(filter.limit as u64),
                    &filter.values,
                ],
            )
            .await?;
        let entries: Result<_, RequestError> = rows.iter().map(|row| self.entry(row)).collect();
        Ok(entries?)
    }

    fn entry(&self, row: &Row) -> Result<DocEntry, RequestError> {
        self.database.clock.saw(get(row, 0)?);
        let value: Option<String> = get(row, 1)?;
        let key = DocKey::new(get::<String>(row, 5)?);
        Ok(DocEntry {
            key: key.map_err(|error| RequestError::Damaged(error.to_string()))?,
            value: value.map(|text| json(&text)).transpose()?,
            version: Version(number(get(row, 2)?)?),
            written: get(row, 3)?,
            expires: get(row, 4)?,
        })
    }

    async fn remove_all(&self, space: &Namespace) -> Result<(), Refusal> {
        let mut connection = self.database.connection().await?;
        let remove = &self.database.doc_sql.remove;
        connection.rows(remove, &[&space.as_str()]).await?;
        Ok(())
    }

    /// Removes expired documents in the background, after every so many writes.
    fn sweep_at_times(&self, mut connection: Connection) {
        let writes = self.database.writes.fetch_add(1, Ordering::Relaxed);
        if writes % WRITES_BETWEEN_SWEEPS != WRITES_BETWEEN_SWEEPS - 1 {
            return;
        }
        let database = Arc::clone(&self.database);
        tokio::spawn(async move {
            let (instead, seen) = database.clock.parameters();
            let sweep = &database.doc_sql.sweep;
            if let Err(error) = connection.rows(sweep, &[&instead, &seen]).await {
                tracing::debug!(%error, "expired documents could not be deleted");
            }
        });
    }
}

fn json(text: &str) -> Result<Value, RequestError> {
    serde_json::from_str(text).map_err(|error| RequestError::Damaged(error.to_string()))
}

#[async_trait]
impl DocStore for PostgresDocs {
    async fn get(&self, space: &Namespace, key: &DocKey) -> Result<Option<Doc>, StoreError> {
        let found = self.find(space, key).await;
        found.map_err(|refused| refused.into_store("get").on_document(space, key))
    }

    async fn write(&self, batch: Vec<DocWrite>) -> Result<Vec<Option<Version>>, StoreError> {
        let texts = DocWrite::encode(&batch)?;
        match self.write_all(&batch, &texts).await {
            Ok(written) => Ok(written),
            Err((refused, write)) => {
                let error = refused.into_store("write");
                Err(match write {
                    Some(write) => error.on_document(&write.space, &write.key),
                    None => error,
                })
            }
        }
    }

    async fn list(
        &self,
        space: &Namespace,
        filter: DocFilter,
    ) -> Result<Vec<DocEntry>, StoreError> {
        let listed = self.list_all(space, &filter).await;
        listed.map_err(|refused| refused.into_store("list documents"))
    }

    async fn remove(&self, space: &Namespace) -> Result<(), StoreError> {
        let removed = self.remove_all(space).await;
        removed.map_err(|refused| refused.into_store("remove documents"))
    }
}

/// The reason why a batch was refused, and the write that caused it.
type RefusedBatch<'a> = (Refusal, Option<&'a DocWrite>);

fn changed(kind: StoreErrorKind, write: &DocWrite) -> RefusedBatch<'_> {
    (kind.into(), Some(write))
}
