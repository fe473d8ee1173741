use std::{
    collections::HashMap,
    fmt,
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader, Write},
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use fugato::{
    StoreError, ThreadId, ThreadLog, async_trait, serde_json,
    state::{Millis, Seq},
    store::{
        AppendResult, Commit, Fence, Head, Lease, LeaseOutcome, LeaseRequest, Record, Signal,
        Snapshot, Snapshots, Status, StoreErrorKind,
    },
};
use serde::{Deserialize, Serialize};

/// A log: one line of JSON for each change of a thread, in one file, for one process at a time.
///
/// A line is on the disk before its change is acknowledged, and threads are what all lines make of
/// them.
pub struct JsonLines {
    cabinet: Mutex<Cabinet>,
    clock: Box<dyn Fn() -> Millis + Send + Sync>,
}

impl fmt::Debug for JsonLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonLines").finish_non_exhaustive()
    }
}

struct Cabinet {
    file: File,
    threads: HashMap<ThreadId, Thread>,
    now: Millis,
}

#[derive(Default)]
struct Thread {
    records: Vec<Record>,
    last: Option<(Status, u128)>,
    /// The time from which it can go on.
    due: Option<Millis>,
    fence: Fence,
    lease: Option<(String, Millis)>,
    signals: Vec<Signal>,
    acknowledged: Vec<Signal>,
    folds: Vec<Snapshot>,
}

#[derive(Serialize, Deserialize)]
struct Line {
    thread: ThreadId,
    now: Millis,
    change: Change,
}

#[derive(Serialize, Deserialize)]
enum Change {
    Committed {
        /// In digits: JSON has no numbers of this size.
        nonce: String,
        status: Status,
        records: Vec<Vec<u8>>,
        base: Option<(Seq, Vec<u8>)>,
    },
    Granted {
        owner: String,
        until: Millis,
    },
    Renewed {
        until: Millis,
    },
    Released,
    Signalled(Signal),
    Folded(Seq, Vec<u8>),
    Unfolded(Seq),
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
        let (mut threads, mut whole, mut now) = (HashMap::<ThreadId, Thread>::new(), 0, 0);
        let mut reader = BufReader::new(&file);
        let mut text = Vec::new();
        while reader.read_until(b'\n', &mut text)? > 0 && text.ends_with(b"\n") {
            let line: Line = serde_json::from_slice(&text)?;
            let thread = threads.entry(line.thread).or_default();
            thread.apply(line.change, line.now)?;
            now = now.max(line.now);
            whole += text.len() as u64;
            text.clear();
        }
        file.set_len(whole)?;
        let cabinet = Cabinet { file, threads, now };
        Ok(Self {
            cabinet: Mutex::new(cabinet),
            clock: Box::new(system_clock),
        })
    }

    /// Reads the time from `clock`, in milliseconds since the Unix epoch, as tests do.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Fn() -> Millis + Send + Sync + 'static) -> Self {
        self.clock = Box::new(clock);
        self
    }

    fn cabinet(&self) -> MutexGuard<'_, Cabinet> {
        let mut cabinet = self.cabinet.lock().unwrap_or_else(PoisonError::into_inner);
        cabinet.now = cabinet.now.max((self.clock)());
        cabinet
    }
}

fn system_clock() -> Millis {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
}

impl Cabinet {
    /// Writes a change to the disk, then makes it.
    fn change(&mut self, thread: &ThreadId, change: Change) -> Result<&mut Thread, StoreError> {
        let (thread, now) = (thread.clone(), self.now);
        let failed = |error: io::Error| {
            StoreError::new(StoreErrorKind::Other, "write")
                .on(&thread)
                .because(error)
        };
        let stored = self.threads.entry(thread.clone()).or_default();
        let line = Line {
            thread: thread.clone(),
            now,
            change,
        };
        write(&mut self.file, &line).map_err(failed)?;
        stored.apply(line.change, now).map_err(failed)?;
        Ok(stored)
    }

    fn grant(&mut self, thread: ThreadId, owner: String, ttl: Millis) -> Result<Lease, StoreError> {
        let now = self.now;
        let held = self
            .threads
            .get(&thread)
            .and_then(|stored| stored.held(now));
        if let Some((owner, until)) = held.cloned() {
            let busy = StoreErrorKind::Busy { owner, until };
            return Err(StoreError::new(busy, "acquire").on(&thread));
        }
        let until = now.saturating_add(ttl);
        let stored = self.change(&thread, Change::Granted { owner, until })?;
        Ok(Lease {
            fence: stored.fence,
            head: stored.head(),
            thread,
            until,
            now,
        })
    }
}

#[async_trait]
impl ThreadLog for JsonLines {
    async fn append(&self, thread: &ThreadId, commit: &Commit) -> Result<AppendResult, StoreError> {
        let refuse = |kind| StoreError::new(kind, "append").on(thread);
        let mut cabinet = self.cabinet();
        let stored = cabinet.threads.entry(thread.clone()).or_default();
        let (head, fence) = (stored.head(), stored.fence);
        if stored.last.is_none_or(|(_, nonce)| nonce != commit.nonce) {
            commit.check_size().map_err(refuse)?;
            if (head, fence) != (commit.expect.head, commit.expect.fence) {
                return Err(refuse(StoreErrorKind::Conflict { head, fence }));
            }
            commit.check_base(0, head).map_err(refuse)?;
            let records = commit.records.iter().map(|record| record.0.clone());
            let committed = Change::Committed {
                nonce: commit.nonce.to_string(),
                status: commit.status,
                records: records.collect(),
                base: commit.base.clone().map(|base| (base.seq, base.body)),
            };
            cabinet.change(thread, committed)?;
        }
        let now = cabinet.now;
        let stored = cabinet.threads.entry(thread.clone()).or_default();
        Ok(AppendResult {
            head: stored.head(),
            now,
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
        let stored = cabinet.threads.get(thread);
        let records = stored.map_or(&[][..], |stored| &stored.records);
        let numbered = (1..).zip(records.iter().cloned());
        let wanted = numbered.skip_while(|(seq, _)| *seq < from).take(limit);
        Ok(wanted.collect())
    }

    async fn head(&self, thread: &ThreadId) -> Result<Option<Head>, StoreError> {
        let cabinet = self.cabinet();
        let head = |stored: &Thread| {
            let (status, nonce) = stored.last?;
            Some(Head {
                seq: stored.head(),
                base: 0,
                fence: stored.fence,
                status,
                nonce,
                leased_until: stored.held(cabinet.now).map(|(_, until)| *until),
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
                let lease = cabinet.grant(thread, owner, ttl)?;
                Ok(LeaseOutcome::Granted(vec![lease]))
            }
            LeaseRequest::Claim(claim) => {
                let due = |(thread, stored): (&ThreadId, &Thread)| {
                    let due = stored.due.filter(|due| *due <= now)?;
                    let is_free = stored.held(now).is_none() && claim.wants(thread);
                    is_free.then(|| (due, thread.clone()))
                };
                let mut due: Vec<_> = cabinet.threads.iter().filter_map(due).collect();
                due.sort_by_key(|(due, _)| *due);
                let granted = due.into_iter().take(claim.n);
                let granted = granted
                    .map(|(_, thread)| cabinet.grant(thread, claim.owner.clone(), claim.ttl));
                granted.collect::<Result<_, _>>().map(LeaseOutcome::Granted)
            }
            LeaseRequest::Renew { thread, fence, ttl } => {
                let stored = cabinet.threads.get_mut(&thread);
                let held = stored.filter(|stored| stored.fence == fence);
                let Some(held) = held.filter(|stored| stored.lease.is_some()) else {
                    return Err(StoreError::new(StoreErrorKind::LeaseLost, "renew").on(&thread));
                };
                let (signals, until) = (held.signals.clone(), now.saturating_add(ttl));
                cabinet.change(&thread, Change::Renewed { until })?;
                Ok(LeaseOutcome::Renewed { until, signals })
            }
            LeaseRequest::Release { thread, fence } => {
                let stored = cabinet.threads.get(&thread);
                if stored.is_some_and(|stored| stored.fence == fence) {
                    cabinet.change(&thread, Change::Released)?;
                }
                Ok(LeaseOutcome::Done)
            }
            LeaseRequest::Signal { thread, signal } => {
                if !cabinet.threads.contains_key(&thread) {
                    return Err(StoreError::new(StoreErrorKind::NotFound, "signal").on(&thread));
                }
                cabinet.change(&thread, Change::Signalled(signal))?;
                Ok(LeaseOutcome::Done)
            }
        }
    }
}

#[async_trait]
impl Snapshots for JsonLines {
    async fn put(&self, thread: &ThreadId, snapshot: Snapshot) -> Result<(), StoreError> {
        let mut cabinet = self.cabinet();
        let stored = cabinet.threads.get(thread);
        if stored.is_none_or(|stored| stored.last.is_none() || snapshot.seq > stored.head()) {
            return Err(StoreError::new(StoreErrorKind::NotFound, "put a snapshot of").on(thread));
        }
        let folded = Change::Folded(snapshot.seq, snapshot.body);
        cabinet.change(thread, folded).map(drop)
    }

    async fn latest_at(&self, thread: &ThreadId, seq: Seq) -> Result<Option<Snapshot>, StoreError> {
        let cabinet = self.cabinet();
        let folds = cabinet.threads.get(thread).map(|stored| &stored.folds);
        let mut before = folds.into_iter().flatten().filter(|fold| fold.seq <= seq);
        Ok(before.next_back().cloned())
    }

    async fn delete(&self, thread: &ThreadId, seq: Seq) -> Result<(), StoreError> {
        let mut cabinet = self.cabinet();
        if cabinet.threads.contains_key(thread) {
            cabinet.change(thread, Change::Unfolded(seq))?;
        }
        Ok(())
    }
}

impl Thread {
    fn head(&self) -> Seq {
        self.records.len() as Seq
    }

    fn held(&self, now: Millis) -> Option<&(String, Millis)> {
        self.lease.as_ref().filter(|(_, until)| *until > now)
    }

    fn apply(&mut self, change: Change, now: Millis) -> io::Result<()> {
        match change {
            Change::Committed {
                nonce,
                status,
                records,
                base,
            } => {
                let nonce = nonce.parse().map_err(io::Error::other)?;
                self.due = match status {
                    // It is runnable since the first commit that said so.
                    Status::Runnable if matches!(self.last, Some((Status::Runnable, _))) => {
                        self.due
                    }
                    Status::Runnable => Some(now),
                    Status::Sleeping { until } => Some(until),
                    Status::Waiting { expires } => expires,
                    Status::Idle => None,
                };
                self.records.extend(records.into_iter().map(Record));
                self.last = Some((status, nonce));
                if status.releases() {
                    self.lease = None;
                }
                if let Some((seq, body)) = base {
                    self.keep(Snapshot { seq, body });
                }
                self.acknowledged = std::mem::take(&mut self.signals);
            }
            Change::Granted { owner, until } => {
                self.fence += 1;
                self.lease = Some((owner, until));
            }
            Change::Renewed { until } => {
                self.signals.clear();
                if let Some((_, end)) = &mut self.lease {
                    *end = until;
                }
            }
            Change::Released => self.lease = None,
            Change::Signalled(signal) => self.signals.push(signal),
            Change::Folded(seq, body) => self.keep(Snapshot { seq, body }),
            Change::Unfolded(seq) => self.folds.retain(|fold| fold.seq != seq),
        }
        Ok(())
    }

    fn keep(&mut self, fold: Snapshot) {
        self.folds.retain(|kept| kept.seq != fold.seq);
        let after = self.folds.partition_point(|kept| kept.seq < fold.seq);
        self.folds.insert(after, fold);
    }
}

fn write(file: &mut File, line: &Line) -> io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    let before = file.metadata()?.len();
    let written = file.write_all(&text).and_then(|()| file.sync_data());
    if written.is_err() {
        // Half a line would hide what comes after it.
        file.set_len(before)?;
    }
    written
}
