//! The answers of scripts.
use std::{str::FromStr, vec};

use fugato_state::ThreadId;
use fugato_store::{Signal, Status, StoreError, StoreErrorKind};
use redis::Value;

/// The rest of an answer, read from the front.
#[derive(Debug)]
pub(crate) struct Reply {
    rest: vec::IntoIter<Value>,
}

/// The reason why a script was refused.
#[derive(derive_more::From, Debug)]
pub(crate) enum Refusal {
    /// An error of the store.
    #[from]
    Kind(StoreErrorKind),
    /// The base of a commit is outside of its thread.
    Base { compacted: u64, head: u64 },
    /// There is nothing to return.
    Nothing,
}

pub(crate) type ReadResult<T> = Result<T, Refusal>;

/// Converts a refusal that has no special meaning for the caller.
pub(crate) fn refused(refusal: Refusal, operation: &'static str) -> StoreError {
    let kind = match refusal {
        Refusal::Kind(kind) => kind,
        Refusal::Base { compacted, head } => {
            StoreErrorKind::Invalid(format!("the base is not within {compacted}..={head}"))
        }
        Refusal::Nothing => StoreErrorKind::NotFound,
    };
    StoreError::new(kind, operation)
}

fn damaged(what: impl std::fmt::Display) -> Refusal {
    Refusal::Kind(StoreErrorKind::Corrupt(format!(
        "unexpected answer: {what}"
    )))
}

impl Reply {
    /// Reads the rest of an answer after `ok`, or the refusal.
    pub(crate) fn of(answer: Value) -> ReadResult<Self> {
        let mut reply = Self::list(answer)?;
        let word = reply.text()?;
        Err(match word.as_str() {
            "ok" => return Ok(reply),
            "none" => Refusal::Nothing,
            "missing" => StoreErrorKind::NotFound.into(),
            "lost" => StoreErrorKind::LeaseLost.into(),
            "conflict" => {
                let (head, fence) = (reply.number()?, reply.number()?);
                StoreErrorKind::Conflict { head, fence }.into()
            }
            "busy" => {
                let (owner, until) = (reply.text()?, reply.number()?);
                StoreErrorKind::Busy { owner, until }.into()
            }
            "compacted" => {
                let base = reply.number()?;
                StoreErrorKind::Compacted { base }.into()
            }
            "stands" => {
                let seq = reply.text()?;
                let what = format!("the snapshot at {seq} stands for the records before it");
                StoreErrorKind::Invalid(what).into()
            }
            "base" => {
                let (compacted, head) = (reply.number()?, reply.number()?);
                Refusal::Base { compacted, head }
            }
            other => damaged(other),
        })
    }

    fn list(value: Value) -> ReadResult<Self> {
        match value {
            Value::Array(values) => Ok(Self {
                rest: values.into_iter(),
            }),
            other => Err(damaged(format_args!("no list but {}", kind(&other)))),
        }
    }

    pub(crate) fn bytes(&mut self) -> ReadResult<Vec<u8>> {
        match self.rest.next() {
            Some(Value::BulkString(bytes)) => Ok(bytes),
            Some(Value::Int(number)) => Ok(number.to_string().into_bytes()),
            Some(other) => Err(damaged(format_args!("no text but {}", kind(&other)))),
            None => Err(damaged("it is too short")),
        }
    }

    pub(crate) fn text(&mut self) -> ReadResult<String> {
        String::from_utf8(self.bytes()?).map_err(damaged)
    }

    pub(crate) fn number<T: FromStr>(&mut self) -> ReadResult<T> {
        let text = self.text()?;
        let number = text.parse();
        number.map_err(|_| damaged(format_args!("no number but {text:?}")))
    }

    /// Reads a number that may be missing.
    pub(crate) fn maybe_number<T: FromStr>(&mut self) -> ReadResult<Option<T>> {
        let text = self.text()?;
        let number = (!text.is_empty()).then(|| text.parse()).transpose();
        number.map_err(|_| damaged(format_args!("no number but {text:?}")))
    }

    pub(crate) fn nonce(&mut self) -> ReadResult<u128> {
        let text = self.text()?;
        u128::from_str_radix(&text, 16).map_err(damaged)
    }

    pub(crate) fn thread(&mut self) -> ReadResult<ThreadId> {
        ThreadId::new(self.text()?).map_err(damaged)
    }

    pub(crate) fn status(&mut self) -> ReadResult<Status> {
        let word = self.text()?;
        match (word.as_str(), self.maybe_number()?) {
            ("runnable", None) => Ok(Status::Runnable),
            ("sleeping", Some(until)) => Ok(Status::Sleeping { until }),
            ("waiting", expires) => Ok(Status::Waiting { expires }),
            ("idle", None) => Ok(Status::Idle),
            (word, till) => Err(damaged(format_args!("status {word:?} until {till:?}"))),
        }
    }

    /// Reads signals, one in each line.
    pub(crate) fn signals(&mut self) -> ReadResult<Vec<Signal>> {
        let lines = self.text()?;
        let signals = lines.lines().map(serde_json::from_str);
        signals.collect::<Result<_, _>>().map_err(damaged)
    }

    /// Reads a list of lists.
    pub(crate) fn lists(&mut self) -> ReadResult<Vec<Reply>> {
        self.values()?.map(Self::list).collect()
    }

    /// Reads a list of texts.
    pub(crate) fn texts(&mut self) -> ReadResult<Vec<Vec<u8>>> {
        let mut list = Self {
            rest: self.values()?,
        };
        let left = list.rest.len();
        (0..left).map(|_| list.bytes()).collect()
    }

    fn values(&mut self) -> ReadResult<vec::IntoIter<Value>> {
        let list = self.rest.next().ok_or_else(|| damaged("it is too short"))?;
        Ok(Self::list(list)?.rest)
    }
}

/// Names the type of a value, for errors.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Nil => "nothing",
        Value::Int(_) => "a number",
        Value::BulkString(_) => "bytes",
        Value::Array(_) => "a list",
        _ => "something else",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(words: &[&str]) -> Value {
        let words = words
            .iter()
            .map(|word| Value::BulkString(word.as_bytes().to_vec()));
        Value::Array(words.collect())
    }

    fn kind_of(value: Value) -> Option<StoreErrorKind> {
        match Reply::of(value) {
            Err(Refusal::Kind(kind)) => Some(kind),
            _ => None,
        }
    }

    #[test]
    fn what_a_script_never_says_is_an_error() {
        for odd in [
            Value::Nil,
            Value::Int(3),
            answer(&[]),
            answer(&["what"]),
            answer(&["conflict", "1"]),
            answer(&["conflict", "1", "-1"]),
            answer(&["busy", "x", "soon"]),
        ] {
            let kind = kind_of(odd.clone());
            assert!(
                matches!(kind, Some(StoreErrorKind::Corrupt(_))),
                "{odd:?}: {kind:?}"
            );
        }
        for status in [
            ["runnable", "3"],
            ["sleeping", ""],
            ["walking", ""],
            ["idle", "x"],
        ] {
            let [word, till] = status;
            let mut reply = Reply::of(answer(&["ok", word, till])).expect("it begins with ok");
            assert!(reply.status().is_err(), "{status:?}");
        }
    }

    #[test]
    fn numbers_are_exact_up_to_the_greatest() {
        let greatest = u64::MAX.to_string();
        let conflict = kind_of(answer(&["conflict", &greatest, "9007199254740993"]));
        let (head, fence) = (u64::MAX, (1 << 53) + 1);
        assert_eq!(conflict, Some(StoreErrorKind::Conflict { head, fence }));
    }
}
