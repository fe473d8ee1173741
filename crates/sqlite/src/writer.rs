//! The only connection that writes.
mod admin;
mod append;
mod doc;
mod lease;

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use fugato_state::{Millis, ThreadId};
use fugato_store::{Fence, StoreError, StoreErrorKind};
use rusqlite::{Connection, Error};

use crate::{
    clock::StoreClock,
    error::{Refusal, kind_of, on, store_error},
    file::OpenFile,
    options::Synchronous,
    request::{Answer, Outcome, Request},
    row::ThreadRow,
};

/// The most threads that are cached.
const MOST_ROWS: usize = 10_000;

/// The least number of appends in one transaction that go to `record_by_arrival`; fewer would write
/// as many pages in either table.
const MANY: usize = 4;

/// The most that the stored clock may lag behind commits that write no thread row, in milliseconds.
const CLOCK_LAG: Millis = 1_000;

/// The writer of groups of requests, each group in one transaction.
#[derive(Debug)]
pub(crate) struct Writer {
    connection: Connection,
    file: OpenFile,
    clock: Arc<StoreClock>,
    /// The setting for commits that must survive a power failure.
    durable: Synchronous,
    /// The current setting of the connection.
    current: Option<Synchronous>,
    /// Cached rows of threads, valid until another connection writes.
    rows: HashMap<ThreadId, ThreadRow>,
    /// The cached stored clock, valid until another connection writes.
    stored_clock: Option<Millis>,
    /// The cached greatest fence of removed threads, valid until another connection writes.
    lowest_fence: Option<Fence>,
    /// The `data_version` of the caches; it changes when another connection writes.
    seen: Option<i64>,
    /// True if the records of this transaction go to `record_by_arrival`.
    together: bool,
}

impl Writer {
    pub(crate) fn new(
        connection: Connection,
        path: PathBuf,
        clock: Arc<StoreClock>,
        durable: Synchronous,
    ) -> Result<Self, Error> {
        let mut writer = Self {
            connection,
            file: OpenFile::new(path),
            clock,
            durable,
            current: None,
            rows: HashMap::new(),
            stored_clock: None,
            lowest_fence: None,
            seen: None,
            together: false,
        };
        writer.shared_now()?;
        Ok(writer)
    }

    /// Carries out the requests in order, in one transaction. A refused request writes nothing, and
    /// the others go on.
    pub(crate) fn commit(&mut self, requests: &[Request]) -> Vec<Outcome> {
        match self.transact(requests) {
            Ok(outcomes) => outcomes,
            // One request may be too large for the disk while the others still fit. They are not
            // retried if the database is busy, so that they do not wait for another process one
            // after the other.
            Err(error) if requests.len() > 1 && kind_of(&error) != StoreErrorKind::Unavailable => {
                requests
                    .iter()
                    .flat_map(|one| self.commit(std::slice::from_ref(one)))
                    .collect()
            }
            Err(error) => {
                let error = Arc::new(error);
                requests
                    .iter()
                    .map(|request| Err(self.failed(&error, request)))
                    .collect()
            }
        }
    }

    fn failed(&self, error: &Arc<Error>, request: &Request) -> StoreError {
        let mut failed = store_error(error, request.operation());
        if let StoreErrorKind::Corrupt(what) = kind_of(error) {
            failed.kind = StoreErrorKind::Corrupt(format!("{}: {what}", self.file.path.display()));
        }
        on(failed, request.thread())
    }

    fn transact(&mut self, requests: &[Request]) -> Result<Vec<Outcome>, Error> {
        let durable = requests.iter().any(Request::must_survive_power_failure);
        self.set_synchronous(if durable {
            self.durable
        } else {
            Synchronous::Normal
        })?;
        self.connection
            .prepare_cached("BEGIN IMMEDIATE")?
            .execute([])?;
        let appends = |request: &&Request| matches!(request, Request::Append(..));
        self.together = requests.iter().filter(appends).count() >= MANY;
        let there = self.file.check();
        let begun = there.and_then(|()| self.look_for_others());
        let done = begun.and_then(|()| self.execute(requests));
        let done = done.and_then(|outcomes| {
            self.connection.prepare_cached("COMMIT")?.execute([])?;
            Ok(outcomes)
        });
        if done.is_err() {
            self.roll_back();
        }
        done
    }

    /// Clears the caches if another connection has written since.
    fn look_for_others(&mut self) -> Result<(), Error> {
        let mut statement = self.connection.prepare_cached("PRAGMA data_version")?;
        let seen = Some(statement.query_row([], |row| row.get(0))?);
        drop(statement);
        if self.seen != seen {
            self.forget();
            self.seen = seen;
        }
        Ok(())
    }

    fn forget(&mut self) {
        self.rows.clear();
        self.stored_clock = None;
        self.lowest_fence = None;
        self.seen = None;
    }

    /// Rolls back and clears the caches, so that the next group starts without an open transaction.
    fn roll_back(&mut self) {
        self.forget();
        if !self.connection.is_autocommit()
            && let Err(error) = self.connection.execute_batch("ROLLBACK")
        {
            tracing::error!(path = %self.file.path.display(), %error, "rollback failed");
        }
    }

    fn execute(&mut self, requests: &[Request]) -> Result<Vec<Outcome>, Error> {
        let mut outcomes = Vec::with_capacity(requests.len());
        for request in requests {
            outcomes.push(match self.execute_one(request) {
                Ok(answer) => Ok(answer),
                Err(Refusal::Database(error)) => return Err(error),
                Err(refused) => Err(on(
                    refused.into_store(request.operation()),
                    request.thread(),
                )),
            });
        }
        Ok(outcomes)
    }

    fn execute_one(&mut self, request: &Request) -> Result<Answer, Refusal> {
        match request {
            Request::Append(thread, commit) => self.append(thread, commit).map(Answer::Appended),
            Request::Lease(request) => self.lease(request).map(Answer::Leased),
            Request::Put(thread, snapshot) => self.put(thread, snapshot).map(|()| Answer::Done),
            Request::Delete(thread, seq) => self.delete(thread, *seq).map(|()| Answer::Done),
            Request::Fork(thread, base, commit) => {
                self.fork(thread, base, commit).map(Answer::Appended)
            }
            Request::Compact(thread, base) => self.compact(thread, base).map(|()| Answer::Done),
            Request::Remove(thread) => self.remove(thread).map(|()| Answer::Done),
            Request::Write(batch, texts) => self.write_docs(batch, texts).map(Answer::Written),
            Request::Clear(space) => Ok(self.clear_docs(space).map(|()| Answer::Done)?),
        }
    }

    /// Sets `synchronous` before a transaction. The change is cheap, and impossible within one.
    fn set_synchronous(&mut self, wanted: Synchronous) -> Result<(), Error> {
        if self.current != Some(wanted) {
            self.connection.execute_batch(wanted.pragma())?;
            self.current = Some(wanted);
        }
        Ok(())
    }

    fn find(&mut self, name: &ThreadId) -> Result<Option<ThreadRow>, Error> {
        if let Some(row) = self.rows.get(name) {
            return Ok(Some(row.clone()));
        }
        let found = ThreadRow::by_name(&self.connection, name)?;
        if let Some(found) = &found {
            self.remember(name, found.clone());
        }
        Ok(found)
    }

    /// Returns the row of a thread, which is inserted if it is missing.
    fn find_or_make(&mut self, name: &ThreadId) -> Result<ThreadRow, Error> {
        if let Some(found) = self.find(name)? {
            return Ok(found);
        }
        let sql = "INSERT INTO thread (name) VALUES (?1)";
        self.connection
            .prepare_cached(sql)?
            .execute([name.as_str()])?;
        let made = ThreadRow::empty(self.connection.last_insert_rowid());
        self.remember(name, made.clone());
        Ok(made)
    }

    fn remember(&mut self, name: &ThreadId, row: ThreadRow) {
        if let Some(known) = self.rows.get_mut(name) {
            *known = row;
            return;
        }
        if self.rows.len() >= MOST_ROWS {
            self.rows.clear();
        }
        self.rows.insert(name.clone(), row);
    }

    /// Returns the time for a request that grants or ends something: not before what any process
    /// has seen.
    fn shared_now(&mut self) -> Result<Millis, Error> {
        let stored = if let Some(stored) = self.stored_clock {
            stored
        } else {
            let mut statement = self.connection.prepare_cached("SELECT clock FROM store")?;
            statement.query_row([], |row| row.get(0))?
        };
        self.stored_clock = Some(stored);
        self.clock.at_least(stored);
        Ok(self.clock.now())
    }

    /// Stores the current time, for later and concurrent processes.
    fn store_clock(&mut self, now: Millis) -> Result<(), Error> {
        if self.stored_clock.is_none_or(|stored| now > stored) {
            let sql = "UPDATE store SET clock = ?1 WHERE clock < ?1";
            self.connection.prepare_cached(sql)?.execute([now])?;
            self.stored_clock = Some(now);
        }
        Ok(())
    }

    /// Stores the clock only now and then, for commits that would write one more page for it. That
    /// is enough because each record contains its time.
    fn store_clock_lazily(&mut self, now: Millis) -> Result<(), Error> {
        let stored = self.stored_clock.unwrap_or(Millis::MIN);
        if now.saturating_sub(stored) >= CLOCK_LAG {
            self.store_clock(now)
        } else {
            Ok(())
        }
    }
}
