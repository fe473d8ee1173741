//! Readers that subscribe during an append.
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use fugato_graph::{Context, END, Graph, Runner};
use fugato_state::{Seq, State, ThreadId};
use fugato_store::{MemoryLog, StoreError};
use fugato_testkit::log::{Intercept, InterceptedLog, StoreCall};
use futures::StreamExt as _;
use tokio::sync::Notify;

#[derive(Clone, Default, serde::Serialize, serde::Deserialize)]
struct Steps(u32);

impl State for Steps {
    type Update = u32;

    fn apply(&mut self, steps: u32) {
        self.0 += steps;
    }
}

/// A store whose second append waits for a notification.
#[derive(Default)]
struct Slow {
    appends: AtomicU32,
    entered: Notify,
    leave: Notify,
}

impl Intercept for Slow {
    async fn around<T: Send>(
        &self,
        asked: StoreCall<'_>,
        act: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        if matches!(asked, StoreCall::Append(..))
            && self.appends.fetch_add(1, Ordering::Relaxed) == 1
        {
            self.entered.notify_one();
            self.leave.notified().await;
        }
        act.await
    }
}

#[tokio::test]
async fn k22_who_comes_while_it_is_stored_misses_nothing() {
    let graph = Graph::<Steps>::starting_at("a")
        .node("a", async |_: Context<Steps>| 1)
        .node("b", async |_: Context<Steps>| 1)
        .node("c", async |_: Context<Steps>| 1)
        .edge("a", "b")
        .edge("b", "c")
        .edge("c", END)
        .build()
        .expect("the wiring is sound");
    let slow = Arc::new(Slow::default());
    let log = InterceptedLog::new(MemoryLog::default(), slow.clone());
    let runner = Runner::on_log(graph, Arc::new(log));
    let thread = ThreadId::new("t").expect("the name keeps the rules");
    drop(runner.start(&thread, ()));
    slow.entered.notified().await;
    let readers = [runner.events(&thread, 0), runner.follow(&thread, 0)];
    let mut seen = vec![];
    for mut reader in readers {
        // The log is read now, while the second step is on its way into it.
        let first = reader.next().await.expect("the run began");
        seen.push((reader, vec![first.seq.expect("it is durable")]));
    }
    slow.leave.notify_one();
    let end = log_head(&runner, &thread).await;
    for (mut reader, mut seqs) in seen {
        while seqs.last() < Some(&end) {
            let event = reader.next().await.expect("the run goes on");
            seqs.extend(event.seq);
        }
        seqs.dedup();
        let all: Vec<Seq> = (2..=end).collect();
        assert_eq!(seqs, all);
    }
}

/// Returns the last position, once the run has ended.
async fn log_head(runner: &Runner<Steps>, thread: &ThreadId) -> Seq {
    while runner.is_live(thread) {
        tokio::task::yield_now().await;
    }
    let head = runner.log().head(thread).await.expect("a readable log");
    head.expect("it is there").seq
}
