use fugato_state::{Millis, Seq, ThreadId};
use fugato_store::{AppendResult, Commit, Signal, Snapshot, Status, StoreErrorKind};
use rusqlite::{Error, params};

use super::Writer;
use crate::{
    checksum,
    error::Refusal,
    row::{ThreadRow, signals},
    schema::{MAX_SEQ, key},
};

impl Writer {
    pub(super) fn append(
        &mut self,
        name: &ThreadId,
        commit: &Commit,
    ) -> Result<AppendResult, Refusal> {
        commit.check_size()?;
        let row = self.find(name)?;
        if let Some(row) = &row
            && row.status.is_some()
            && row.nonce == Some(commit.nonce)
        {
            return Ok(self.repeat(row, commit.nonce)?);
        }
        let (head, fence) = row.as_ref().map_or((0, 0), |row| (row.head, row.fence));
        if (commit.expect.head, commit.expect.fence) != (head, fence) {
            return Err(StoreErrorKind::Conflict { head, fence }.into());
        }
        commit.check_base(row.as_ref().map_or(0, |row| row.base), head)?;
        commit.check_end(head, MAX_SEQ)?;
        let row = match row {
            Some(row) => row,
            None => self.find_or_make(name)?,
        };
        Ok(self.write(name, row, head, commit)?)
    }

    /// Returns the answer to a repeated commit.
    pub(super) fn repeat(&self, row: &ThreadRow, nonce: u128) -> Result<AppendResult, Error> {
        let sql = "SELECT iif(delivered_with = ?2, delivered, NULL) FROM thread WHERE id = ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        let text = statement.query_row(params![row.id, nonce.to_be_bytes()], |row| row.get(0))?;
        let now = self.clock.at_least(row.time);
        Ok(AppendResult {
            head: row.head,
            now: now.max(self.clock.now()),
            signals: signals(text)?,
        })
    }

    /// Writes a checked commit after `head`.
    pub(super) fn write(
        &mut self,
        name: &ThreadId,
        mut row: ThreadRow,
        head: Seq,
        commit: &Commit,
    ) -> Result<AppendResult, Error> {
        self.clock.at_least(row.time);
        let now = self.clock.now();
        let delivered = self.signals_of(&row)?;
        self.insert_records(row.id, head, commit, now)?;
        if let Some(base) = &commit.base {
            self.insert_snapshot(row.id, base)?;
        }
        if row.has_signals {
            self.deliver(row.id, commit.nonce)?;
            row.has_signals = false;
        }
        let releases = row.lease_until != 0 && commit.status.releases();
        if row.status != Some(commit.status) || releases {
            self.set_status(&mut row, commit.status, now)?;
            self.store_clock(now)?;
        } else {
            self.store_clock_lazily(now)?;
        }
        row.head = head + commit.records.len() as Seq;
        (row.nonce, row.time) = (Some(commit.nonce), now);
        let head = row.head;
        self.remember(name, row);
        Ok(AppendResult {
            head,
            now,
            signals: delivered,
        })
    }

    /// Inserts the records of a commit.
    ///
    /// A single commit goes to `record_by_thread`, next to the other records of its thread, and
    /// writes one page. Commits of many threads in one transaction go to `record_by_arrival`, so
    /// that all of them write a few pages instead of one or more each.
    ///
    /// The nonce is stored with the last record, so that an append that changes nothing else about
    /// the thread writes no other row.
    fn insert_records(
        &self,
        thread: i64,
        head: Seq,
        commit: &Commit,
        now: Millis,
    ) -> Result<(), Error> {
        let sql = if self.together {
            "INSERT INTO record_by_arrival (at, time, nonce, body, sum) VALUES (?1, ?2, ?3, ?4, ?5)"
        } else {
            "INSERT INTO record_by_thread (at, time, nonce, body, sum) VALUES (?1, ?2, ?3, ?4, ?5)"
        };
        let mut statement = self.connection.prepare_cached(sql)?;
        let nonce = commit.nonce.to_be_bytes();
        let mut left = commit.records.len();
        for (seq, record) in (head + 1..).zip(&commit.records) {
            left -= 1;
            let mark = (left == 0).then_some(&nonce[..]);
            let time = mark.map(|_| now);
            let at = key(thread, seq);
            let sum = checksum::of(at, &record.0);
            statement.execute(params![at, time, mark, record.0, sum])?;
        }
        Ok(())
    }

    pub(super) fn insert_snapshot(&self, thread: i64, snapshot: &Snapshot) -> Result<(), Error> {
        let sql = "INSERT OR REPLACE INTO snapshot (at, body, sum) VALUES (?1, ?2, ?3)";
        let at = key(thread, snapshot.seq);
        self.connection.prepare_cached(sql)?.execute(params![
            at,
            snapshot.body,
            checksum::of(at, &snapshot.body)
        ])?;
        Ok(())
    }

    fn set_status(&self, row: &mut ThreadRow, status: Status, now: Millis) -> Result<(), Error> {
        let (code, until) = ThreadRow::status_columns(status);
        let due = match status {
            // The thread has been runnable since its status changed, not since its last record.
            Status::Runnable if row.status == Some(status) => row.due,
            Status::Runnable => Some(now),
            _ => until,
        };
        let sql = "UPDATE thread SET status = ?2, until = ?3, due = ?4,
                       owner = iif(?5, NULL, owner), lease_until = iif(?5, 0, lease_until)
                   WHERE id = ?1";
        let columns = params![row.id, code, until, due, status.releases()];
        self.connection.prepare_cached(sql)?.execute(columns)?;
        (row.status, row.due) = (Some(status), due);
        if status.releases() {
            row.lease_until = 0;
        }
        Ok(())
    }

    pub(super) fn signals_of(&self, row: &ThreadRow) -> Result<Vec<Signal>, Error> {
        if !row.has_signals {
            return Ok(vec![]);
        }
        let sql = "SELECT signals FROM thread WHERE id = ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        signals(statement.query_row([row.id], |row| row.get(0))?)
    }

    /// Marks the signals as delivered with this commit, so that a repetition returns them again.
    fn deliver(&self, thread: i64, with: u128) -> Result<(), Error> {
        let sql = "UPDATE thread SET delivered = signals, delivered_with = ?2, signals = NULL
                   WHERE id = ?1";
        self.connection
            .prepare_cached(sql)?
            .execute(params![thread, with.to_be_bytes()])?;
        Ok(())
    }
}
