//! The rows that statements return.
use std::str::FromStr;

use fugato_state::ThreadId;
use fugato_store::{Signal, Status, StoreErrorKind};
use mysql_async::Value;

/// The columns of a row, read from the front.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    columns: std::vec::IntoIter<Value>,
}

pub(crate) type ReadResult<T> = Result<T, StoreErrorKind>;

pub(crate) fn damaged(what: impl std::fmt::Display) -> StoreErrorKind {
    StoreErrorKind::Corrupt(format!("unexpected column: {what}"))
}

impl From<mysql_async::Row> for Row {
    fn from(row: mysql_async::Row) -> Self {
        Self {
            columns: row
                .unwrap_raw()
                .into_iter()
                .map(|value| value.unwrap_or(Value::NULL))
                .collect::<Vec<_>>()
                .into_iter(),
        }
    }
}

impl Row {
    /// Reads a column, which may be null.
    pub(crate) fn maybe_bytes(&mut self) -> ReadResult<Option<Vec<u8>>> {
        match self.columns.next() {
            Some(Value::NULL) => Ok(None),
            Some(Value::Bytes(bytes)) => Ok(Some(bytes)),
            Some(Value::Int(number)) => Ok(Some(number.to_string().into_bytes())),
            Some(Value::UInt(number)) => Ok(Some(number.to_string().into_bytes())),
            _ => Err(damaged("it is of another kind, or missing")),
        }
    }

    pub(crate) fn bytes(&mut self) -> ReadResult<Vec<u8>> {
        self.maybe_bytes()?.ok_or_else(|| damaged("it is null"))
    }

    pub(crate) fn maybe_text(&mut self) -> ReadResult<Option<String>> {
        let bytes = self.maybe_bytes()?;
        bytes.map(String::from_utf8).transpose().map_err(damaged)
    }

    pub(crate) fn text(&mut self) -> ReadResult<String> {
        String::from_utf8(self.bytes()?).map_err(damaged)
    }

    pub(crate) fn maybe_number<T: FromStr>(&mut self) -> ReadResult<Option<T>> {
        let text = self.maybe_text()?;
        let parse = |text: String| {
            text.parse()
                .map_err(|_| damaged(format_args!("no number: {text:?}")))
        };
        text.map(parse).transpose()
    }

    pub(crate) fn number<T: FromStr>(&mut self) -> ReadResult<T> {
        self.maybe_number()?.ok_or_else(|| damaged("it is null"))
    }

    /// Reads a condition; null is false.
    pub(crate) fn is_true(&mut self) -> ReadResult<bool> {
        Ok(self
            .maybe_number::<i64>()?
            .is_some_and(|number| number != 0))
    }

    pub(crate) fn nonce(&mut self) -> ReadResult<u128> {
        let bytes = self.bytes()?;
        let bytes = bytes.try_into().map_err(|_| damaged("no nonce"))?;
        Ok(u128::from_be_bytes(bytes))
    }

    pub(crate) fn thread(&mut self) -> ReadResult<ThreadId> {
        ThreadId::new(self.text()?).map_err(damaged)
    }

    pub(crate) fn status(&mut self) -> ReadResult<Status> {
        match (self.number::<u8>()?, self.maybe_number()?) {
            (0, None) => Ok(Status::Runnable),
            (1, Some(until)) => Ok(Status::Sleeping { until }),
            (2, expires) => Ok(Status::Waiting { expires }),
            (3, None) => Ok(Status::Idle),
            (code, till) => Err(damaged(format_args!("status {code} until {till:?}"))),
        }
    }

    /// Reads signals, one in each line.
    pub(crate) fn signals(&mut self) -> ReadResult<Vec<Signal>> {
        let lines = self.maybe_text()?.unwrap_or_default();
        let signals = lines.lines().map(serde_json::from_str);
        signals.collect::<Result<_, _>>().map_err(damaged)
    }
}
