//! Defects of routing.
use std::sync::Arc;

use fugato_graph::{Context, END, Graph, RunErrorKind, RunResult, Runner, RunnerOptions};
use fugato_state::{State, ThreadId};
use fugato_store::MemoryLog;
use serde::{Deserialize, Serialize};

use super::bench::{Bench, Calls, Work, names};

#[tokio::test]
async fn d1_a_router_that_failed_runs_again_and_so_does_what_follows() {
    let mut bench = Bench::new();
    let calls = Calls::default();
    let graph = |broken: bool| {
        Graph::<Work>::starting_at("a")
            .node("a", calls.node("a"))
            .node("b", calls.node("b"))
            .branch(
                "a",
                ["b"],
                move |_| if broken { Err("typo") } else { Ok("b") },
            )
            .edge("b", END)
            .build()
            .unwrap()
    };
    let failed = bench
        .runner(&graph(true))
        .start(&bench.thread, ())
        .await
        .unwrap_err();
    assert_eq!(failed.kind, RunErrorKind::Router { node: "a".into() });
    bench.another_process();
    let ended = bench
        .runner(&graph(false))
        .retry(&bench.thread)
        .await
        .unwrap();
    assert_eq!(ended.state().done, names(&["a", "b"]));
    assert_eq!(calls.take(), names(&["a", "b"]));
}

#[tokio::test]
async fn d8_a_route_to_nowhere_is_no_success() {
    let bench = Bench::new();
    let calls = Calls::default();
    let built = Graph::<Work>::starting_at("a")
        .node("a", calls.node("a"))
        .edge("a", "bb")
        .build();
    let problem = "the graph cannot be built: the edge from \"a\" to \"bb\" mentions \"bb\", which is no node";
    assert_eq!(built.unwrap_err().to_string(), problem);
    let graph = Graph::<Work>::starting_at("a")
        .node("a", calls.node("a"))
        .branch("a", ["a", END], |_| "bb")
        .build()
        .unwrap();
    let failed = bench
        .runner(&graph)
        .start(&bench.thread, ())
        .await
        .unwrap_err();
    let text =
        "thread \"work\", after 0 steps: the branch of node a chose \"bb\"; it declares a, END";
    assert_eq!(failed.to_string(), text);
}

#[tokio::test]
async fn d9_a_converging_node_runs_once() {
    let bench = Bench::new();
    let calls = Calls::default();
    let both = Graph::<Work>::starting_at("a")
        .node("a", calls.node("a"))
        .node("b", calls.node("b"))
        .edge("a", "b")
        .edge("b", END)
        .branch("a", ["b", END], |_| END)
        .build();
    assert!(
        both.is_err(),
        "an edge and a branch from one node are not both taken"
    );
    let graph = Graph::<Work>::starting_at("open")
        .node("open", calls.node("open"))
        .node("a", calls.node("a"))
        .node("b", calls.node("b"))
        .node("meet", calls.node("meet"))
        .node("join", calls.node("join"))
        .edge("open", "a")
        .edge("open", "b")
        .edge("a", "meet")
        .edge("b", "meet")
        .join(["a", "b", "meet"], "join")
        .edge("join", END)
        .build()
        .unwrap();
    bench.runner(&graph).start(&bench.thread, ()).await.unwrap();
    let mut ran = calls.take();
    ran.sort();
    assert_eq!(ran, names(&["a", "b", "join", "meet", "open"]));
}

#[test]
fn d23_a_hundred_thousand_steps_need_no_stack() {
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let graph = Graph::<Count>::starting_at("a")
                .node("a", async |_: Context<Count>| 1)
                .branch(
                    "a",
                    ["a", END],
                    |count| if count.0 < 100_000 { "a" } else { END },
                )
                .build()
                .unwrap();
            let ended = Runner::ephemeral(graph.clone())
                .step_limit(u64::MAX)
                .run(())
                .await;
            assert_eq!(ended.unwrap().state().0, 100_000);
            let options = RunnerOptions::default().step_limit(u64::MAX);
            let runner = Runner::new(graph, Arc::new(MemoryLog::default())).options(options);
            let thread = ThreadId::new("long").unwrap();
            let RunResult::Finished { state, .. } = runner.start(&thread, ()).await.unwrap() else {
                panic!("nothing is asked");
            };
            assert_eq!(state.0, 100_000);
        });
    };
    std::thread::Builder::new()
        .stack_size(256 * 1024)
        .spawn(run)
        .unwrap()
        .join()
        .unwrap();
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Count(u32);

impl State for Count {
    type Update = u32;

    fn apply(&mut self, by: u32) {
        self.0 += by;
    }
}
