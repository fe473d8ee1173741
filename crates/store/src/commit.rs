use std::fmt;

use fugato_state::{Millis, Seq};
use serde::{Deserialize, Serialize};

use crate::{Fence, Signal, StoreErrorKind};

/// A record: opaque bytes at one position of a thread's log.
#[derive(Clone, PartialEq, Eq)]
pub struct Record(pub Vec<u8>);

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Record({:?})", String::from_utf8_lossy(&self.0))
    }
}

/// One atomic append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// The head and fence that the writer expects.
    pub expect: Expect,
    /// A number that no other commit of the thread has, so that a repeated commit is recognised.
    pub nonce: u128,
    /// The records; they take the positions after `expect.head`. At least one.
    pub records: Vec<Record>,
    /// The status of the thread from now on. [`Status::Waiting`] and [`Status::Idle`] also give
    /// the lease back.
    pub status: Status,
    /// A fold of everything up to its position, from which folding starts from now on. It is
    /// written as a snapshot in the same transaction; its position is between the compacted base of
    /// the log and the end of this commit.
    pub base: Option<Snapshot>,
}

impl Commit {
    /// The largest record, in bytes.
    pub const MAX_RECORD: usize = 1 << 20;
    /// The largest commit, all records together, in bytes.
    pub const MAX_COMMIT: usize = 16 << 20;

    /// Checks that there are records, and that they are not too large. Every store calls this
    /// before it writes.
    pub fn check_size(&self) -> Result<(), StoreErrorKind> {
        if self.records.is_empty() {
            return Err(StoreErrorKind::Invalid(
                "a commit needs at least one record".into(),
            ));
        }
        let largest = self
            .records
            .iter()
            .map(|record| record.0.len())
            .max()
            .unwrap_or(0);
        let whole = self.records.iter().map(|record| record.0.len()).sum();
        for (bytes, limit) in [(largest, Self::MAX_RECORD), (whole, Self::MAX_COMMIT)] {
            if bytes > limit {
                return Err(StoreErrorKind::TooLarge { bytes, limit });
            }
        }
        Ok(())
    }

    /// Checks that no record which follows `head` is past `last`, the last position that a store can
    /// count.
    pub fn check_end(&self, head: Seq, last: Seq) -> Result<(), StoreErrorKind> {
        if head.saturating_add(self.records.len() as Seq) <= last {
            return Ok(());
        }
        let what = format!("a thread has at most {last} records; this one has {head}");
        Err(StoreErrorKind::Invalid(what))
    }

    /// Checks that the base, if there is one, is within the thread: not before `compacted`, and not
    /// after the end of this commit, whose first record follows `head`.
    pub fn check_base(&self, compacted: Seq, head: Seq) -> Result<(), StoreErrorKind> {
        let end = head.saturating_add(self.records.len() as Seq);
        match &self.base {
            Some(Snapshot { seq, .. }) if *seq < compacted || *seq > end => {
                let what = format!("the base is at {seq}, not within {compacted}..={end}");
                Err(StoreErrorKind::Invalid(what))
            }
            _ => Ok(()),
        }
    }
}

/// The head and fence that a writer expects of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expect {
    /// The last position, 0 for a thread that does not exist yet.
    pub head: Seq,
    /// The fence of the writer's lease; 0 if the thread was never leased.
    pub fence: Fence,
}

/// The answer to a successful append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppendResult {
    /// The last position now.
    pub head: Seq,
    /// The clock of the store, in milliseconds since the Unix epoch.
    pub now: Millis,
    /// Signals that arrived since the last append or renewal; each is delivered once.
    pub signals: Vec<Signal>,
}

/// The status of a thread, kept for a queue of threads that does not read records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The thread can go on at once.
    Runnable,
    /// The thread can go on at a time, in milliseconds of the store's clock.
    Sleeping {
        /// The time.
        until: Millis,
    },
    /// The thread waits for an answer.
    Waiting {
        /// The time at which the first of its questions expires, in milliseconds of the store's
        /// clock.
        expires: Option<Millis>,
    },
    /// Nothing is left to do.
    Idle,
}

impl Status {
    /// Returns true if an append with this status gives the lease back.
    pub fn releases(self) -> bool {
        matches!(self, Self::Waiting { .. } | Self::Idle)
    }
}

/// The end of a thread's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The last position.
    pub seq: Seq,
    /// The position up to which records were compacted away; 0 if none were.
    pub base: Seq,
    /// The fence of the newest lease; 0 if there was none.
    pub fence: Fence,
    /// The status that the last append left.
    pub status: Status,
    /// The nonce of the last append.
    pub nonce: u128,
    /// The time at which the lease ends that somebody holds, in milliseconds of the store's clock;
    /// none if nobody holds one.
    pub leased_until: Option<Millis>,
    /// The clock of the store, in milliseconds since the Unix epoch.
    pub now: Millis,
}

/// A stored fold of a thread's records up to and including a position.
#[derive(Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The position that it includes.
    pub seq: Seq,
    /// The fold: opaque bytes.
    pub body: Vec<u8>,
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Snapshot {{ seq: {}, body: {:?} }}",
            self.seq,
            String::from_utf8_lossy(&self.body)
        )
    }
}
