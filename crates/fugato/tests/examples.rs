//! The small examples run, and what they assert holds.
#[path = "../examples/approval.rs"]
mod approval;
#[path = "../examples/chat.rs"]
mod chat;
#[cfg(feature = "sqlite")]
#[path = "../examples/crash.rs"]
mod crash;
#[path = "../examples/effect.rs"]
mod effect;
#[path = "../examples/fallback.rs"]
mod fallback;
#[path = "../examples/fork.rs"]
mod fork;
#[cfg(feature = "cron")]
#[path = "../examples/job.rs"]
mod job;
#[path = "../examples/phases.rs"]
mod phases;
#[path = "../examples/search.rs"]
mod search;
#[path = "../examples/stream.rs"]
mod stream;
#[path = "../examples/subgraph.rs"]
mod subgraph;
#[path = "../examples/tool.rs"]
mod tool;
#[path = "../examples/workers.rs"]
mod workers;

type TestResult = Result<(), fugato::Report>;

#[test]
fn approval_runs() -> TestResult {
    approval::main()
}

#[test]
fn chat_runs() -> TestResult {
    chat::main()
}

#[cfg(feature = "sqlite")]
#[test]
fn crash_runs() -> TestResult {
    crash::main()
}

#[test]
fn effect_runs() -> TestResult {
    effect::main()
}

#[test]
fn fallback_runs() -> TestResult {
    fallback::main()
}

#[test]
fn fork_runs() -> TestResult {
    fork::main()
}

#[cfg(feature = "cron")]
#[test]
fn job_runs() -> TestResult {
    job::main()
}

#[test]
fn phases_runs() -> Result<(), fugato::BoxError> {
    phases::main()
}

#[test]
fn search_runs() -> TestResult {
    search::main()
}

#[test]
fn stream_runs() -> TestResult {
    stream::main()
}

#[test]
fn subgraph_runs() -> TestResult {
    subgraph::main()
}

#[test]
fn tool_runs() -> TestResult {
    tool::main()
}

#[test]
fn workers_runs() -> TestResult {
    workers::main()
}
