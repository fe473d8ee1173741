//! Threads as they lie in the database.
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
    /// None if there is only a lease yet.
    pub(crate) status: Option<Status>,
    pub(crate) due: Option<Millis>,
    pub(crate) base: Seq,
    pub(crate) head: Seq,
    pub(crate) nonce: Option<u128>,
    /// When the last record was written.
    pub(crate) time: Millis,
    pub(crate) fence: Fence,
    pub(crate) lease_until: Millis,
    pub(crate) has_signals: bool,
}

macro_rules! select_thread {
    ($condition:literal) => {
        concat!(
            "SELECT t.id, t.status, t.until, t.due, t.base, coalesce(r.nonce, t.nonce), r.at,
                    r.time, t.fence, t.lease_until, t.signals IS NOT NULL
             FROM thread t LEFT JOIN record r ON r.at = (
                 SELECT max(at) FROM record
                 WHERE at BETWEEN t.id << 32 AND t.id << 32 | 4294967295)
             WHERE ",
            $condition
        )
    };
}

impl ThreadRow {
    pub(crate) fn by_id(connection: &Connection, id: i64) -> Result<Option<Self>> {
        let mut statement = connection.prepare_cached(select_thread!("t.id = ?1"))?;
        statement.query_row([id], Self::from_row).optional()
    }

    pub(crate) fn by_name(connection: &Connection, name: &ThreadId) -> Result<Option<Self>> {
        let mut statement = connection.prepare_cached(select_thread!("t.name = ?1"))?;
        statement
            .query_row([name.as_str()], Self::from_row)
            .optional()
    }

    /// A thread whose columns come in the order of the statement above.
    fn from_row(row: &Row<'_>) -> Result<Self> {
        let base = number(row.get(4)?)?;
        let last: Option<i64> = row.get(6)?;
        Ok(Self {
            id: row.get(0)?,
            status: status(row.get(1)?, row.get(2)?)?,
            due: row.get(3)?,
            base,
            head: last.map_or(base, seq_of),
            nonce: row.get::<_, Option<[u8; 16]>>(5)?.map(u128::from_be_bytes),
            time: row.get::<_, Option<_>>(7)?.unwrap_or(Millis::MIN),
            fence: number(row.get(8)?)?,
            lease_until: row.get(9)?,
            has_signals: row.get(10)?,
        })
    }

    /// The keys of everything that the thread can have.
    pub(crate) fn keys(&self) -> [i64; 2] {
        [key(self.id, 0), key(self.id, MAX_SEQ)]
    }

    /// The columns `status` and `until`.
    pub(crate) fn status_columns(status: Status) -> (i64, Option<Millis>) {
        match status {
            Status::Runnable => (0, None),
            Status::Sleeping { until } => (1, Some(until)),
            Status::Waiting { expires } => (2, expires),
            Status::Idle => (3, None),
        }
    }
}

/// A status from its columns.
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

/// Signals from their column.
pub(crate) fn signals(column: Option<String>) -> Result<Vec<Signal>> {
    let Some(text) = column else {
        return Ok(vec![]);
    };
    serde_json::from_str(&text).map_err(damaged)
}

/// A number as it is stored. Positions, fences and sizes stay far below the largest.
pub(crate) fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number that is never stored below zero.
pub(crate) fn number(stored: i64) -> Result<u64> {
    u64::try_from(stored).map_err(damaged)
}

/// A stored value that cannot be what this crate wrote.
pub(crate) fn damaged(why: impl Into<Box<dyn Error + Send + Sync>>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, why.into())
}
