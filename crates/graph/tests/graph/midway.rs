//! A snapshot has nothing that the log does not have yet.
use std::{sync::Arc, time::Duration};

use fugato_graph::{Answers, BoxError, Context, END, Graph, RunResult, Runner, SubgraphInput};
use fugato_state::{EffectClass, State, ThreadId};
use fugato_store::{MemoryLog, Snapshots as _};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Lines(Vec<String>);

impl State for Lines {
    type Update = String;

    fn apply(&mut self, line: String) {
        self.0.push(line);
    }
}

/// More than half of the bytes of a log that are worth a snapshot, in a record.
const MUCH: usize = 600_000;

/// A subgraph whose only task ends together with one that left its action running, the receipt of which
/// is stored first, and is large.
fn graph(begun: &Arc<Notify>) -> Graph<Lines> {
    let (acts, waits) = (begun.clone(), begun.clone());
    let adds = move |_: Context<Lines>| {
        let waits = waits.clone();
        async move {
            waits.notified().await;
            "added".to_owned()
        }
    };
    let inner = Graph::<Lines>::starting_at("add")
        .node("add", adds)
        .pause(
            "ask",
            |_: &Lines| "go on?",
            |_: &Lines, _: bool| "answered".to_owned(),
        )
        .edge("add", "ask")
        .edge("ask", END);
    let act = move |cx: Context<Lines>| {
        let begun = acts.clone();
        async move {
            let said = begun.clone();
            let sends = move |_| async move {
                said.notify_waiters();
                tokio::time::sleep(Duration::from_millis(5)).await;
                Ok::<_, BoxError>("x".repeat(MUCH))
            };
            let sent = cx.effect("mail", EffectClass::Once, &(), sends);
            tokio::select! {
                biased;
                // The other task comes first.
                () = async { begun.notified().await; acts_last().await } => {}
                sent = sent => drop(sent?),
            }
            Ok::<_, BoxError>("sent".to_owned())
        }
    };
    Graph::<Lines>::starting_at("begin")
        .node("begin", async |_: Context<Lines>| "x".repeat(MUCH))
        .subgraph(
            "sub",
            &inner.build().expect("the graph is sound"),
            |_: SubgraphInput<'_, Lines>| Ok::<_, BoxError>(Lines::default()),
            |_: &Lines, inner: &Lines| inner.0.clone(),
        )
        .node("act", act)
        .edge("begin", "sub")
        .edge("begin", "act")
        .edge("act", END)
        .edge("sub", END)
        .build()
        .expect("the graph is sound")
}

/// Is ready when it is polled once more, behind the tasks that are ready now.
async fn acts_last() {
    let mut waited = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut waited, true) {
            return std::task::Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}

#[tokio::test]
async fn k16_a_snapshot_has_nothing_that_is_not_in_the_log() {
    let (log, begun) = (Arc::new(MemoryLog::default()), Arc::new(Notify::new()));
    let thread = ThreadId::new("t").expect("the name keeps the rules");
    let asked = Runner::new(graph(&begun), log.clone())
        .start(&thread, None)
        .await;
    assert_eq!(asked.expect("it asks").interrupts().len(), 1);
    // It is written beside the run.
    tokio::task::yield_now().await;
    let snapshot = log.latest_at(&thread, u64::MAX).await.expect("it is read");
    assert!(snapshot.is_some(), "the log was not long enough");
    let again = Runner::new(graph(&begun), log);
    let ended = again
        .resume(&thread, Answers::only(true).expect("JSON"))
        .await;
    let RunResult::Finished { state, .. } = ended.expect("it goes on") else {
        panic!("it is over");
    };
    assert_eq!(
        state.0.get(1..).unwrap_or_default(),
        ["added", "answered", "sent"]
    );
}
