//! A thread whose process is killed.
use std::{path::Path, sync::Arc};

use fugato_graph::{BoxError, Context, END, Graph, Runner, RunnerOptions};
use fugato_sqlite::SqliteLog;
use fugato_state::ThreadId;

use crate::{subject::Talk, survivor};

/// Goes on with the thread in a file until it has so many durable steps, says so, and waits to be
/// killed.
pub fn survive(file: &Path, steps: u64) -> Result<(), BoxError> {
    let runtime = crate::measure::runtime()?;
    let is_new = !file.exists();
    let log = Arc::new(SqliteLog::open(file)?);
    let options = RunnerOptions::default()
        .step_limit(u64::MAX)
        .lease(survivor::LEASE);
    let runner = Runner::new(graph(steps)?, log).options(options);
    let thread = ThreadId::new("thread-1")?;
    runtime.block_on(async {
        if is_new {
            runner.start(&thread, None).await
        } else {
            runner.recover(&thread).await
        }
    })?;
    Ok(())
}

/// A node begins when all steps before it are durable.
fn graph(steps: u64) -> Result<Graph<Talk>, BoxError> {
    let speak = move |cx: Context<Talk>| async move {
        if cx.state().messages.len() as u64 >= steps {
            survivor::tell()?;
            survivor::wait()?;
        }
        Ok::<_, BoxError>(Talk::agent_says())
    };
    let graph = Graph::<Talk>::starting_at("speak")
        .node("speak", speak)
        .branch("speak", ["speak", END], |_| "speak");
    Ok(graph.build()?)
}
