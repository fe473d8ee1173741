//! The rows of an index.
use std::collections::BTreeMap;

use fugato_memory::{IndexEntry, terms};
use rusqlite::{Connection, Error, OptionalExtension, params};

use crate::row::damaged;

/// Puts an entry whose name is free, and tells its number.
pub(super) fn put(connection: &Connection, entry: &IndexEntry) -> Result<i64, Error> {
    let sql = "INSERT INTO entry (name, digest, importance, vector) VALUES (?1, ?2, ?3, ?4)";
    let vector = entry.vector.as_ref().map(|vector| bytes(vector));
    let digest = entry.digest.cast_signed();
    let values = params![entry.id, digest, entry.importance, vector];
    connection.prepare_cached(sql)?.execute(values)?;
    let id = connection.last_insert_rowid();
    let sql = "INSERT INTO term (rowid, terms) VALUES (?1, ?2)";
    let terms = terms(&entry.text).join(" ");
    connection
        .prepare_cached(sql)?
        .execute(params![id, terms])?;
    Ok(id)
}

/// Removes an entry, and tells its number if there was one.
pub(super) fn remove(connection: &Connection, name: &str) -> Result<Option<i64>, Error> {
    let sql = "DELETE FROM entry WHERE name = ?1 RETURNING id";
    let mut statement = connection.prepare_cached(sql)?;
    let removed: Option<i64> = statement.query_row([name], |row| row.get(0)).optional()?;
    if let Some(id) = removed {
        let sql = "DELETE FROM term WHERE rowid = ?1";
        connection.prepare_cached(sql)?.execute([id])?;
    }
    Ok(removed)
}

pub(super) fn digests(
    connection: &Connection,
    prefix: &str,
) -> Result<BTreeMap<String, u64>, Error> {
    let sql = "SELECT name, digest FROM entry WHERE name >= ?1 ORDER BY name";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([prefix])?;
    let mut digests = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let name: String = row.get(0)?;
        // The names with the prefix lie together.
        if !name.starts_with(prefix) {
            break;
        }
        digests.insert(name, row.get::<_, i64>(1)?.cast_unsigned());
    }
    Ok(digests)
}

/// Calls for each entry that has a vector, with its number, name, importance and vector.
pub(super) fn each_vector(
    connection: &Connection,
    mut each: impl FnMut(i64, String, f32, Vec<f32>) -> Result<(), Error>,
) -> Result<(), Error> {
    let sql = "SELECT id, name, importance, vector FROM entry WHERE vector IS NOT NULL";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let vector = numbers(row.get_ref(3)?.as_blob()?)?;
        each(row.get(0)?, row.get(1)?, row.get(2)?, vector)?;
    }
    Ok(())
}

fn bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn numbers(bytes: &[u8]) -> Result<Vec<f32>, Error> {
    let (numbers, rest) = bytes.as_chunks::<4>();
    if rest.is_empty() {
        Ok(numbers
            .iter()
            .map(|four| f32::from_le_bytes(*four))
            .collect())
    } else {
        Err(damaged("a vector ends within a number"))
    }
}
