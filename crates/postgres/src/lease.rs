//! Leases, the queue of runnable threads, and signals.
use fugato_state::{Millis, ThreadId};
use fugato_store::{Claim, Fence, Lease, LeaseOutcome, LeaseRequest, Signal, StoreErrorKind};
use tokio_postgres::Row;

use crate::{
    database::Database,
    error::{Refusal, RequestError},
    row::{self, get, signals, stored, text},
    wake,
};

/// The most attempts to acquire a lease that was held at the attempt and free at the following
/// look-up of its owner.
const ATTEMPTS: usize = 5;

impl Database {
    pub(crate) async fn lease(&self, request: &LeaseRequest) -> Result<LeaseOutcome, Refusal> {
        match request {
            LeaseRequest::Acquire { thread, owner, ttl } => self.acquire(thread, owner, *ttl).await,
            LeaseRequest::Claim(claim) => self.claim(claim).await,
            LeaseRequest::Renew { thread, fence, ttl } => self.renew(thread, *fence, *ttl).await,
            LeaseRequest::Release { thread, fence } => self.release(thread, *fence).await,
            LeaseRequest::Signal { thread, signal } => self.signal(thread, signal).await,
        }
    }

    async fn acquire(
        &self,
        name: &ThreadId,
        owner: &str,
        ttl: Millis,
    ) -> Result<LeaseOutcome, Refusal> {
        let mut connection = self.connection().await?;
        let owner = text(owner);
        for _ in 0..ATTEMPTS {
            let (instead, seen) = self.clock.parameters();
            let taken = connection
                .maybe(
                    &self.sql.acquire,
                    &[&instead, &seen, &name.as_str(), &owner, &ttl],
                )
                .await?;
            if let Some(row) = taken {
                return Ok(LeaseOutcome::Granted(vec![self.granted(&row)?]));
            }
            let row = self.look(&mut connection, name).await?;
            if let Some(row) = row.filter(|row| row.lease_until > row.now) {
                let (owner, until) = (row.owner, row.lease_until);
                return Err(StoreErrorKind::Busy { owner, until }.into());
            }
        }
        Err(Refusal::restless())
    }

    async fn claim(&self, claim: &Claim) -> Result<LeaseOutcome, Refusal> {
        let mut connection = self.connection().await?;
        let (instead, seen) = self.clock.parameters();
        let except: Vec<_> = claim.except.iter().map(ThreadId::as_str).collect();
        let rows = connection
            .rows(
                &self.sql.claim,
                &[
                    &instead,
                    &seen,
                    &stored(claim.n as u64),
                    &text(&claim.owner),
                    &claim.ttl,
                    &claim.prefix,
                    &except,
                ],
            )
            .await?;
        let granted: Result<_, RequestError> = rows.iter().map(|row| self.granted(row)).collect();
        Ok(LeaseOutcome::Granted(granted?))
    }

    fn granted(&self, row: &Row) -> Result<Lease, RequestError> {
        let lease = row::lease(row)?;
        self.clock.saw(lease.now);
        Ok(lease)
    }

    async fn renew(
        &self,
        name: &ThreadId,
        fence: Fence,
        ttl: Millis,
    ) -> Result<LeaseOutcome, Refusal> {
        let mut connection = self.connection().await?;
        let (instead, seen) = self.clock.parameters();
        let renewed = connection
            .maybe(
                &self.sql.renew,
                &[&instead, &seen, &name.as_str(), &stored(fence), &ttl],
            )
            .await?;
        let row = renewed.ok_or(StoreErrorKind::LeaseLost)?;
        self.clock.saw(get(&row, 1)?);
        Ok(LeaseOutcome::Renewed {
            until: get(&row, 0)?,
            signals: signals(get(&row, 2)?)?,
        })
    }

    async fn release(&self, name: &ThreadId, fence: Fence) -> Result<LeaseOutcome, Refusal> {
        let mut connection = self.connection().await?;
        let (instead, seen) = self.clock.parameters();
        let released = connection
            .maybe(
                &self.sql.release,
                &[&instead, &seen, &name.as_str(), &stored(fence)],
            )
            .await?;
        if let Some(row) = released {
            self.clock.saw(get(&row, 0)?);
            if let Some(due) = get(&row, 1)? {
                self.tell(connection, wake::due(due));
            }
        }
        Ok(LeaseOutcome::Done)
    }

    async fn signal(&self, name: &ThreadId, signal: &Signal) -> Result<LeaseOutcome, Refusal> {
        let signal = serde_json::to_string(signal)
            .map_err(|error| StoreErrorKind::Invalid(format!("the signal: {error}")))?;
        let mut connection = self.connection().await?;
        let (instead, seen) = self.clock.parameters();
        let left = connection
            .maybe(
                &self.sql.signal,
                &[&instead, &seen, &name.as_str(), &signal],
            )
            .await?;
        let row = left.ok_or(StoreErrorKind::NotFound)?;
        self.clock.saw(get(&row, 0)?);
        self.tell(connection, wake::signalled(name));
        Ok(LeaseOutcome::Done)
    }
}
