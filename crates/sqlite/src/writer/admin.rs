use fugato_state::{Seq, ThreadId};
use fugato_store::{AppendResult, Commit, Snapshot, StoreErrorKind};
use rusqlite::{Error, params};

use super::Writer;
use crate::{
    error::Refusal,
    row::{ThreadRow, stored},
    schema::{MAX_SEQ, key},
};

impl Writer {
    pub(super) fn put(&mut self, name: &ThreadId, snapshot: &Snapshot) -> Result<(), Refusal> {
        let row = self.existing(name, snapshot.seq)?;
        if snapshot.seq < row.base {
            return Err(StoreErrorKind::Compacted { base: row.base }.into());
        }
        Ok(self.insert_snapshot(row.id, snapshot)?)
    }

    pub(super) fn delete(&mut self, name: &ThreadId, seq: Seq) -> Result<(), Refusal> {
        let Some(row) = self.find(name)? else {
            return Ok(());
        };
        if row.base > 0 && row.base == seq {
            let what = format!("the snapshot at {seq} stands for the records before it");
            return Err(StoreErrorKind::Invalid(what).into());
        }
        if seq <= MAX_SEQ {
            let sql = "DELETE FROM snapshot WHERE at = ?1";
            self.connection
                .prepare_cached(sql)?
                .execute([key(row.id, seq)])?;
        }
        Ok(())
    }

    pub(super) fn fork(
        &mut self,
        name: &ThreadId,
        base: &Snapshot,
        commit: &Commit,
    ) -> Result<AppendResult, Refusal> {
        commit.check_size()?;
        let row = self.find(name)?;
        let (head, fence) = row.as_ref().map_or((0, 0), |row| (row.head, row.fence));
        if let Some(row) = row.filter(|row| row.status.is_some()) {
            if row.nonce == Some(commit.nonce) {
                return Ok(self.repeat(&row, commit.nonce)?);
            }
            return Err(StoreErrorKind::Conflict { head, fence }.into());
        }
        if commit.expect.fence != fence {
            return Err(StoreErrorKind::Conflict { head, fence }.into());
        }
        commit.check_end(base.seq, MAX_SEQ)?;
        commit.check_base(base.seq, base.seq)?;
        let mut row = self.find_or_make(name)?;
        row.base = base.seq;
        let sql = "UPDATE thread SET base = ?2 WHERE id = ?1";
        self.connection
            .prepare_cached(sql)?
            .execute(params![row.id, stored(base.seq)])?;
        self.insert_snapshot(row.id, base)?;
        Ok(self.write(name, row, base.seq, commit)?)
    }

    pub(super) fn compact(&mut self, name: &ThreadId, base: &Snapshot) -> Result<(), Refusal> {
        let mut row = self.existing(name, base.seq)?;
        if base.seq < row.base {
            return Err(StoreErrorKind::Compacted { base: row.base }.into());
        }
        let (first, last) = (key(row.id, 0), key(row.id, base.seq));
        self.delete_between([first, last])?;
        self.insert_snapshot(row.id, base)?;
        // The record with the nonce may be deleted now.
        let sql = "UPDATE thread SET base = ?2, nonce = ?3 WHERE id = ?1";
        let nonce = row.nonce.map(u128::to_be_bytes);
        self.connection
            .prepare_cached(sql)?
            .execute(params![row.id, stored(base.seq), nonce])?;
        self.clock.at_least(row.time);
        row.base = base.seq;
        self.remember(name, row);
        let now = self.clock.now();
        Ok(self.store_clock(now)?)
    }

    pub(super) fn remove(&mut self, name: &ThreadId) -> Result<(), Refusal> {
        let Some(row) = self.find(name)? else {
            return Ok(());
        };
        self.delete_between(row.keys())?;
        self.connection
            .prepare_cached("DELETE FROM thread WHERE id = ?1")?
            .execute([row.id])?;
        let sql = "UPDATE store SET fence = max(fence, ?1)";
        self.connection
            .prepare_cached(sql)?
            .execute([stored(row.fence)])?;
        self.lowest_fence = None;
        self.rows.remove(name);
        Ok(())
    }

    /// Deletes the records and snapshots between two keys.
    fn delete_between(&self, keys: [i64; 2]) -> Result<(), Error> {
        for sql in [
            "DELETE FROM record_by_thread WHERE at BETWEEN ?1 AND ?2",
            "DELETE FROM record_by_arrival WHERE at BETWEEN ?1 AND ?2",
            "DELETE FROM snapshot WHERE at BETWEEN ?1 AND ?2",
        ] {
            self.connection.prepare_cached(sql)?.execute(keys)?;
        }
        Ok(())
    }

    /// Returns the row of a thread that has records and reaches this position; otherwise
    /// `NotFound`.
    fn existing(&mut self, name: &ThreadId, seq: Seq) -> Result<ThreadRow, Refusal> {
        let row = self.find(name)?;
        let reaches = |row: &ThreadRow| row.status.is_some() && seq <= row.head;
        Ok(row.filter(reaches).ok_or(StoreErrorKind::NotFound)?)
    }
}
