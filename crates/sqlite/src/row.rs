//! Rows of threads.
use std::error::Error;

use fugato_state::{Millis, Seq, ThreadId};
use fugato_store::{Fence, Signal, Status};
use rusqlite::{
    Connection, OptionalExtension, Result, Row,
    types::{FromSqlError, Type},
};

use crate::schema::{MAX_SEQ, key, seq_of};

/// A thread with the last of its records.
#[derive(Debug, Clone)]
pub(crate) struct ThreadRow {
    pub(crate) id: i64,
    /// The status; `None` if there is only a lease so far.
    pub(crate) status: Option<Status>,
    pub(crate) due: Option<Millis>,
    pub(crate) base: Seq,
    pub(crate) head: Seq,
    pub(crate) nonce: Option<u128>,
    /// The time of the last record.
    pub(crate) time: Millis,
    pub(crate) fence: Fence,
    pub(crate) lease_until: Millis,
    pub(crate) has_signals: bool,
}

const SELECT_THREAD: &str = "SELECT t.id, t.status, t.until, t.due, t.base, t.nonce,
                    a.at, a.nonce, a.time, b.at, b.nonce, b.time,
                    t.fence, t.lease_until, t.signals IS NOT NULL
             FROM thread t
             LEFT JOIN record_by_thread a ON a.at = (
                 SELECT max(at) FROM record_by_thread
                 WHERE at BETWEEN t.id << 32 AND t.id << 32 | 4294967295)
             LEFT JOIN record_by_arrival b ON b.at = (
                 SELECT max(at) FROM record_by_arrival
                 WHERE at BETWEEN t.id << 32 AND t.id << 32 | 4294967295)
             WHERE t.name = ?1";

impl ThreadRow {
    /// Creates the row of a new thread.
    pub(crate) fn empty(id: i64) -> Self {
        Self {
            id,
            status: None,
            due: None,
            base: 0,
            head: 0,
            nonce: None,
            time: Millis::MIN,
            fence: 0,
            lease_until: 0,
            has_signals: false,
        }
    }

    pub(crate) fn by_name(connection: &Connection, name: &ThreadId) -> Result<Option<Self>> {
        let mut statement = connection.prepare_cached(SELECT_THREAD)?;
        statement
            .query_row([name.as_str()], Self::from_row)
            .optional()
    }

    /// Reads a row of the statement above.
    fn from_row(row: &Row<'_>) -> Result<Self> {
        let base = number(row.get(4)?)?;
        // The newer of the last records of both tables.
        let lasts: [Option<i64>; 2] = [row.get(6)?, row.get(9)?];
        let [_, by_arrival] = lasts;
        let last = lasts.into_iter().flatten().max();
        let first = match last {
            None => 5,
            Some(_) if last == by_arrival => 10,
            Some(_) => 7,
        };
        let nonce: Option<[u8; 16]> = row.get(first)?;
        let time = last.map(|_| row.get(first + 1)).transpose()?;
        Ok(Self {
            id: row.get(0)?,
            status: status(row.get(1)?, row.get(2)?)?,
            due: row.get(3)?,
            base,
            head: last.map_or(base, seq_of),
            nonce: nonce.map(u128::from_be_bytes),
            time: time.flatten().unwrap_or(Millis::MIN),
            fence: number(row.get(12)?)?,
            lease_until: row.get(13)?,
            has_signals: row.get(14)?,
        })
    }

    /// Returns the first and the last key that records and snapshots of the thread can have.
    pub(crate) fn keys(&self) -> [i64; 2] {
        [key(self.id, 0), key(self.id, MAX_SEQ)]
    }

    /// Returns the columns `status` and `until` of a status.
    pub(crate) fn status_columns(status: Status) -> (i64, Option<Millis>) {
        match status {
            Status::Runnable => (0, None),
            Status::Sleeping { until } => (1, Some(until)),
            Status::Waiting { expires } => (2, expires),
            Status::Idle => (3, None),
        }
    }
}

/// Reads a status from its columns.
pub(crate) fn status(code: Option<i64>, until: Option<Millis>) -> Result<Option<Status>> {
    let Some(code) = code else { return Ok(None) };
    match (code, until) {
        (0, None) => Ok(Some(Status::Runnable)),
        (1, Some(until)) => Ok(Some(Status::Sleeping { until })),
        (2, expires) => Ok(Some(Status::Waiting { expires })),
        (3, None) => Ok(Some(Status::Idle)),
        _ => Err(rusqlite::Error::FromSqlConversionFailure(
            1,
            Type::Integer,
            FromSqlError::OutOfRange(code).into(),
        )),
    }
}

/// Reads signals from their column.
pub(crate) fn signals(column: Option<String>) -> Result<Vec<Signal>> {
    let Some(text) = column else {
        return Ok(vec![]);
    };
    serde_json::from_str(&text).map_err(damaged)
}

/// Converts a number for storage. Positions, fences and sizes stay far below the maximum.
pub(crate) fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Reads a number that is never stored below zero.
pub(crate) fn number(stored: i64) -> Result<u64> {
    u64::try_from(stored).map_err(damaged)
}

/// Returns the error for a stored value that this crate cannot have written.
pub(crate) fn damaged(why: impl Into<Box<dyn Error + Send + Sync>>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, why.into())
}
