//! A log that records its appends, and can be cut off.
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use fugato_state::{Seq, ThreadId};
use fugato_store::{
    AppendResult, Commit, Head, LeaseOutcome, LeaseRequest, Record, Snapshot, Snapshots, Status,
    StoreError, StoreErrorKind, ThreadLog,
};
use serde_json::Value;

use crate::log::OpenedLog;

/// A log that passes every request on, records the appends, and fails on request. Clones are the
/// same log.
#[derive(Debug, Clone)]
pub struct RecordingLog {
    inner: OpenedLog,
    seen: Arc<Mutex<RecordedCalls>>,
}

#[derive(Debug, Default)]
struct RecordedCalls {
    commits: Vec<Commit>,
    cut: Option<(usize, AppendFault)>,
    dead: bool,
    in_flight: usize,
    most_in_flight: usize,
    read: usize,
    spoiled: bool,
    puts: Vec<(Seq, Seq)>,
}

/// The way in which an append fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AppendFault {
    /// The process dies before the records are written. No request works from then on.
    DiesBefore,
    /// The process dies after the records were written.
    DiesAfter,
    /// The log is full: nothing is written, and the process lives.
    Full,
    /// The records are written, and the answer is lost.
    LosesAnswer,
}

impl RecordingLog {
    /// Wraps a log.
    pub fn over(inner: OpenedLog) -> Self {
        Self {
            inner,
            seen: Arc::default(),
        }
    }

    /// Makes the `nth` append from now on fail, counted from 1.
    pub fn cut(&self, nth: usize, cut: AppendFault) {
        self.seen().cut = Some((nth, cut));
    }

    /// Clears the recording.
    pub fn forget(&self) {
        let mut seen = self.seen();
        seen.commits.clear();
        seen.read = 0;
    }

    /// Returns the appended commits, in order.
    pub fn commits(&self) -> Vec<Commit> {
        self.seen().commits.clone()
    }

    /// Returns the appended commits as text: one line for each, with the facts in brackets and the
    /// status that it left. Times, runs and the fingerprint of the graph are left out.
    pub fn brackets(&self) -> String {
        let lines = self.commits();
        let lines = lines.iter().map(|commit| {
            let facts: Vec<_> = commit.records.iter().map(fact).collect();
            let status = match commit.status {
                Status::Sleeping { .. } => "Sleeping".into(),
                other => format!("{other:?}"),
            };
            format!("[{}] {status}\n", facts.join(", "))
        });
        lines.collect()
    }

    /// Returns the names of the appended facts, one line for each commit. In a subgraph a name is
    /// followed by its scope.
    pub fn shape(&self) -> Vec<String> {
        let name = |record: &Record| {
            let (fact, scope) = entry(record).unwrap_or_default();
            let fact = fact.as_object().and_then(|fact| fact.keys().next());
            let name = fact.map_or("unreadable", String::as_str);
            if scope.is_empty() {
                name.to_owned()
            } else {
                format!("{name}@{scope}")
            }
        };
        let commits = self.commits();
        let lines = commits.iter().map(|commit| {
            let names: Vec<_> = commit.records.iter().map(name).collect();
            names.join(" ")
        });
        lines.collect()
    }

    /// Returns the number of records that were read.
    pub fn records_read(&self) -> usize {
        self.seen().read
    }

    /// Returns the most appends that were under way at once.
    pub fn most_in_flight(&self) -> usize {
        self.seen().most_in_flight
    }

    /// Returns the position of each snapshot that was put, and the head of its thread at that time.
    pub fn puts(&self) -> Vec<(Seq, Seq)> {
        self.seen().puts.clone()
    }

    /// Damages every snapshot that is read from now on.
    pub fn spoil_snapshots(&self) {
        self.seen().spoiled = true;
    }

    fn seen(&self) -> MutexGuard<'_, RecordedCalls> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn alive(&self, operation: &'static str) -> Result<(), StoreError> {
        if self.seen().dead {
            return Err(StoreError::new(StoreErrorKind::Other, operation));
        }
        Ok(())
    }

    /// Counts an append, and returns the way in which it fails, if it does.
    fn begin(&self) -> Option<AppendFault> {
        let mut seen = self.seen();
        seen.in_flight += 1;
        seen.most_in_flight = seen.most_in_flight.max(seen.in_flight);
        match seen.cut {
            Some((1, cut)) => {
                seen.cut = None;
                seen.dead = matches!(cut, AppendFault::DiesBefore | AppendFault::DiesAfter);
                Some(cut)
            }
            Some((nth, cut)) => {
                seen.cut = Some((nth - 1, cut));
                None
            }
            None => None,
        }
    }
}

/// Returns the fact of a record, and its scope.
pub(super) fn entry(record: &Record) -> Result<(Value, String), serde_json::Error> {
    let body = record.0.get(1..).unwrap_or_default();
    let mut entry: Value = serde_json::from_slice(body)?;
    let fact = entry.get_mut("fact").map(Value::take).unwrap_or_default();
    let scope = entry.get("scope").and_then(Value::as_str);
    Ok((fact, scope.unwrap_or_default().to_owned()))
}

/// Returns a record as JSON, without the parts that differ from run to run.
fn fact(record: &Record) -> String {
    let (mut fact, scope) = match entry(record) {
        Ok(entry) => entry,
        Err(error) => return format!("unreadable: {error}"),
    };
    let under = fact.as_object_mut().into_iter().flatten();
    for (_, inner) in under {
        if let Some(inner) = inner.as_object_mut() {
            inner.remove("under");
            inner.remove("birth");
        }
    }
    timeless(&mut fact);
    match scope.as_str() {
        "" => fact.to_string(),
        scope => format!("{fact} @{scope}"),
    }
}

/// Replaces times by a fixed text, so that only their presence is compared.
fn timeless(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                match name.as_str() {
                    "not_after" | "retry_at" => *field = "later".into(),
                    _ => timeless(field),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(timeless),
        _ => {}
    }
}

#[async_trait]
impl ThreadLog for RecordingLog {
    async fn append(&self, thread: &ThreadId, commit: &Commit) -> Result<AppendResult, StoreError> {
        self.alive("append")?;
        let cut = self.begin();
        let fails = |kind| Err(StoreError::new(kind, "append").on(thread));
        let appended = match cut {
            Some(AppendFault::DiesBefore) => fails(StoreErrorKind::Other),
            Some(AppendFault::Full) => fails(StoreErrorKind::Full),
            _ => self.inner.log.append(thread, commit).await,
        };
        let mut seen = self.seen();
        seen.in_flight -= 1;
        // A commit whose acknowledgement was lost is sent again, and stored once.
        let again = seen
            .commits
            .last()
            .is_some_and(|last| last.nonce == commit.nonce);
        if appended.is_ok() && !again {
            seen.commits.push(commit.clone());
        }
        match cut {
            Some(AppendFault::DiesAfter) => fails(StoreErrorKind::Other),
            Some(AppendFault::LosesAnswer) => fails(StoreErrorKind::Unavailable),
            _ => appended,
        }
    }

    async fn read(
        &self,
        thread: &ThreadId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, Record)>, StoreError> {
        self.alive("read")?;
        let records = self.inner.log.read(thread, from, limit).await?;
        self.seen().read += records.len();
        Ok(records)
    }

    async fn head(&self, thread: &ThreadId) -> Result<Option<Head>, StoreError> {
        self.alive("read")?;
        self.inner.log.head(thread).await
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseOutcome, StoreError> {
        self.alive("lease")?;
        self.inner.log.lease(request).await
    }
}

#[async_trait]
impl Snapshots for RecordingLog {
    async fn put(&self, thread: &ThreadId, snapshot: Snapshot) -> Result<(), StoreError> {
        let Some(snapshots) = &self.inner.snapshots else {
            return Ok(());
        };
        self.alive("put")?;
        let head = self
            .inner
            .log
            .head(thread)
            .await?
            .map_or(0, |head| head.seq);
        let seq = snapshot.seq;
        snapshots.put(thread, snapshot).await?;
        self.seen().puts.push((seq, head));
        Ok(())
    }

    async fn latest_at(&self, thread: &ThreadId, seq: Seq) -> Result<Option<Snapshot>, StoreError> {
        self.alive("read")?;
        let Some(snapshots) = &self.inner.snapshots else {
            return Ok(None);
        };
        let mut latest = snapshots.latest_at(thread, seq).await?;
        if let Some(snapshot) = latest.as_mut().filter(|_| self.seen().spoiled) {
            let middle = snapshot.body.len() / 2;
            snapshot
                .body
                .iter_mut()
                .skip(middle)
                .take(1)
                .for_each(|byte| *byte ^= 1);
        }
        Ok(latest)
    }

    async fn delete(&self, thread: &ThreadId, seq: Seq) -> Result<(), StoreError> {
        match &self.inner.snapshots {
            Some(snapshots) => snapshots.delete(thread, seq).await,
            None => Ok(()),
        }
    }
}

crate::log::forward_admin!(RecordingLog);
