//! A log that is down at times.
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    time::Duration,
};

use fugato::{Runner, RunnerOptions, StoreError, store::StoreErrorKind};
use fugato_testkit::log::{Intercept, InterceptedLog, StoreCall};
use transparent::{
    agent::AgentState,
    graph::{budgets, graph},
};

use crate::common::Stage;

/// An interceptor that fails all requests to the log while it is down.
pub(crate) struct Flaky {
    pub(crate) down: AtomicBool,
    left: AtomicI64,
}

impl Flaky {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            down: AtomicBool::new(false),
            left: AtomicI64::new(i64::MAX),
        })
    }

    /// Goes down after this many appends.
    pub(crate) fn dies_after(&self, appends: i64) {
        self.left.store(appends, Ordering::SeqCst);
    }

    /// Returns the agent of a stage as its own process, over this flaky log and with its archives.
    pub(crate) fn runner(self: &Arc<Self>, stage: &Stage) -> Runner<AgentState> {
        let graph = graph(&stage.deps).expect("the wiring is checked");
        let options = RunnerOptions::default().lease(Duration::from_millis(300));
        let log = InterceptedLog::new(stage.log.clone(), Arc::clone(self));
        let log = stage.archives.watching(log);
        Runner::on_log(graph, Arc::new(log)).options(budgets(options))
    }
}

impl Intercept for Flaky {
    async fn around<T: Send>(
        &self,
        asked: StoreCall<'_>,
        act: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        if self.down.load(Ordering::SeqCst) && !matches!(asked, StoreCall::Head) {
            return Err(StoreError::new(StoreErrorKind::Unavailable, "ask"));
        }
        let done = act.await;
        if matches!(asked, StoreCall::Append(..)) && self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.down.store(true, Ordering::SeqCst);
        }
        done
    }
}
