//! A log that is down now and then.
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use fugato::{
    MemoryLog, Runner, RunnerOptions, StoreError, ThreadId,
    state::Seq,
    store::{Appended, Commit, Head, LeaseRequest, Leased, Record, StoreErrorKind, ThreadLog},
};
use transparent::{
    agent::Agent,
    graph::{budgets, graph},
};

use crate::common::Stage;

/// A log that does not answer while it is down.
#[derive(Clone)]
pub(crate) struct Flaky {
    log: Arc<MemoryLog>,
    pub(crate) down: Arc<AtomicBool>,
    left: Arc<AtomicI64>,
}

impl Flaky {
    /// The log of a stage, as a process of its own sees it.
    pub(crate) fn over(stage: &Stage) -> Self {
        Self {
            log: stage.log.clone(),
            down: Arc::default(),
            left: Arc::new(AtomicI64::new(i64::MAX)),
        }
    }

    /// Is down after so many appends.
    pub(crate) fn dies_after(&self, appends: i64) {
        self.left.store(appends, Ordering::SeqCst);
    }

    /// The agent of a stage on this log, whose archives follow.
    pub(crate) fn runner(&self, stage: &Stage) -> Runner<Agent> {
        let graph = graph(&stage.deps).expect("the wiring is checked");
        let options = RunnerOptions::default().lease(Duration::from_millis(300));
        let log = stage.archives.watching(self.clone());
        Runner::on_log(graph, Arc::new(log)).options(budgets(options))
    }

    fn up(&self) -> Result<(), StoreError> {
        if self.down.load(Ordering::SeqCst) {
            return Err(StoreError::new(StoreErrorKind::Unavailable, "ask"));
        }
        Ok(())
    }
}

#[async_trait]
impl ThreadLog for Flaky {
    async fn append(&self, thread: &ThreadId, commit: &Commit) -> Result<Appended, StoreError> {
        self.up()?;
        let done = self.log.append(thread, commit).await;
        if self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.down.store(true, Ordering::SeqCst);
        }
        done
    }

    async fn read(
        &self,
        thread: &ThreadId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, Record)>, StoreError> {
        self.up()?;
        self.log.read(thread, from, limit).await
    }

    async fn head(&self, thread: &ThreadId) -> Result<Option<Head>, StoreError> {
        self.log.head(thread).await
    }

    async fn lease(&self, request: LeaseRequest) -> Result<Leased, StoreError> {
        self.up()?;
        self.log.lease(request).await
    }
}
