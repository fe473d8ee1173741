//! A graph that no longer has what an unfinished run refers to.
use std::{sync::Arc, time::Duration};

use fugato_graph::{Context, END, Graph, RunErrorKind, Runner};
use fugato_state::{State, ThreadId};
use fugato_store::MemoryLog;
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

/// A slow node, and one behind it of this name.
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
