//! Connections that only read, so that reads never wait for a writer's disk.
mod doc;
mod record;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use fugato_state::{Seq, ThreadId};
use fugato_store::{
    Head, Record, Snapshot, StoreError, StoreErrorKind, ThreadFilter, ThreadSummary,
};
use rusqlite::{Connection, Error, OptionalExtension, params};

use crate::{
    checksum,
    clock::StoreClock,
    copy::copy_database,
    error::Refusal,
    open::open_reader,
    options::SqliteOptions,
    row::{ThreadRow, damaged, number, status, stored},
    schema::{MAX_SEQ, seq_of},
};

/// The most idle connections that are kept.
const MOST_IDLE: usize = 16;

#[derive(Debug)]
pub(crate) struct Readers {
    path: PathBuf,
    options: SqliteOptions,
    clock: Arc<StoreClock>,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(crate) fn new(path: PathBuf, options: SqliteOptions, clock: Arc<StoreClock>) -> Self {
        Self {
            path,
            options,
            clock,
            idle: Mutex::default(),
        }
    }

    /// Runs several read statements on one consistent snapshot.
    fn at_once<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        self.with(|connection| {
            connection.prepare_cached("BEGIN")?.execute([])?;
            let found = read(connection);
            connection.prepare_cached("COMMIT")?.execute([])?;
            found
        })
    }

    /// Runs `read` with a connection of its own.
    fn with<T>(&self, read: impl FnOnce(&Connection) -> Result<T, Refusal>) -> Result<T, Refusal> {
        let idle = self
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let connection = match idle {
            Some(connection) => connection,
            None => open_reader(&self.path, &self.options)?,
        };
        let found = read(&connection);
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // A connection with an open transaction would show old data for ever.
        if connection.is_autocommit() && idle.len() < MOST_IDLE {
            idle.push(connection);
        }
        found
    }

    pub(crate) fn head(&self, name: &ThreadId) -> Result<Option<Head>, Refusal> {
        let row = self.with(|connection| Ok(ThreadRow::by_name(connection, name)?))?;
        Ok(row.and_then(|row| {
            self.clock.at_least(row.time);
            let now = self.clock.now();
            Some(Head {
                seq: row.head,
                base: row.base,
                fence: row.fence,
                status: row.status?,
                nonce: row.nonce?,
                leased_until: Some(row.lease_until).filter(|until| *until > now),
                now,
            })
        }))
    }

    pub(crate) fn read(
        &self,
        name: &ThreadId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, Record)>, Refusal> {
        self.at_once(|connection| {
            let sql = "SELECT id, base FROM thread WHERE name = ?1";
            let mut statement = connection.prepare_cached(sql)?;
            let found = statement
                .query_row([name.as_str()], |row| {
                    Ok((row.get(0)?, number(row.get(1)?)?))
                })
                .optional()?;
            let Some((id, base)) = found else {
                return Ok(vec![]);
            };
            let from = from.max(1);
            if from <= base {
                return Err(StoreErrorKind::Compacted { base }.into());
            }
            if from > MAX_SEQ {
                return Ok(vec![]);
            }
            Ok(record::range(connection, id, from, limit)?)
        })
    }

    pub(crate) fn latest_at(&self, name: &ThreadId, seq: Seq) -> Result<Option<Snapshot>, Refusal> {
        self.with(|connection| {
            let sql = "SELECT s.at, s.body, s.sum FROM thread t JOIN snapshot s
                       ON s.at BETWEEN t.id << 32 AND (t.id << 32) + ?2
                       WHERE t.name = ?1 ORDER BY s.at DESC LIMIT 1";
            let mut statement = connection.prepare_cached(sql)?;
            let found =
                statement.query_row(params![name.as_str(), stored(seq.min(MAX_SEQ))], |row| {
                    let (at, body): (i64, Vec<u8>) = (row.get(0)?, row.get(1)?);
                    checksum::check(at, &body, row.get(2)?)?;
                    let seq = seq_of(at);
                    Ok(Snapshot { seq, body })
                });
            Ok(found.optional()?)
        })
    }

    pub(crate) fn list(&self, filter: &ThreadFilter) -> Result<Vec<ThreadSummary>, Refusal> {
        self.with(|connection| {
            let sql = "SELECT t.name, t.status, t.until, max(t.base, coalesce(
                           (SELECT max(at) FROM record_by_thread
                            WHERE at BETWEEN t.id << 32 AND t.id << 32 | 4294967295), 0), coalesce(
                           (SELECT max(at) FROM record_by_arrival
                            WHERE at BETWEEN t.id << 32 AND t.id << 32 | 4294967295), 0))
                       FROM thread t
                       WHERE t.name > ?1 AND t.name >= ?2 AND substr(t.name, 1, length(?2)) = ?2
                           AND t.status IS NOT NULL
                       ORDER BY t.name LIMIT ?3";
            let after = filter.after.as_ref().map_or("", ThreadId::as_str);
            let limit = i64::try_from(filter.limit).unwrap_or(i64::MAX);
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query(params![after, filter.prefix, limit])?;
            let mut listed = vec![];
            while let Some(row) = rows.next()? {
                let thread = ThreadId::new(row.get::<_, String>(0)?).map_err(damaged)?;
                let head = seq_of(row.get(3)?);
                let missing = || damaged("a listed thread has no status");
                let status = status(row.get(1)?, row.get(2)?)?.ok_or_else(missing)?;
                listed.push(ThreadSummary {
                    thread,
                    head,
                    status,
                });
            }
            Ok(listed)
        })
    }

    /// Checks the integrity of every page.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let connection = open_reader(&self.path, &self.options)
            .map_err(|error: Error| Refusal::from(error).into_store("verify"))?;
        crate::open::check_whole(&self.path, &connection)
    }

    /// Writes a copy of the database to a new file, and waits until the disk has it.
    pub(crate) fn copy_to(&self, path: &Path) -> Result<(), StoreError> {
        copy_database(&self.path, path)
    }
}
