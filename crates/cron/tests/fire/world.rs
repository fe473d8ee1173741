//! A store and a clock that outlive processes, and processes that die at a write to either store.
use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use fugato_cron::{JobClock, JobRunner, Jobs};
use fugato_graph::{BoxError, Context, END, Graph, HistoryEvent, Outcome, Runner, RunnerOptions};
use fugato_state::{Millis, State, ThreadId};
use fugato_store::{
    Doc, DocEntry, DocFilter, DocKey, DocStore, DocWrite, Intercept, InterceptedLog, MemoryDocs,
    MemoryLog, Namespace, StoreCall, StoreError, StoreErrorKind, Version,
};
use fugato_testkit::VirtualClock;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

pub(crate) type TestResult<T = ()> = Result<T, BoxError>;

/// Noon on Sunday, 22 November 2026.
pub(crate) const NOON: Millis = 1_795_348_800_000;
pub(crate) const MINUTE: Millis = 60_000;

/// The record of a job's runs: the scheduled times, and the actual times.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct JobState {
    wanted: Millis,
    pub(crate) done: Vec<(Millis, Millis)>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Update {
    Wanted(Millis),
    Done(Millis, Millis),
}

impl State for JobState {
    type Update = Update;

    fn apply(&mut self, update: Update) {
        match update {
            Update::Wanted(time) => self.wanted = time,
            Update::Done(time, at) => self.done.push((time, at)),
        }
    }
}

pub(crate) struct World {
    pub(crate) clock: VirtualClock,
    /// The time by which the clock of the jobs was set back.
    pub(crate) back: Arc<AtomicI64>,
    log: Arc<MemoryLog>,
    docs: Arc<MemoryDocs>,
}

impl World {
    pub(crate) async fn new() -> TestResult<Self> {
        let clock = VirtualClock::start(NOON);
        let (a, b) = (clock.store(), clock.store());
        let log = Arc::new(MemoryLog::with_clock(move || a.now()));
        let docs = Arc::new(MemoryDocs::with_clock(move || b.now()));
        let back = Arc::default();
        let world = Self {
            clock,
            back,
            log,
            docs,
        };
        let (runner, _) = world.process(None).parts();
        let begun = vec![Update::Wanted(0)];
        runner.start(&ThreadId::new("desk")?, begun).await?;
        Ok(world)
    }

    /// Creates a process that dies at its n-th write, before or after it was stored; or never.
    pub(crate) fn process(&self, dies: Option<(i64, bool)>) -> Process {
        let (left, after) = dies.unwrap_or((i64::MAX, false));
        let life = Arc::new(Life {
            left: AtomicI64::new(left),
            after,
        });
        let log = InterceptedLog::new(self.log.clone(), life.clone());
        let docs = Mortal(self.docs.clone(), life);
        let time = self.clock.store();
        let back = self.back.clone();
        let clock = JobClock::new(TimeZone::UTC, move || {
            time.now() - back.load(Ordering::SeqCst)
        });
        let jobs = Jobs::new(Arc::new(docs), clock);
        let lease = RunnerOptions::default().lease(Duration::from_secs(3));
        let time = self.clock.store();
        let work = move |cx: Context<JobState>| {
            let time = time.clone();
            async move { Outcome::done([Update::Done(cx.state().wanted, time.now())]) }
        };
        let graph = Graph::<JobState>::starting_at("work")
            .node("work", work)
            .edge("work", END)
            .build()
            .expect("the wiring is checked");
        let runner = Runner::on_log(graph, Arc::new(log)).options(lease);
        Process { runner, jobs }
    }

    pub(crate) fn docs(&self) -> &MemoryDocs {
        &self.docs
    }

    /// Returns the finished runs of a job, and the number of runs that began.
    pub(crate) async fn done(&self, place: &str) -> TestResult<(Vec<(Millis, Millis)>, usize)> {
        let (runner, _) = self.process(None).parts();
        let thread = ThreadId::new(place)?;
        let Some(desk) = runner.state(&thread).await? else {
            return Ok((vec![], 0));
        };
        let history = runner.history(&thread, 1, 100_000).await?;
        let is_start = |event| matches!(event, HistoryEvent::Started { .. });
        let begun = history
            .iter()
            .filter(|entry| is_start(entry.event()))
            .count();
        Ok((desk.done.clone(), begun))
    }
}

pub(crate) struct Process {
    runner: Runner<JobState>,
    pub(crate) jobs: Jobs,
}

impl Process {
    pub(crate) fn parts(self) -> (Runner<JobState>, Jobs) {
        (self.runner, self.jobs)
    }

    pub(crate) fn clockwork(&self) -> JobRunner<JobState> {
        let input = |_: &_, time| vec![Update::Wanted(time)];
        JobRunner::new(self.runner.clone(), self.jobs.clone(), input)
    }
}

/// The number of writes that a process has left.
struct Life {
    left: AtomicI64,
    after: bool,
}

impl Life {
    fn lives(&self) -> Result<(), StoreError> {
        if self.left.load(Ordering::SeqCst) > 0 {
            return Ok(());
        }
        Err(StoreError::new(StoreErrorKind::Unavailable, "ask"))
    }

    async fn write<T>(
        &self,
        write: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let before = self.left.fetch_sub(1, Ordering::SeqCst);
        if before > 1 {
            return write.await;
        }
        if before == 1 && self.after {
            write.await?;
        }
        self.lives()?;
        Err(StoreError::new(StoreErrorKind::Unavailable, "write"))
    }
}

impl Intercept for Life {
    async fn around<T: Send>(
        &self,
        asked: StoreCall<'_>,
        act: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        if matches!(asked, StoreCall::Append(..)) {
            return self.write(act).await;
        }
        self.lives()?;
        act.await
    }
}

struct Mortal(Arc<MemoryDocs>, Arc<Life>);

#[async_trait]
impl DocStore for Mortal {
    async fn get(&self, space: &Namespace, key: &DocKey) -> Result<Option<Doc>, StoreError> {
        self.1.lives()?;
        self.0.get(space, key).await
    }

    async fn write(&self, batch: Vec<DocWrite>) -> Result<Vec<Option<Version>>, StoreError> {
        self.1.write(self.0.write(batch)).await
    }

    async fn list(
        &self,
        space: &Namespace,
        filter: DocFilter,
    ) -> Result<Vec<DocEntry>, StoreError> {
        self.1.lives()?;
        self.0.list(space, filter).await
    }

    async fn remove(&self, space: &Namespace) -> Result<(), StoreError> {
        self.1.lives()?;
        self.0.remove(space).await
    }
}
