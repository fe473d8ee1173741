use fugato_state::{Millis, ThreadId};
use fugato_store::{Claim, Fence, Lease, LeaseOutcome, LeaseRequest, Signal, StoreErrorKind};
use rusqlite::{Error, params};

use super::Writer;
use crate::{
    error::Refusal,
    row::{ThreadRow, damaged, number, signals, stored},
};

impl Writer {
    pub(super) fn lease(&mut self, request: &LeaseRequest) -> Result<LeaseOutcome, Refusal> {
        match request {
            LeaseRequest::Acquire { thread, owner, ttl } => self.acquire(thread, owner, *ttl),
            LeaseRequest::Claim(claim) => self.claim(claim),
            LeaseRequest::Renew { thread, fence, ttl } => self.renew(thread, *fence, *ttl),
            LeaseRequest::Release { thread, fence } => self.release(thread, *fence),
            LeaseRequest::Signal { thread, signal } => self.signal(thread, signal),
        }
    }

    fn acquire(
        &mut self,
        name: &ThreadId,
        owner: &str,
        ttl: Millis,
    ) -> Result<LeaseOutcome, Refusal> {
        let now = self.shared_now()?;
        let Some(row) = self.find(name)? else {
            let lease = self.make_leased(name, owner, now, ttl)?;
            return Ok(LeaseOutcome::Granted(vec![lease]));
        };
        if row.lease_until > now {
            let sql = "SELECT owner FROM thread WHERE id = ?1";
            let mut statement = self.connection.prepare_cached(sql)?;
            let owner: Option<String> = statement.query_row([row.id], |row| row.get(0))?;
            let (owner, until) = (owner.unwrap_or_default(), row.lease_until);
            return Err(StoreErrorKind::Busy { owner, until }.into());
        }
        Ok(LeaseOutcome::Granted(vec![self.grant(
            name.clone(),
            row,
            owner,
            now,
            ttl,
        )?]))
    }

    /// Creates a thread with a lease.
    fn make_leased(
        &mut self,
        name: &ThreadId,
        owner: &str,
        now: Millis,
        ttl: Millis,
    ) -> Result<Lease, Error> {
        let (fence, until) = (self.lowest_fence()? + 1, now.saturating_add(ttl));
        let sql = "INSERT INTO thread (name, fence, owner, lease_until) VALUES (?1, ?2, ?3, ?4)";
        let columns = params![name.as_str(), stored(fence), owner, until];
        self.connection.prepare_cached(sql)?.execute(columns)?;
        let mut row = ThreadRow::empty(self.connection.last_insert_rowid());
        (row.fence, row.lease_until) = (fence, until);
        self.remember(name, row);
        self.store_clock(now)?;
        Ok(Lease {
            thread: name.clone(),
            fence,
            head: 0,
            until,
            now,
        })
    }

    fn claim(&mut self, claim: &Claim) -> Result<LeaseOutcome, Refusal> {
        let now = self.shared_now()?;
        let mut granted = vec![];
        for name in self.claimable(claim, now)? {
            let name = ThreadId::new(name).map_err(damaged)?;
            if let Some(row) = self.find(&name)? {
                granted.push(self.grant(name, row, &claim.owner, now, claim.ttl)?);
            }
        }
        Ok(LeaseOutcome::Granted(granted))
    }

    /// Returns the names of due threads without a lease that a claim wants, oldest first.
    fn claimable(&self, claim: &Claim, now: Millis) -> Result<Vec<String>, Error> {
        let sql = "SELECT name FROM thread WHERE due <= ?1 AND lease_until <= ?1
                       AND substr(name, 1, length(?3)) = ?3
                       AND name NOT IN (SELECT value FROM json_each(?4))
                   ORDER BY due, id LIMIT ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        let n = i64::try_from(claim.n).unwrap_or(i64::MAX);
        let except = serde_json::json!(claim.except).to_string();
        statement
            .query_map(params![now, n, claim.prefix, except], |row| row.get(0))?
            .collect()
    }

    fn grant(
        &mut self,
        thread: ThreadId,
        mut row: ThreadRow,
        owner: &str,
        now: Millis,
        ttl: Millis,
    ) -> Result<Lease, Error> {
        let until = now.saturating_add(ttl);
        let fence = if row.fence == 0 {
            self.lowest_fence()?
        } else {
            row.fence
        } + 1;
        let sql = "UPDATE thread SET fence = ?2, owner = ?3, lease_until = ?4 WHERE id = ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.execute(params![row.id, stored(fence), owner, until])?;
        drop(statement);
        self.store_clock(now)?;
        (row.fence, row.lease_until) = (fence, until);
        let head = row.head;
        self.remember(&thread, row);
        Ok(Lease {
            thread,
            fence,
            head,
            until,
            now,
        })
    }

    /// Returns the greatest fence of removed threads. A thread that is created again under an old
    /// name must not grant a fence that its former owner still holds.
    fn lowest_fence(&mut self) -> Result<Fence, Error> {
        if let Some(known) = self.lowest_fence {
            return Ok(known);
        }
        let mut statement = self.connection.prepare_cached("SELECT fence FROM store")?;
        let lowest = statement.query_row([], |row| number(row.get(0)?))?;
        self.lowest_fence = Some(lowest);
        Ok(lowest)
    }

    fn renew(
        &mut self,
        name: &ThreadId,
        fence: Fence,
        ttl: Millis,
    ) -> Result<LeaseOutcome, Refusal> {
        let now = self.shared_now()?;
        let held = |row: &ThreadRow| row.fence == fence && row.lease_until != 0;
        let mut row = self
            .find(name)?
            .filter(held)
            .ok_or(StoreErrorKind::LeaseLost)?;
        let signals = self.signals_of(&row)?;
        let until = now.saturating_add(ttl);
        let sql = "UPDATE thread SET lease_until = ?2, signals = NULL WHERE id = ?1";
        self.connection
            .prepare_cached(sql)?
            .execute(params![row.id, until])?;
        (row.lease_until, row.has_signals) = (until, false);
        self.remember(name, row);
        self.store_clock(now)?;
        Ok(LeaseOutcome::Renewed { until, signals })
    }

    fn release(&mut self, name: &ThreadId, fence: Fence) -> Result<LeaseOutcome, Refusal> {
        if let Some(mut row) = self.find(name)?
            && row.fence == fence
            && row.lease_until != 0
        {
            let sql = "UPDATE thread SET owner = NULL, lease_until = 0 WHERE id = ?1";
            self.connection.prepare_cached(sql)?.execute([row.id])?;
            row.lease_until = 0;
            self.remember(name, row);
        }
        Ok(LeaseOutcome::Done)
    }

    fn signal(&mut self, name: &ThreadId, signal: &Signal) -> Result<LeaseOutcome, Refusal> {
        let mut row = self.find(name)?.ok_or(StoreErrorKind::NotFound)?;
        let sql = "SELECT signals FROM thread WHERE id = ?1";
        let text = self
            .connection
            .prepare_cached(sql)?
            .query_row([row.id], |row| row.get(0))?;
        let mut left = signals(text)?;
        left.push(signal.clone());
        let text = serde_json::to_string(&left)
            .map_err(|error| StoreErrorKind::Invalid(format!("signal {signal:?}: {error}")))?;
        let sql = "UPDATE thread SET signals = ?2 WHERE id = ?1";
        self.connection
            .prepare_cached(sql)?
            .execute(params![row.id, text])?;
        row.has_signals = true;
        self.remember(name, row);
        Ok(LeaseOutcome::Done)
    }
}
