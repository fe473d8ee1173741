use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader, Write},
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use async_trait::async_trait;
use fugato::{
    StoreError, ThreadId, ThreadLog,
    state::{Millis, Seq},
    store::{
        AppendResult, Commit, Fence, Head, Lease, LeaseOutcome, LeaseRequest, Record, Signal,
        Status, StoreErrorKind,
    },
};
use serde::{Deserialize, Serialize};

/// A log: one line of JSON for each commit, in one file, for one process at a time.
///
/// A commit is on the disk before it is acknowledged. It keeps no snapshots, so a runner opens
/// threads from their first record.
#[derive(Debug)]
pub struct JsonLines {
    cabinet: Mutex<Cabinet>,
}

#[derive(Debug)]
struct Cabinet {
    file: File,
    threads: HashMap<ThreadId, Thread>,
    now: Millis,
}

#[derive(Debug, Default)]
struct Thread {
    records: Vec<Record>,
    last: Option<(Status, u128)>,
    fence: Fence,
    lease: Option<(String, Millis)>,
    signals: Vec<Signal>,
    acknowledged: Vec<Signal>,
}

#[derive(Serialize, Deserialize)]
struct Line {
    thread: ThreadId,
    fence: Fence,
    nonce: String,
    status: Status,
    records: Vec<Vec<u8>>,
}

impl JsonLines {
    /// Opens a file, or makes it. A last line that was not written to its end was never
    /// acknowledged, and is cut off.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)?;
        let (mut threads, mut whole) = (HashMap::<ThreadId, Thread>::new(), 0);
        let mut reader = BufReader::new(&file);
        let mut text = Vec::new();
        while reader.read_until(b'\n', &mut text)? > 0 && text.ends_with(b"\n") {
            let line: Line = serde_json::from_slice(&text)?;
            let nonce = line.nonce.parse().map_err(io::Error::other)?;
            let thread = threads.entry(line.thread).or_default();
            thread.records.extend(line.records.into_iter().map(Record));
            (thread.last, thread.fence) = (Some((line.status, nonce)), line.fence);
            whole += text.len() as u64;
            text.clear();
        }
        file.set_len(whole)?;
        let cabinet = Cabinet {
            file,
            threads,
            now: 0,
        };
        Ok(Self {
            cabinet: Mutex::new(cabinet),
        })
    }

    fn cabinet(&self) -> MutexGuard<'_, Cabinet> {
        let mut cabinet = self.cabinet.lock().unwrap_or_else(PoisonError::into_inner);
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let clock = Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX);
        cabinet.now = cabinet.now.max(clock);
        cabinet
    }
}

#[async_trait]
impl ThreadLog for JsonLines {
    async fn append(&self, thread: &ThreadId, commit: &Commit) -> Result<AppendResult, StoreError> {
        let refuse = |kind| StoreError::new(kind, "append").on(thread);
        let mut cabinet = self.cabinet();
        let Cabinet { file, threads, now } = &mut *cabinet;
        let stored = threads.entry(thread.clone()).or_default();
        let head = stored.records.len() as Seq;
        if stored.last.is_some_and(|(_, nonce)| nonce == commit.nonce) {
            return Ok(AppendResult {
                head,
                now: *now,
                signals: stored.acknowledged.clone(),
            });
        }
        commit.check_size().map_err(refuse)?;
        if commit.base.is_some() {
            return Err(refuse(StoreErrorKind::Invalid(
                "this log keeps no snapshots".into(),
            )));
        }
        if (head, stored.fence) != (commit.expect.head, commit.expect.fence) {
            return Err(refuse(StoreErrorKind::Conflict {
                head,
                fence: stored.fence,
            }));
        }
        write(file, thread, commit)
            .map_err(|error| refuse(StoreErrorKind::Other).because(error))?;
        stored.records.extend(commit.records.iter().cloned());
        stored.last = Some((commit.status, commit.nonce));
        if commit.status.releases() {
            stored.lease = None;
        }
        stored.acknowledged = std::mem::take(&mut stored.signals);
        let head = stored.records.len() as Seq;
        Ok(AppendResult {
            head,
            now: *now,
            signals: stored.acknowledged.clone(),
        })
    }

    async fn read(
        &self,
        thread: &ThreadId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, Record)>, StoreError> {
        let cabinet = self.cabinet();
        let records = cabinet
            .threads
            .get(thread)
            .map_or(&[][..], |stored| &stored.records);
        let numbered = (1..).zip(records.iter().cloned());
        Ok(numbered
            .skip_while(|(seq, _)| *seq < from)
            .take(limit)
            .collect())
    }

    async fn head(&self, thread: &ThreadId) -> Result<Option<Head>, StoreError> {
        let cabinet = self.cabinet();
        let head = |stored: &Thread| {
            let (status, nonce) = stored.last?;
            let seq = stored.records.len() as Seq;
            Some(Head {
                seq,
                base: 0,
                fence: stored.fence,
                status,
                nonce,
                now: cabinet.now,
            })
        };
        Ok(cabinet.threads.get(thread).and_then(head))
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseOutcome, StoreError> {
        let mut cabinet = self.cabinet();
        let now = cabinet.now;
        match request {
            LeaseRequest::Acquire { thread, owner, ttl } => {
                let stored = cabinet.threads.entry(thread.clone()).or_default();
                stored
                    .grant(thread, owner, ttl, now)
                    .map(|lease| LeaseOutcome::Granted(vec![lease]))
            }
            LeaseRequest::Claim { n, owner, ttl } => {
                let due = cabinet
                    .threads
                    .iter_mut()
                    .filter(|(_, stored)| stored.is_due(now));
                let granted = due
                    .take(n)
                    .map(|(thread, stored)| stored.grant(thread.clone(), owner.clone(), ttl, now));
                granted.collect::<Result<_, _>>().map(LeaseOutcome::Granted)
            }
            LeaseRequest::Renew { thread, fence, ttl } => {
                let stored = cabinet.threads.get_mut(&thread);
                let held = stored.filter(|stored| stored.is_held(now) && stored.fence == fence);
                let lost = || StoreError::new(StoreErrorKind::LeaseLost, "renew").on(&thread);
                held.ok_or_else(lost)
                    .map(|stored| stored.renew(now.saturating_add(ttl)))
            }
            LeaseRequest::Release { thread, fence } => {
                let stored = cabinet.threads.get_mut(&thread);
                if let Some(stored) = stored.filter(|stored| stored.fence == fence) {
                    stored.lease = None;
                }
                Ok(LeaseOutcome::Done)
            }
            LeaseRequest::Signal { thread, signal } => {
                let stored = cabinet.threads.get_mut(&thread);
                let unknown = || StoreError::new(StoreErrorKind::NotFound, "signal").on(&thread);
                stored.ok_or_else(unknown)?.signals.push(signal);
                Ok(LeaseOutcome::Done)
            }
        }
    }
}

impl Thread {
    fn is_held(&self, now: Millis) -> bool {
        self.lease.as_ref().is_some_and(|(_, until)| *until > now)
    }

    fn is_due(&self, now: Millis) -> bool {
        let due = match self.last {
            Some((Status::Runnable, _)) => true,
            Some((Status::Sleeping { until }, _)) => until <= now,
            Some((Status::Waiting { expires }, _)) => expires.is_some_and(|at| at <= now),
            Some((Status::Idle, _)) | None => false,
        };
        due && !self.is_held(now)
    }

    fn grant(
        &mut self,
        thread: ThreadId,
        owner: String,
        ttl: Millis,
        now: Millis,
    ) -> Result<Lease, StoreError> {
        if let Some((owner, until)) = self.lease.clone().filter(|(_, until)| *until > now) {
            let busy = StoreErrorKind::Busy { owner, until };
            return Err(StoreError::new(busy, "acquire").on(&thread));
        }
        self.fence += 1;
        let until = now.saturating_add(ttl);
        self.lease = Some((owner, until));
        let head = self.records.len() as Seq;
        Ok(Lease {
            thread,
            fence: self.fence,
            head,
            until,
            now,
        })
    }

    fn renew(&mut self, until: Millis) -> LeaseOutcome {
        if let Some((_, end)) = &mut self.lease {
            *end = until;
        }
        LeaseOutcome::Renewed {
            until,
            signals: std::mem::take(&mut self.signals),
        }
    }
}

fn write(file: &mut File, thread: &ThreadId, commit: &Commit) -> io::Result<()> {
    let line = Line {
        thread: thread.clone(),
        fence: commit.expect.fence,
        nonce: commit.nonce.to_string(),
        status: commit.status,
        records: commit
            .records
            .iter()
            .map(|record| record.0.clone())
            .collect(),
    };
    let mut text = serde_json::to_vec(&line)?;
    text.push(b'\n');
    let before = file.metadata()?.len();
    let written = file.write_all(&text).and_then(|()| file.sync_data());
    if written.is_err() {
        // Half a line would hide what comes after it.
        file.set_len(before)?;
    }
    written
}
