//! The lease of a run outlives what the run has under way, however late a renewal arrives.
use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use fugato_graph::{BoxError, Context, END, Effect, Graph, Runner, RunnerOptions};
use fugato_state::{Millis, Seq, State, ThreadId};
use fugato_store::{
    Appended, Commit, Head, LeaseRequest, Leased, MemoryLog, Record, StoreError, StoreErrorKind,
    ThreadLog,
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Left(Millis);

impl State for Left {
    type Update = Millis;

    fn apply(&mut self, left: Millis) {
        self.0 = left;
    }
}

const NOW: Millis = 2_000_000_000_000;
const SHORT: Millis = 30;
/// How long a renewal for the usual time is on its way.
const LATE: Duration = Duration::from_millis(200);

/// A log to which renewals for the usual time come late.
#[derive(Clone)]
struct Late(Arc<MemoryLog>);

#[async_trait]
impl ThreadLog for Late {
    async fn append(&self, thread: &ThreadId, commit: &Commit) -> Result<Appended, StoreError> {
        self.0.append(thread, commit).await
    }

    async fn read(
        &self,
        thread: &ThreadId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, Record)>, StoreError> {
        self.0.read(thread, from, limit).await
    }

    async fn head(&self, thread: &ThreadId) -> Result<Option<Head>, StoreError> {
        self.0.head(thread).await
    }

    async fn lease(&self, request: LeaseRequest) -> Result<Leased, StoreError> {
        if matches!(request, LeaseRequest::Renew { ttl: SHORT, .. }) {
            tokio::time::sleep(LATE).await;
        }
        self.0.lease(request).await
    }
}

/// How much of its lease the run has when a renewal has arrived that was sent before, and no later
/// one has yet.
async fn left(log: &MemoryLog, thread: ThreadId) -> Result<Millis, BoxError> {
    tokio::time::sleep(LATE).await;
    let owner = "somebody else".to_owned();
    let ttl = 1_000;
    let wanted = LeaseRequest::Acquire { thread, owner, ttl };
    match log.lease(wanted).await.map_err(|error| error.kind) {
        Err(StoreErrorKind::Busy { until, .. }) => Ok(until - NOW),
        other => Err(format!("the thread should be held, not {other:?}").into()),
    }
}

#[tokio::test(start_paused = true)]
async fn k10_a_late_renewal_does_not_shorten_the_lease_of_an_action() {
    // The store's clock stands still, so that nothing runs out: only what was granted counts.
    let log = Arc::new(MemoryLog::with_clock(|| NOW));
    let held = log.clone();
    let act = move |cx: Context<Left>| {
        let held = held.clone();
        async move {
            // By now the keeper's renewal is on its way.
            tokio::time::sleep(Duration::from_millis(15)).await;
            let thread = cx.thread().clone();
            let look = move |_| async move { left(&held, thread).await };
            let minute = Effect::once().timeout(Duration::from_secs(60));
            cx.effect("look", minute, &(), look).await
        }
    };
    let graph = Graph::<Left>::starting_at("act")
        .node("act", act)
        .edge("act", END)
        .build()
        .expect("the wiring is sound");
    let options = RunnerOptions::default().lease(Duration::from_millis(30));
    let runner = Runner::on_log(graph, Arc::new(Late(log))).options(options);
    let thread = ThreadId::new("t").expect("the name keeps the rules");
    let ended = runner.start(&thread, None).await.expect("it ends well");
    assert!(ended.state().0 >= 59_000, "{} ms are left", ended.state().0);
}
