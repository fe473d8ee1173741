//! Leases, the queue of runnable threads, and signals.
use fugato_state::{Millis, ThreadId};
use fugato_store::{
    Claim, Fence, Lease, LeaseOutcome, LeaseRequest, Signal, StoreError, StoreErrorKind,
};

use crate::{
    log::MySqlLog,
    row::{ReadResult, Row},
    sql::{PIECE, Script, hex, named},
};

/// The longest time to live that is granted, in milliseconds: more than fifty million years.
const LONGEST: Millis = 1 << 61;

/// The most threads that one request claims.
const MOST_CLAIMED: usize = 10_000;

/// The size of pending signals, in bytes, from which on no more are accepted for a thread.
const MOST_SIGNALS: usize = 1 << 22;

/// A fence greater than all that the thread, and earlier ones of the same name, ever had: their ids
/// are never used twice.
const NEXT_FENCE: &str = "GREATEST(fence,id<<32)+1";

impl MySqlLog {
    pub(crate) async fn lease_for(
        &self,
        request: LeaseRequest,
    ) -> Result<LeaseOutcome, StoreError> {
        match request {
            LeaseRequest::Acquire { thread, owner, ttl } => self.acquire(thread, &owner, ttl).await,
            LeaseRequest::Claim(claim) => self.claim(&claim).await,
            LeaseRequest::Renew { thread, fence, ttl } => self.renew(&thread, fence, ttl).await,
            LeaseRequest::Release { thread, fence } => self.release(&thread, fence).await,
            LeaseRequest::Signal { thread, signal } => self.signal(&thread, &signal).await,
        }
    }

    async fn acquire(
        &self,
        thread: ThreadId,
        owner: &str,
        ttl: Millis,
    ) -> Result<LeaseOutcome, StoreError> {
        let mut script = Script::lock(&thread, self.clock());
        let next = NEXT_FENCE.replace("fence", "@fence").replace("id", "@id");
        script
            .make(&thread)
            .add("SET @go=(@lease IS NULL OR @lease<=@now)")
            .add(&format!("SET @fence=IF(@go,{next},@fence)"))
            .add(&format!("SET @until=@now+{}", clamped(ttl)))
            .add(&format!(
                "UPDATE fugato_thread SET fence=@fence,owner={},lease=@until,seen=@now \
                 WHERE id=@id AND @go",
                hex(owner.as_bytes())
            ))
            .add("COMMIT")
            .add("SELECT @go,@fence,@head,@until,@now,@owner,@lease");
        self.ask(&thread, &script, "lease", |mut row| {
            let go = row.is_true()?;
            let (fence, head) = (row.number()?, row.number()?);
            let (until, now) = (row.number()?, self.clock().see(row.number()?));
            if !go {
                let owner = row.maybe_text()?.unwrap_or_default();
                let until = row.number()?;
                return Err(StoreErrorKind::Busy { owner, until });
            }
            let thread = thread.clone();
            Ok(LeaseOutcome::Granted(vec![Lease {
                thread,
                fence,
                head,
                until,
                now,
            }]))
        })
        .await
    }

    /// Claims due threads, and skips those that another request claims or writes at this moment.
    async fn claim(&self, claim: &Claim) -> Result<LeaseOutcome, StoreError> {
        const NOW: &str = "GREATEST(@now,COALESCE(seen,@now))";
        let (n, ttl) = (claim.n.min(MOST_CLAIMED), clamped(claim.ttl));
        let mut script = Script::default();
        // Without the index all rows would be locked until enough for the limit are found.
        script
            .add(&format!("SET @now={}", self.clock().now("NULL")))
            .add("START TRANSACTION")
            .add(&format!(
                "SELECT id,name,{NEXT_FENCE},head,{NOW}+{ttl},{NOW} \
                 FROM fugato_thread FORCE INDEX (by_due) \
                 WHERE due<=@now AND (lease IS NULL OR lease<=@now) AND {}{} \
                 ORDER BY due,id LIMIT {n} FOR UPDATE SKIP LOCKED",
                named(&claim.prefix),
                other_than(&claim.except)
            ));
        let owner = hex(claim.owner.as_bytes());
        let take = |rows: &[Row]| {
            let ids = rows.iter().map(|row| row.clone().text());
            let ids = ids.collect::<ReadResult<Vec<_>>>()?.join(",");
            let mut script = Script::default();
            if !ids.is_empty() {
                script.add(&format!(
                    "UPDATE fugato_thread SET seen={NOW},fence={NEXT_FENCE},owner={owner},\
                     lease=seen+{ttl} WHERE id IN ({ids})"
                ));
            }
            script.add("COMMIT");
            Ok(script)
        };
        let rows = self.pool().run_then(&script, take, "claim").await?;
        let leases = rows.into_iter().map(|row| self.claimed(row));
        let leases = leases.collect::<ReadResult<_>>();
        leases
            .map(LeaseOutcome::Granted)
            .map_err(|kind| StoreError::new(kind, "claim"))
    }

    fn claimed(&self, mut row: Row) -> ReadResult<Lease> {
        row.text()?;
        Ok(Lease {
            thread: row.thread()?,
            fence: row.number()?,
            head: row.number()?,
            until: row.number()?,
            now: self.clock().see(row.number()?),
        })
    }

    async fn renew(
        &self,
        thread: &ThreadId,
        fence: Fence,
        ttl: Millis,
    ) -> Result<LeaseOutcome, StoreError> {
        let mut script = Script::lock(thread, self.clock());
        script
            .add(&format!(
                "SET @go=(@id IS NOT NULL AND @fence={fence} AND @lease IS NOT NULL)"
            ))
            .add(&format!("SET @until=@now+{}", clamped(ttl)))
            .add(
                "UPDATE fugato_thread SET lease=@until,signals=NULL,seen=@now \
                 WHERE id=@id AND @go",
            )
            .add("COMMIT")
            .add("SELECT @go,@now,@until,@signals");
        self.ask(thread, &script, "renew", |mut row| {
            if !row.is_true()? {
                return Err(StoreErrorKind::LeaseLost);
            }
            self.clock().see(row.number()?);
            let (until, signals) = (row.number()?, row.signals()?);
            Ok(LeaseOutcome::Renewed { until, signals })
        })
        .await
    }

    async fn release(&self, thread: &ThreadId, fence: Fence) -> Result<LeaseOutcome, StoreError> {
        let mut script = Script::default();
        let name = hex(thread.as_str().as_bytes());
        script
            .add(&format!(
                "UPDATE fugato_thread SET owner=NULL,lease=NULL WHERE name={name} AND fence={fence}"
            ))
            .add("SELECT 1");
        self.ask(thread, &script, "release", |_| Ok(LeaseOutcome::Done))
            .await
    }

    async fn signal(&self, thread: &ThreadId, signal: &Signal) -> Result<LeaseOutcome, StoreError> {
        let failed = |kind| StoreError::new(kind, "signal").on(thread);
        let line = serde_json::to_vec(signal).map_err(|error| {
            failed(StoreErrorKind::Invalid("it cannot be written".into())).because(error)
        })?;
        let (bytes, limit) = (line.len(), PIECE);
        if bytes > limit {
            return Err(failed(StoreErrorKind::TooLarge { bytes, limit }));
        }
        let (name, line) = (hex(thread.as_str().as_bytes()), hex(&line));
        let mut script = Script::default();
        script
            .add(&format!(
                "UPDATE fugato_thread \
                 SET signals=CONCAT(COALESCE(CONCAT(signals,x'0a'),x''),{line}) \
                 WHERE name={name} AND COALESCE(LENGTH(signals),0)<{MOST_SIGNALS}"
            ))
            .add("SET @go=ROW_COUNT()")
            .add(&format!(
                "SELECT @go,EXISTS(SELECT 1 FROM fugato_thread WHERE name={name})"
            ));
        self.ask(thread, &script, "signal", |mut row| {
            match (row.is_true()?, row.is_true()?) {
                (true, _) => Ok(LeaseOutcome::Done),
                (false, true) => Err(StoreErrorKind::Full),
                (false, false) => Err(StoreErrorKind::NotFound),
            }
        })
        .await
    }
}

/// Returns the condition that a row is of none of these threads.
fn other_than(threads: &[ThreadId]) -> String {
    if threads.is_empty() {
        return String::new();
    }
    let names = threads.iter().map(|thread| hex(thread.as_str().as_bytes()));
    format!(" AND name NOT IN ({})", names.collect::<Vec<_>>().join(","))
}

fn clamped(ttl: Millis) -> Millis {
    ttl.clamp(-LONGEST, LONGEST)
}
