//! The rows of an index.
use std::collections::BTreeMap;

use fugato_memory::{IndexEntry, terms};
use rusqlite::{Connection, Error, OptionalExtension, params};

use crate::row::damaged;

/// The greatest count of a term in one text; higher counts hardly add to a score.
pub(super) const COUNTED: u32 = 16;
/// A separator that no term contains.
const TIMES: char = '\u{2063}';

/// Returns the additional term of a text that contains a term at least `times` times. `FTS5`
/// without positions does not report counts.
pub(super) fn repeated(term: &str, times: u32) -> String {
    format!("{term}{TIMES}{times}")
}

/// Inserts an entry whose name is free, and returns its row id and the number of terms of its text.
pub(super) fn put(connection: &Connection, entry: &IndexEntry) -> Result<(i64, u32), Error> {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for term in terms(&entry.text) {
        *counts.entry(term).or_default() += 1;
    }
    let length: u32 = counts.values().sum();
    let sql = "INSERT INTO entry (name, digest, importance, length, vector)
               VALUES (?1, ?2, ?3, ?4, ?5)";
    let vector = entry.vector.as_ref().map(|vector| bytes(vector));
    let digest = entry.digest.cast_signed();
    let values = params![entry.id, digest, entry.importance, length, vector];
    connection.prepare_cached(sql)?.execute(values)?;
    let id = connection.last_insert_rowid();
    let mut held = String::new();
    for (term, count) in &counts {
        held.push_str(term);
        held.push(' ');
        for times in 2..=COUNTED.min(*count) {
            held.push_str(&repeated(term, times));
            held.push(' ');
        }
    }
    let sql = "INSERT INTO term (rowid, terms) VALUES (?1, ?2)";
    connection.prepare_cached(sql)?.execute(params![id, held])?;
    Ok((id, length))
}

/// Returns the row ids of the entries whose texts match, in order.
pub(super) fn holding(connection: &Connection, expression: &str) -> Result<Vec<i64>, Error> {
    let sql = "SELECT rowid FROM term WHERE term MATCH ?1 ORDER BY rowid";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([expression])?;
    let mut numbers = vec![];
    while let Some(row) = rows.next()? {
        numbers.push(row.get(0)?);
    }
    Ok(numbers)
}

/// Calls `each` for every entry, with its row id, name, importance and number of terms.
pub(super) fn each_text(
    connection: &Connection,
    mut each: impl FnMut(i64, &str, f32, u32) -> Result<(), Error>,
) -> Result<(), Error> {
    let sql = "SELECT id, name, importance, length FROM entry";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        each(
            row.get(0)?,
            row.get_ref(1)?.as_str()?,
            row.get(2)?,
            row.get(3)?,
        )?;
    }
    Ok(())
}

/// Removes an entry, and returns its row id if there was one.
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
        // The names with the prefix are contiguous.
        if !name.starts_with(prefix) {
            break;
        }
        digests.insert(name, row.get::<_, i64>(1)?.cast_unsigned());
    }
    Ok(digests)
}

/// Calls `each` for every entry that has a vector, with its row id, name, importance and vector.
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
