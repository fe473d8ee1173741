//! One object of a log: a line of JSON, and after it the bytes of records and folds.
use fugato_state::{Millis, Seq, ThreadId};
use fugato_store::{Record, Snapshot, StoreErrorKind};
use serde::{Deserialize, Serialize};

use crate::state::State;

/// The version of the format. 1: the first.
pub(crate) const VERSION: u32 = 1;

/// A commit, fence, renewal or other change of one thread, with the whole state after it, so that
/// one object is enough to know the end of a log.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Object {
    pub(crate) thread: ThreadId,
    /// A random number by which a writer recognises its own object.
    pub(crate) id: u128,
    pub(crate) time: Millis,
    /// The position of the log before its first record.
    pub(crate) before: Seq,
    pub(crate) content: Content,
    pub(crate) state: State,
}

/// The change that an object makes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Content {
    /// The kind of the change, for people.
    pub(crate) kind: String,
    pub(crate) records: Vec<Record>,
    pub(crate) folds: Vec<Snapshot>,
}

#[derive(Serialize, Deserialize)]
struct Header {
    version: u32,
    thread: ThreadId,
    id: u128,
    time: Millis,
    kind: String,
    before: Seq,
    /// The length of each record.
    records: Vec<usize>,
    /// The position and length of each fold.
    folds: Vec<(Seq, usize)>,
    state: State,
}

impl Object {
    pub(crate) fn encode(&self) -> Result<Vec<u8>, StoreErrorKind> {
        let content = &self.content;
        let header = Header {
            version: VERSION,
            thread: self.thread.clone(),
            id: self.id,
            time: self.time,
            kind: content.kind.clone(),
            before: self.before,
            records: content.records.iter().map(|it| it.0.len()).collect(),
            folds: (content.folds.iter().map(|it| (it.seq, it.body.len()))).collect(),
            state: self.state.clone(),
        };
        let mut bytes = serde_json::to_vec(&header)
            .map_err(|error| StoreErrorKind::Invalid(format!("it cannot be written: {error}")))?;
        bytes.push(b'\n');
        let records = content.records.iter().map(|record| &record.0);
        for part in records.chain(content.folds.iter().map(|fold| &fold.body)) {
            bytes.extend_from_slice(part);
        }
        Ok(bytes)
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, StoreErrorKind> {
        let corrupt = |what: &str| StoreErrorKind::Corrupt(format!("an object {what}"));
        let line = bytes
            .split(|byte| *byte == b'\n')
            .next()
            .unwrap_or_default();
        let version = serde_json::from_slice::<Version>(line)
            .map_err(|_| corrupt("does not begin with its description"))?;
        if version.version != VERSION {
            let what = format!("has version {}; known is {VERSION}", version.version);
            return Err(corrupt(&what));
        }
        let header: Header = serde_json::from_slice(line)
            .map_err(|error| corrupt(&format!("has a wrong description: {error}")))?;
        let mut rest = bytes.get(line.len() + 1..).unwrap_or_default();
        let mut take = |length: usize| {
            let (part, after) = rest.split_at_checked(length)?;
            rest = after;
            Some(part.to_vec())
        };
        let short = || corrupt("is shorter than its description says");
        let records = header
            .records
            .iter()
            .map(|length| take(*length).map(Record));
        let records = records.collect::<Option<_>>().ok_or_else(short)?;
        let folds = (header.folds.iter()).map(|(seq, length)| {
            let (seq, body) = (*seq, take(*length)?);
            Some(Snapshot { seq, body })
        });
        let folds = folds.collect::<Option<_>>().ok_or_else(short)?;
        if !rest.is_empty() {
            return Err(corrupt("is longer than its description says"));
        }
        Ok(Self {
            thread: header.thread,
            id: header.id,
            time: header.time,
            before: header.before,
            content: Content {
                kind: header.kind,
                records,
                folds,
            },
            state: header.state,
        })
    }
}

#[derive(Deserialize)]
struct Version {
    version: u32,
}

#[cfg(test)]
#[path = "object/tests.rs"]
mod tests;
