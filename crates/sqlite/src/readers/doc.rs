use fugato_state::Millis;
use fugato_store::{Doc, DocEntry, DocFilter, DocKey, Namespace, Version};
use rusqlite::{OptionalExtension, Row, params};
use serde_json::Value;

use super::Readers;
use crate::{
    checksum,
    error::Refusal,
    row::{damaged, number},
};

impl Readers {
    pub(crate) fn doc(&self, space: &Namespace, key: &DocKey) -> Result<Option<Doc>, Refusal> {
        let now = self.clock.now();
        self.with(|connection| {
            let sql = "SELECT version, written, expires, value, sum FROM doc
                       WHERE space = ?1 AND key = ?2 AND (expires IS NULL OR expires > ?3)";
            let mut statement = connection.prepare_cached(sql)?;
            let names = params![space.as_str(), key.as_str(), now];
            let found = statement.query_row(names, |row| {
                Ok(Doc {
                    value: value(row, 3)?,
                    version: version(row.get(0)?)?,
                    written: row.get(1)?,
                    expires: row.get(2)?,
                })
            });
            Ok(found.optional()?)
        })
    }

    pub(crate) fn docs(
        &self,
        space: &Namespace,
        filter: &DocFilter,
    ) -> Result<Vec<DocEntry>, Refusal> {
        let now: Millis = self.clock.now();
        self.with(|connection| {
            let sql = "SELECT key, version, written, expires, iif(?5, value, NULL), sum FROM doc
                       WHERE space = ?1 AND key >= ?2 AND key > ?3
                           AND (expires IS NULL OR expires > ?4)
                       ORDER BY key";
            let mut statement = connection.prepare_cached(sql)?;
            let after = filter.after.as_ref().map_or("", DocKey::as_str);
            let mut rows = statement.query(params![
                space.as_str(),
                filter.prefix,
                after,
                now,
                filter.values
            ])?;
            let mut listed = vec![];
            while listed.len() < filter.limit
                && let Some(row) = rows.next()?
            {
                let key = DocKey::new(row.get::<_, String>(0)?).map_err(damaged)?;
                // The keys with the prefix are contiguous.
                if !key.as_str().starts_with(&filter.prefix) {
                    break;
                }
                listed.push(DocEntry {
                    key,
                    value: filter.values.then(|| value(row, 4)).transpose()?,
                    version: version(row.get(1)?)?,
                    written: row.get(2)?,
                    expires: row.get(3)?,
                });
            }
            Ok(listed)
        })
    }
}

fn value(row: &Row<'_>, column: usize) -> Result<Value, rusqlite::Error> {
    let text = row.get_ref(column)?.as_str()?;
    checksum::check(row.get("written")?, text.as_bytes(), row.get("sum")?)?;
    serde_json::from_str(text).map_err(damaged)
}

fn version(stored: i64) -> Result<Version, rusqlite::Error> {
    Ok(Version(number(stored)?))
}
