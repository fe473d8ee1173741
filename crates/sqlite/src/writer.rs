//! The one connection that writes.
mod admin;
mod append;
mod lease;

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use fugato_state::{Millis, Seq, ThreadId};
use fugato_store::{StoreError, StoreErrorKind};
use rusqlite::{Connection, Error};

use crate::{
    clock::StoreClock,
    error::{Refusal, kind_of, on, store_error},
    options::Synchronous,
    request::{Answer, Outcome, Request},
    row::{ThreadRow, damaged},
    schema::MAX_SEQ,
};

/// How many thread numbers are remembered.
const MOST_IDS: usize = 10_000;

/// How far the stored clock may lag behind commits that write no thread row.
const CLOCK_LAG: Millis = 1_000;

/// Writes groups of requests, each group in one transaction.
#[derive(Debug)]
pub(crate) struct Writer {
    connection: Connection,
    path: PathBuf,
    clock: Arc<StoreClock>,
    /// What is asked of commits that must survive a power failure.
    durable: Synchronous,
    /// What the connection is set to now.
    current: Option<Synchronous>,
    /// Numbers are never given twice, so that one remembered here is right or unknown.
    ids: HashMap<ThreadId, i64>,
    /// The clock as it is stored.
    stored_clock: Millis,
}

impl Writer {
    pub(crate) fn new(
        connection: Connection,
        path: PathBuf,
        clock: Arc<StoreClock>,
        durable: Synchronous,
    ) -> Result<Self, Error> {
        let (ids, stored_clock) = (HashMap::new(), Millis::MIN);
        let mut writer = Self {
            connection,
            path,
            clock,
            durable,
            current: None,
            ids,
            stored_clock,
        };
        writer.shared_now()?;
        Ok(writer)
    }

    /// Carries out the requests in their order, in one transaction. One that is refused writes
    /// nothing, and the others go on.
    pub(crate) fn commit(&mut self, requests: &[Request]) -> Vec<Outcome> {
        match self.transact(requests) {
            Ok(outcomes) => outcomes,
            // One request may be what the disk has no room for: then the others still fit. But they
            // do not all wait for another process, one after the other.
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
            failed.kind = StoreErrorKind::Corrupt(format!("{}: {what}", self.path.display()));
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
        let done = self.carry_out(requests).and_then(|outcomes| {
            self.connection.prepare_cached("COMMIT")?.execute([])?;
            Ok(outcomes)
        });
        if done.is_err() {
            self.roll_back();
        }
        done
    }

    /// Whatever went wrong, the next group finds no transaction open and nothing half-known.
    fn roll_back(&mut self) {
        self.ids.clear();
        self.stored_clock = Millis::MIN;
        if !self.connection.is_autocommit()
            && let Err(error) = self.connection.execute_batch("ROLLBACK")
        {
            tracing::error!(path = %self.path.display(), %error, "cannot roll back");
        }
    }

    fn carry_out(&mut self, requests: &[Request]) -> Result<Vec<Outcome>, Error> {
        let mut outcomes = Vec::with_capacity(requests.len());
        for request in requests {
            outcomes.push(match self.carry_out_one(request) {
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

    fn carry_out_one(&mut self, request: &Request) -> Result<Answer, Refusal> {
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
        }
    }

    /// Changing it is cheap, and impossible within a transaction.
    fn set_synchronous(&mut self, wanted: Synchronous) -> Result<(), Error> {
        if self.current != Some(wanted) {
            self.connection.execute_batch(wanted.pragma())?;
            self.current = Some(wanted);
        }
        Ok(())
    }

    fn find(&mut self, name: &ThreadId) -> Result<Option<ThreadRow>, Error> {
        if let Some(id) = self.ids.get(name) {
            if let Some(found) = ThreadRow::by_id(&self.connection, *id)? {
                return Ok(Some(found));
            }
            self.ids.remove(name);
        }
        let found = ThreadRow::by_name(&self.connection, name)?;
        if let Some(found) = &found {
            self.remember(name, found.id);
        }
        Ok(found)
    }

    /// A thread, or one that was not known before.
    fn find_or_make(&mut self, name: &ThreadId) -> Result<ThreadRow, Error> {
        if let Some(found) = self.find(name)? {
            return Ok(found);
        }
        let sql = "INSERT INTO thread (name) VALUES (?1)";
        self.connection
            .prepare_cached(sql)?
            .execute([name.as_str()])?;
        let id = self.connection.last_insert_rowid();
        self.remember(name, id);
        let missing = || damaged(format!("thread {id} is not where it was put"));
        ThreadRow::by_id(&self.connection, id)?.ok_or_else(missing)
    }

    fn remember(&mut self, name: &ThreadId, id: i64) {
        if self.ids.len() >= MOST_IDS {
            self.ids.clear();
        }
        self.ids.insert(name.clone(), id);
    }

    /// The time for a request that grants or ends something: not before what any process has seen.
    fn shared_now(&mut self) -> Result<Millis, Error> {
        let sql = "SELECT clock FROM store";
        let stored = self
            .connection
            .prepare_cached(sql)?
            .query_row([], |row| row.get(0))?;
        self.clock.at_least(stored);
        Ok(self.clock.now())
    }

    /// Stores what time it is, for processes to come and for those beside this one.
    fn store_clock(&mut self, now: Millis) -> Result<(), Error> {
        if now > self.stored_clock {
            let sql = "UPDATE store SET clock = ?1 WHERE clock < ?1";
            self.connection.prepare_cached(sql)?.execute([now])?;
            self.stored_clock = now;
        }
        Ok(())
    }

    /// The same for commits that would write one page more for it: now and then is enough for
    /// them, because each record bears its time.
    fn store_clock_lazily(&mut self, now: Millis) -> Result<(), Error> {
        if now.saturating_sub(self.stored_clock) >= CLOCK_LAG {
            self.store_clock(now)
        } else {
            Ok(())
        }
    }

    fn fits(head: Seq, more: usize) -> Result<(), StoreErrorKind> {
        let end = u64::try_from(more)
            .ok()
            .and_then(|more| head.checked_add(more));
        if end.is_some_and(|end| end <= MAX_SEQ) {
            return Ok(());
        }
        let what = format!("a thread has at most {MAX_SEQ} records; this one has {head}");
        Err(StoreErrorKind::Invalid(what))
    }
}
