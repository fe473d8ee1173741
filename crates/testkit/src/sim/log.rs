//! A log that fails as the plan says.
use std::{future::Future, sync::Arc};

use async_trait::async_trait;
use fugato_state::{Seq, ThreadId};
use fugato_store::{
    AppendResult, Commit, Head, LeaseOutcome, LeaseRequest, Record, Snapshot, Snapshots,
    StoreError, StoreErrorKind, ThreadLog,
};
use serde_json::Value;

use super::{
    core::{Core, LATE, OUTAGE, Process},
    fault::{Activity, Fault},
    store::CrashStore,
};
use crate::log::OpenedLog;

/// The log of one process.
pub(super) struct FaultLog {
    pub(super) core: Arc<Core>,
    pub(super) process: Arc<Process>,
    pub(super) inner: OpenedLog,
    pub(super) store: Arc<dyn CrashStore>,
    /// Runs other processes while this one is stalled.
    pub(super) others: Box<dyn Fn() + Send + Sync>,
}

fn unavailable(operation: &'static str) -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, operation)
}

impl FaultLog {
    /// Carries one request out, with the fault that is due.
    async fn execute<T: Send>(
        &self,
        (doing, operation): (Activity, &'static str),
        label: String,
        act: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self.process.alive().await;
        let fault = self.core.pass(doing, label);
        let now = self.core.clock.now();
        if self.core.seen().down_until > now {
            return Err(unavailable(operation));
        }
        match fault {
            None | Some(Fault::Taken | Fault::Overtaken | Fault::Torn) => act.await,
            Some(Fault::DiesBefore) => self.process.die().await,
            Some(Fault::DiesAfter) => {
                let _ = act.await;
                self.process.die().await
            }
            Some(Fault::Refused) => Err(unavailable(operation)),
            Some(Fault::AnswerLost | Fault::Hangs) => {
                act.await?;
                Err(unavailable(operation))
            }
            Some(Fault::Down) => {
                self.core.seen().down_until = now.saturating_add(OUTAGE);
                Err(unavailable(operation))
            }
            Some(Fault::Full) => Err(StoreError::new(StoreErrorKind::Full, operation)),
            Some(Fault::ArrivesLate) => {
                tokio::time::sleep(LATE).await;
                self.process.alive().await;
                act.await
            }
            Some(Fault::AnsweredLate) => {
                let done = act.await;
                tokio::time::sleep(LATE).await;
                self.process.alive().await;
                done
            }
            Some(Fault::StallsBefore) => {
                self.stall().await;
                act.await
            }
            Some(Fault::StallsAfter) => {
                let done = act.await;
                self.stall().await;
                done
            }
        }
    }

    /// Stalls this process while others run. Its clocks go on.
    async fn stall(&self) {
        let clock = &self.core.clock;
        clock.leave();
        let before = clock.now();
        self.core.seen().stalled += 1;
        // Another process takes the thread over when its lease has certainly run out.
        clock.advance(i64::try_from(LATE.as_millis()).unwrap_or(0));
        (self.others)();
        self.core.seen().stalled -= 1;
        let passed = u64::try_from(clock.now() - before).unwrap_or(0);
        clock.advance(before - clock.now());
        clock.follow();
        tokio::time::advance(std::time::Duration::from_millis(passed)).await;
    }

    async fn append_now(
        &self,
        thread: &ThreadId,
        commit: &Commit,
    ) -> Result<AppendResult, StoreError> {
        {
            let mut seen = self.core.seen();
            seen.in_flight += 1;
            seen.most_in_flight = seen.most_in_flight.max(seen.in_flight);
        }
        let appended = self.inner.log.append(thread, commit).await;
        self.core.seen().in_flight -= 1;
        appended
    }

    /// Gives the thread to another owner for a moment.
    async fn take(&self, thread: &ThreadId, fence: u64) -> Result<(), StoreError> {
        let thread = thread.clone();
        let release = LeaseRequest::Release {
            thread: thread.clone(),
            fence,
        };
        self.inner.log.lease(release).await?;
        let (owner, ttl) = ("somebody else".to_owned(), 1);
        let acquire = LeaseRequest::Acquire { thread, owner, ttl };
        self.inner.log.lease(acquire).await.map(|_| ())
    }

    async fn tear(&self, thread: &ThreadId, commit: &Commit) -> Result<AppendResult, StoreError> {
        let before = self.store.length().unwrap_or(0);
        let _ = self.inner.log.append(thread, commit).await;
        let after = self.store.length().unwrap_or(0);
        self.core.seen().torn = Some(before.midpoint(after.max(before)));
        self.process.die().await
    }

    /// Records the acknowledged head, receipts and answers, which the store must not lose.
    fn acknowledged(&self, commit: &Commit, appended: &AppendResult) {
        let mut seen = self.core.seen();
        seen.acknowledged = seen.acknowledged.max(appended.head);
        for entry in commit.records.iter().filter_map(entry) {
            if let Some(receipt) = entry.pointer("/fact/receipt") {
                let text = |value: Option<&Value>| {
                    let text = value.and_then(Value::as_str).unwrap_or_default();
                    text.to_owned()
                };
                let (task, key) = (text(receipt.get("task")), text(receipt.get("key")));
                let scope = text(entry.get("scope"));
                let whole = task.is_empty() || scope.is_empty();
                let slash = if whole { "" } else { "/" };
                let scope = if task.is_empty() { "" } else { &scope };
                seen.receipts.insert(format!("/{scope}{slash}{task}/{key}"));
            }
            let answers = entry.pointer("/fact/answered/answers");
            for answer in answers.and_then(Value::as_array).into_iter().flatten() {
                let id = answer.get(0).and_then(Value::as_str);
                seen.answered.extend(id.map(str::to_owned));
            }
        }
    }

    /// Delivers the append of a dead process after another one has taken the thread. It may repeat
    /// a commit that was written before, but it must not write anything.
    async fn deliver(&self, thread: &ThreadId) {
        let Some((thread, commit)) = self.core.seen().late.take_if(|(late, _)| late == thread)
        else {
            return;
        };
        let log = &self.inner.log;
        let end = async || log.head(&thread).await.ok().flatten().map(|head| head.seq);
        let before = end().await;
        let taken = log.append(&thread, &commit).await.is_ok();
        if taken && end().await != before {
            self.core
                .broke("the store took an append of an owner whose lease was over");
        }
    }

    /// Checks that the head is not before a known position, which would show that the store lost
    /// records.
    fn remembers(&self, head: Seq, known: Seq) {
        if head < known {
            self.core.broke(format!(
                "the store had acknowledged position {known} and ends at {head}"
            ));
        }
    }
}

fn entry(record: &Record) -> Option<Value> {
    serde_json::from_slice(record.0.get(1..)?).ok()
}

fn facts(commit: &Commit) -> String {
    let name = |record: &Record| {
        let entry = entry(record)?;
        let fact = entry.get("fact")?.as_object()?;
        fact.keys().next().cloned()
    };
    let names = commit
        .records
        .iter()
        .map(|record| name(record).unwrap_or_else(|| "?".into()));
    format!("[{}]", names.collect::<Vec<_>>().join(", "))
}

#[async_trait]
impl ThreadLog for FaultLog {
    async fn append(&self, thread: &ThreadId, commit: &Commit) -> Result<AppendResult, StoreError> {
        let point = self.core.seen().points.len() + 1;
        let act = async {
            let fired = self.core.seen().fired.last().copied();
            let fault = fired.filter(|(at, _)| *at == point).map(|(_, fault)| fault);
            match fault {
                Some(Fault::Torn) => self.tear(thread, commit).await,
                Some(Fault::Overtaken) => {
                    self.core.seen().late = Some((thread.clone(), commit.clone()));
                    self.process.die().await
                }
                Some(Fault::Taken) => {
                    self.take(thread, commit.expect.fence).await?;
                    self.append_now(thread, commit).await
                }
                _ => self.append_now(thread, commit).await,
            }
        };
        let appended = self
            .execute((Activity::Append, "append"), facts(commit), act)
            .await?;
        self.acknowledged(commit, &appended);
        Ok(appended)
    }

    async fn read(
        &self,
        thread: &ThreadId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, Record)>, StoreError> {
        let act = self.inner.log.read(thread, from, limit);
        let label = format!("from {from}");
        self.execute((Activity::Read, "read"), label, act).await
    }

    async fn head(&self, thread: &ThreadId) -> Result<Option<Head>, StoreError> {
        let act = self.inner.log.head(thread);
        let label = "the end".to_owned();
        self.execute((Activity::Read, "read"), label, act).await
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseOutcome, StoreError> {
        let (doing, operation, thread) = match &request {
            LeaseRequest::Acquire { thread, .. } => {
                (Activity::Acquire, "lease", Some(thread.clone()))
            }
            LeaseRequest::Claim(_) => (Activity::Acquire, "claim", None),
            LeaseRequest::Renew { .. } => (Activity::Renew, "renew", None),
            LeaseRequest::Release { .. } => (Activity::Release, "release", None),
            LeaseRequest::Signal { .. } => return self.inner.log.lease(request).await,
        };
        let act = self.inner.log.lease(request);
        let known = self.core.seen().acknowledged;
        let leased = self.execute((doing, operation), String::new(), act).await?;
        if let (LeaseOutcome::Granted(leases), Some(thread)) = (&leased, thread) {
            for lease in leases {
                self.remembers(lease.head, known);
            }
            self.deliver(&thread).await;
        }
        Ok(leased)
    }
}

#[async_trait]
impl Snapshots for FaultLog {
    async fn put(&self, thread: &ThreadId, snapshot: Snapshot) -> Result<(), StoreError> {
        self.process.alive().await;
        match &self.inner.snapshots {
            Some(snapshots) => snapshots.put(thread, snapshot).await,
            None => Ok(()),
        }
    }

    async fn latest_at(&self, thread: &ThreadId, seq: Seq) -> Result<Option<Snapshot>, StoreError> {
        self.process.alive().await;
        match &self.inner.snapshots {
            Some(snapshots) => snapshots.latest_at(thread, seq).await,
            None => Ok(None),
        }
    }

    async fn delete(&self, thread: &ThreadId, seq: Seq) -> Result<(), StoreError> {
        match &self.inner.snapshots {
            Some(snapshots) => snapshots.delete(thread, seq).await,
            None => Ok(()),
        }
    }
}

crate::log::forward_admin!(FaultLog);
