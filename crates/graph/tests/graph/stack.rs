//! Loops need no stack: a run of many steps on a small one.
use std::{sync::Arc, thread};

use fugato_graph::{Context, END, Graph, Runner, RunnerOptions};
use fugato_state::{State, ThreadId};
use fugato_store::MemoryLog;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Count(u32);

impl State for Count {
    type Update = u32;

    fn apply(&mut self, by: u32) {
        self.0 += by;
    }
}

async fn long() {
    const STEPS: u32 = 100_000;
    let graph = Graph::<Count>::starting_at("a")
        .node("a", async |_: Context<Count>| 1)
        .branch(
            "a",
            ["a", END],
            |count| if count.0 < STEPS { "a" } else { END },
        )
        .build()
        .expect("the wiring is sound");
    let ephemeral = Runner::ephemeral(graph.clone()).step_limit(u64::MAX);
    let ended = ephemeral.run(()).await.expect("it ends");
    assert_eq!(ended.state().0, STEPS);
    let options = RunnerOptions::default().step_limit(u64::MAX);
    let runner = Runner::new(graph, Arc::new(MemoryLog::default())).options(options);
    let thread = ThreadId::new("long").expect("the name keeps the rules");
    let ended = runner.start(&thread, ()).await.expect("it ends");
    assert_eq!(ended.state().0, STEPS);
}

#[test]
fn d23_a_hundred_thousand_steps_need_no_stack() {
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime").block_on(long());
    };
    let small = thread::Builder::new().stack_size(256 * 1024).spawn(run);
    small.expect("a thread").join().expect("it ends well");
}
