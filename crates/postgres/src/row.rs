//! Rows of threads.
use fugato_state::{Millis, Seq, ThreadId};
use fugato_store::{Fence, Head, Lease, Signal, Status};
use tokio_postgres::{Row, types::FromSql};

use crate::error::RequestError;

/// A thread as the look-up statement returns it.
#[derive(Debug, Clone)]
pub(crate) struct ThreadRow {
    pub(crate) id: i64,
    /// The status; `None` if there is only a lease so far.
    pub(crate) status: Option<Status>,
    pub(crate) head: Seq,
    pub(crate) base: Seq,
    pub(crate) fence: Fence,
    pub(crate) nonce: Option<u128>,
    /// The signals that its last commit returned to its writer.
    pub(crate) delivered: Vec<Signal>,
    pub(crate) owner: String,
    pub(crate) lease_until: Millis,
    pub(crate) now: Millis,
}

impl ThreadRow {
    /// Reads a row of the look-up statement.
    pub(crate) fn from_row(row: &Row) -> Result<Self, RequestError> {
        Ok(Self {
            id: get(row, 0)?,
            status: status(get(row, 1)?, get(row, 2)?)?,
            head: number(get(row, 3)?)?,
            base: number(get(row, 4)?)?,
            fence: number(get(row, 5)?)?,
            nonce: nonce(get(row, 6)?)?,
            delivered: signals(get(row, 7)?)?,
            owner: get(row, 8)?,
            lease_until: get(row, 9)?,
            now: get(row, 10)?,
        })
    }

    pub(crate) fn head(&self) -> Option<Head> {
        Some(Head {
            seq: self.head,
            base: self.base,
            fence: self.fence,
            status: self.status?,
            nonce: self.nonce.unwrap_or_default(),
            leased_until: Some(self.lease_until).filter(|until| *until > self.now),
            now: self.now,
        })
    }
}

/// Reads a lease from a row of the statements that grant one.
pub(crate) fn lease(row: &Row) -> Result<Lease, RequestError> {
    Ok(Lease {
        thread: name(get(row, 0)?)?,
        fence: number(get(row, 1)?)?,
        head: number(get(row, 2)?)?,
        until: get(row, 3)?,
        now: get(row, 4)?,
    })
}

pub(crate) fn get<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T, RequestError> {
    row.try_get(column)
        .map_err(|error| RequestError::Damaged(format!("column {column}: {error}")))
}

pub(crate) fn name(stored: String) -> Result<ThreadId, RequestError> {
    ThreadId::new(stored).map_err(|error| RequestError::Damaged(error.to_string()))
}

/// Returns the columns `status` and `until` of a status.
pub(crate) fn status_columns(status: Status) -> (i16, Option<Millis>) {
    match status {
        Status::Runnable => (0, None),
        Status::Sleeping { until } => (1, Some(until)),
        Status::Waiting { expires } => (2, expires),
        Status::Idle => (3, None),
    }
}

/// Reads a status from its columns.
pub(crate) fn status(
    code: Option<i16>,
    until: Option<Millis>,
) -> Result<Option<Status>, RequestError> {
    let Some(code) = code else { return Ok(None) };
    match (code, until) {
        (0, None) => Ok(Some(Status::Runnable)),
        (1, Some(until)) => Ok(Some(Status::Sleeping { until })),
        (2, expires) => Ok(Some(Status::Waiting { expires })),
        (3, None) => Ok(Some(Status::Idle)),
        _ => Err(RequestError::Damaged(format!(
            "status {code} until {until:?}"
        ))),
    }
}

/// Reads signals from their column.
pub(crate) fn signals(stored: Option<Vec<String>>) -> Result<Vec<Signal>, RequestError> {
    let texts = stored.unwrap_or_default();
    let signal = |text: &String| {
        serde_json::from_str(text).map_err(|error| RequestError::Damaged(error.to_string()))
    };
    texts.iter().map(signal).collect()
}

fn nonce(stored: Option<&[u8]>) -> Result<Option<u128>, RequestError> {
    let Some(bytes) = stored else { return Ok(None) };
    let bytes = <[u8; 16]>::try_from(bytes);
    let bytes = bytes.map_err(|_| RequestError::Damaged("a nonce has not 16 bytes".into()))?;
    Ok(Some(u128::from_be_bytes(bytes)))
}

/// Converts a number for storage. A larger one becomes the maximum, which is never in use.
pub(crate) fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Reads a number that is never stored below zero.
pub(crate) fn number(stored: i64) -> Result<u64, RequestError> {
    u64::try_from(stored).map_err(|_| RequestError::Damaged(format!("{stored} is below zero")))
}

/// Replaces the NUL characters of a text, which the server cannot store.
pub(crate) fn text(of: &str) -> String {
    of.replace('\0', "\u{fffd}")
}

/// Returns a text after every text that begins with `prefix`, if there is one: its last character
/// that has a successor is replaced with the successor.
pub(crate) fn end_of_prefix(prefix: &str) -> Option<String> {
    let mut end = prefix.to_owned();
    while let Some(last) = end.pop() {
        // The numbers between these two are surrogates, which are no characters.
        let next = match last {
            '\u{d7ff}' => Some('\u{e000}'),
            last => char::from_u32(u32::from(last) + 1),
        };
        if let Some(next) = next {
            end.push(next);
            return Some(end);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_before_the_next_text() {
        let ends = ["", "a", "a/", "\u{d7ff}", "a\u{10ffff}", "\u{10ffff}"].map(end_of_prefix);
        let expected = [
            None,
            Some("b"),
            Some("a0"),
            Some("\u{e000}"),
            Some("b"),
            None,
        ];
        assert_eq!(ends, expected.map(|end| end.map(ToOwned::to_owned)));
    }
}
