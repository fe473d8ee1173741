use fugato_state::Millis;
use fugato_store::{DocKey, DocWrite, Namespace, StoreError, Version};
use rusqlite::{Error, OptionalExtension, params};

use super::Writer;
use crate::{checksum, error::Refusal, row::number};

/// The most expired documents that one write removes, so that no write waits for all of them.
const MOST_SWEPT: i64 = 64;

impl Writer {
    pub(super) fn write_docs(
        &mut self,
        batch: &[DocWrite],
        texts: &[Option<String>],
    ) -> Result<Vec<Option<Version>>, Refusal> {
        let now = self.shared_now()?;
        for write in batch {
            let there = self.version_of(&write.space, &write.key, now)?;
            write.expect.check(there).map_err(|kind| {
                StoreError::new(kind, "write").on_document(&write.space, &write.key)
            })?;
        }
        self.sweep(now)?;
        let mut versions = Vec::with_capacity(batch.len());
        for (write, text) in batch.iter().zip(texts) {
            versions.push(match text {
                Some(text) => Some(self.put_doc(write, text, now)?),
                None => self.delete_doc(&write.space, &write.key)?,
            });
        }
        self.store_clock(now)?;
        Ok(versions)
    }

    fn version_of(
        &self,
        space: &Namespace,
        key: &DocKey,
        now: Millis,
    ) -> Result<Option<Version>, Error> {
        let sql = "SELECT version FROM doc
                   WHERE space = ?1 AND key = ?2 AND (expires IS NULL OR expires > ?3)";
        let mut statement = self.connection.prepare_cached(sql)?;
        let version = statement.query_row(params![space.as_str(), key.as_str(), now], |row| {
            Ok(Version(number(row.get(0)?)?))
        });
        version.optional()
    }

    /// Replaces the row, so that its number is a version that was never used.
    fn put_doc(&self, write: &DocWrite, text: &str, now: Millis) -> Result<Version, Error> {
        let sql = "INSERT OR REPLACE INTO doc (space, key, written, expires, value, sum)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let expires = write.ttl.map(|ttl| now.saturating_add(ttl));
        let (space, key) = (write.space.as_str(), write.key.as_str());
        let sum = checksum::of(now, text.as_bytes());
        self.connection
            .prepare_cached(sql)?
            .execute(params![space, key, now, expires, text, sum])?;
        Ok(Version(number(self.connection.last_insert_rowid())?))
    }

    fn delete_doc(&self, space: &Namespace, key: &DocKey) -> Result<Option<Version>, Error> {
        let sql = "DELETE FROM doc WHERE space = ?1 AND key = ?2";
        self.connection
            .prepare_cached(sql)?
            .execute([space.as_str(), key.as_str()])?;
        Ok(None)
    }

    fn sweep(&self, now: Millis) -> Result<(), Error> {
        let sql = "DELETE FROM doc WHERE version IN (
                       SELECT version FROM doc WHERE expires <= ?1 ORDER BY expires LIMIT ?2)";
        self.connection
            .prepare_cached(sql)?
            .execute([now, MOST_SWEPT])?;
        Ok(())
    }

    /// Removes a namespace and all namespaces within it. In the order of paths those are between
    /// the namespace with a slash and the namespace with `0`, the character after the slash.
    pub(super) fn clear_docs(&self, space: &Namespace) -> Result<(), Error> {
        let sql = "DELETE FROM doc
                   WHERE space = ?1 OR (space > ?1 || '/' AND space < ?1 || '0')";
        self.connection
            .prepare_cached(sql)?
            .execute([space.as_str()])?;
        Ok(())
    }
}
