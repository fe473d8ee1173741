//! Threads that cannot go on: the graph has lost their nodes, or the log cannot have happened.
use std::{sync::Arc, time::Duration};

use fugato_graph::{Context, END, Graph, RunErrorKind, Runner};
use fugato_state::{State, ThreadId};
use fugato_store::{Commit, Expect, MemoryLog, Status, ThreadLog as _};
use serde::{Deserialize, Serialize};
use tokio::time::{sleep, timeout};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Steps(u32);

impl State for Steps {
    type Update = u32;

    fn apply(&mut self, steps: u32) {
        self.0 += steps;
    }
}

/// Returns a graph of a slow node and a second node of this name.
fn graph(second: &'static str) -> Graph<Steps> {
    let slow = async |_: Context<Steps>| {
        sleep(Duration::from_secs(1)).await;
        1
    };
    let graph = Graph::<Steps>::starting_at("slow")
        .node("slow", slow)
        .node(second, async |_: Context<Steps>| 1)
        .edge("slow", second)
        .edge(second, END);
    graph.build().expect("the wiring is sound")
}

#[tokio::test(start_paused = true)]
async fn k20_a_repeated_request_goes_on_with_no_run_whose_nodes_are_gone() {
    let log = Arc::new(MemoryLog::default());
    let thread = ThreadId::new("t").expect("the name keeps the rules");
    let old = Runner::on_log(graph("old"), log.clone());
    let run = old.start_keyed(&thread, "once", None).into_future();
    let leave = async {
        sleep(Duration::from_millis(500)).await;
        old.hand_over(Duration::from_secs(60)).await
    };
    let (left, _) = futures::join!(run, leave);
    let kind = left.map_err(|error| error.kind);
    assert!(matches!(kind, Err(RunErrorKind::HandedOver)), "{kind:?}");
    let new = Runner::on_log(graph("new"), log);
    let repeated = new.start_keyed(&thread, "once", None).into_future();
    let repeated = timeout(Duration::from_secs(60), repeated).await;
    let kind = repeated.expect("it ends").map_err(|error| error.kind);
    assert!(
        matches!(&kind, Err(RunErrorKind::GraphChanged { gone }) if gone.len() == 1),
        "{kind:?}"
    );
    let again = old.start_keyed(&thread, "once", None).await;
    assert_eq!(again.expect("it goes on").state(), &Steps(2));
}

/// A repeated step would open its tasks twice, and the run would wait for one of each for ever.
#[tokio::test(start_paused = true)]
async fn k20_a_log_that_opens_a_task_twice_is_refused() {
    let log = Arc::new(MemoryLog::default());
    let thread = ThreadId::new("t").expect("the name keeps the rules");
    let fork = Graph::<Steps>::starting_at("fork")
        .node("fork", async |_: Context<Steps>| 1)
        .node("left", async |_: Context<Steps>| 1)
        .pause(
            "right",
            |steps: &Steps| steps.0,
            |_: &Steps, more: u32| more,
        )
        .edge("fork", "left")
        .edge("fork", "right")
        .edge("left", END)
        .edge("right", END);
    let runner = Runner::on_log(fork.build().expect("the wiring is sound"), log.clone());
    let parked = runner.start(&thread, None).await;
    parked.expect("it waits for an answer");
    let records = log.read(&thread, 1, 10).await.expect("it is there");
    let opens = |text: &str| text.contains("stepped") && text.contains("fork#1");
    let stepped = records.iter().map(|(_, record)| record);
    let stepped = stepped.filter(|record| opens(&String::from_utf8_lossy(&record.0)));
    let commit = Commit {
        expect: Expect {
            head: records.len() as u64,
            fence: 1,
        },
        nonce: 1,
        records: stepped.cloned().collect(),
        status: Status::Runnable,
        base: None,
    };
    assert_eq!(commit.records.len(), 1);
    log.append(&thread, &commit).await.expect("nobody runs it");
    let recovered = timeout(Duration::from_secs(600), runner.recover(&thread)).await;
    let error = recovered.expect("it ends").expect_err("it cannot be");
    assert_eq!(error.kind, RunErrorKind::Format);
    let why = std::error::Error::source(&error).map(ToString::to_string);
    let told = "the log tells of task fork#1, which is not open";
    assert_eq!(why.as_deref(), Some(told));
}
