//! Scenarios of requests with keys: K12.
use std::time::Duration;

use expect_test::expect;
use fugato_graph::{Context, END, Graph, RunResult, RunnerOptions};

use super::{
    fixture::{Calls, Fixture, Page},
    script::{BuildResult, check, check_with},
    world::{Stage, TestGate},
};
use crate::log::{CheckResult, Failure, LogFactory, same};

/// Builds a node that may fail, whose graph returns the number of lines.
fn counting(stage: &Stage) -> BuildResult {
    let graph = stage.wire("a; @fails a: fail until mended; @asks a: pause")?;
    graph.output(|page| page.lines.len()).build()
}

fn output(ended: RunResult<Page>) -> Result<serde_json::Value, Failure> {
    match ended {
        RunResult::Finished { output, .. } => Ok(output.unwrap_or_default()),
        other => Err(Failure::new(format!(
            "the run should have ended, not {other:?}"
        ))),
    }
}

/// Every repeat of a request gets the output of its run, even after other runs; nothing runs, and
/// nothing is written.
pub async fn k12_a_finished_request_is_told_again(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > request one one
        = 2; + one | a; ran a#1
        [created, started one -> a#1 +one, stepped a#1 +a, run_ended output=2] idle
        > request two two
        = 4; + two | a; ran a#2
        [started two -> a#2 +two, stepped a#2 +a, run_ended output=4] idle
        > start
        = 5; + a; ran a#3
        [started -> a#3, stepped a#3 +a, run_ended output=5] idle
        > another process then request one one
        = 2
        > request two two
        = 4
        > request one one
        = 2
        > start
        = 6; + a; ran a#4
        [started -> a#4, stepped a#4 +a, run_ended output=6] idle
    "#]];
    check(factory, counting, expected).await
}

/// Every repeat gets the failure of its run, or the end of that run after a retry.
pub async fn k12_a_failed_request_is_told_again(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > program fails then request one
        ! task a#1 failed: boom (Node; failed)
        ran a#1
        [created, started one -> a#1, failed a#1 (boom), run_failed] idle
        > request one
        ! the same request was made before, and failed: task a#1 failed: boom (FailedBefore; failed)
        > request one
        ! the same request was made before, and failed: task a#1 failed: boom (FailedBefore; failed)
        > mend then retry
        = 1; + a; ran a#1
        [resumed a#1 try 1] [stepped a#1 +a, run_ended output=1] idle
        > request one
        = 1
    "#]];
    check(factory, counting, expected).await
}

/// Every repeat gets the cancellation of its run.
pub async fn k12_a_cancelled_request_is_told_again(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > program asks then request one
        ? a#1~1 "ok?" boolean
        [created, started one -> a#1, asked a#1~1] waiting
        > cancel
        [cancelled by Ada dropped a#1 because enough] idle
        > request one
        ! the run was cancelled by Ada: enough (Cancelled; idle)
        > request one
        ! the run was cancelled by Ada: enough (Cancelled; idle)
    "#]];
    check(factory, counting, expected).await
}

/// A repeat of a run that waits gets its questions; after its end, its output.
pub async fn k12_a_parked_request_shows_its_questions(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > program asks then request one
        ? a#1~1 "ok?" boolean
        [created, started one -> a#1, asked a#1~1] waiting
        > another process then request one
        ? a#1~1 "ok?" boolean
        > answer true
        = 1; + true
        [answered a#1~1=true, stepped a#1 +true, run_ended output=1] idle
        > request one
        = 1
    "#]];
    check(factory, counting, expected).await
}

/// A repeat of a run that is under way, in this or another process, waits for its end, and starts
/// nothing; so does one of several that are sent at once.
pub async fn k12_a_repeat_attaches_to_an_open_run(factory: &dyn LogFactory) -> CheckResult {
    for at_once in [false, true] {
        repeated(&Fixture::of(factory).await?, at_once).await?;
    }
    Ok(())
}

async fn repeated(desk: &Fixture, at_once: bool) -> CheckResult {
    let (calls, door) = <(Calls, TestGate)>::default();
    let (notes, waits) = (calls.clone(), door.node("a"));
    let graph = Graph::<Page>::starting_at("a")
        .node("a", move |cx: Context<Page>| {
            notes.note(cx.task());
            waits(cx)
        })
        .edge("a", END)
        .output(|page| page.lines.clone())
        .build()?;
    let first = desk.runner(&graph);
    let one = first.start_keyed(&desk.thread, "one", ());
    if !at_once {
        door.reached().await;
    }
    let elsewhere = desk.runner(&graph);
    let repeats = [
        first.start_keyed(&desk.thread, "one", ()),
        elsewhere.start_keyed(&desk.thread, "one", ()),
    ];
    door.open();
    let expected = serde_json::json!(["a"]);
    same("the output", output(one.await?)?, expected.clone())?;
    for repeat in repeats {
        same(
            "the output of a repeat",
            output(repeat.await?)?,
            expected.clone(),
        )?;
    }
    calls.ran(&["a#1"])
}

/// A repeat of a run that a crash left unfinished continues it.
pub async fn k12_a_repeat_goes_on_after_a_crash(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > die before 2 then request one in
        ! after 2 steps: the log failed (Store Other; unfinished)
        + in | a; ran a#1 b#1
        [created, started one -> a#1 +in, stepped a#1 -> b#1 +a]
        > another process then request one in
        = ["in","a","b"]; + b; ran b#1 try 2
        [resumed b#1 try 2] [stepped b#1 try 2 +b, run_ended output=["in","a","b"]] idle
    "#]];
    let graph = |stage: &Stage| {
        stage
            .wire("a -> b")?
            .output(|page| page.lines.clone())
            .build()
    };
    check(factory, graph, expected).await
}

/// The same key with another input is refused, and changes nothing.
pub async fn k12_another_input_is_refused(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > request one in
        = 2; + in | a; ran a#1
        [created, started one -> a#1 +in, stepped a#1 +a, run_ended output=2] idle
        > request one other
        ! the request "one" was made before with another input (RequestChanged; idle)
        > request two other
        = 4; + other | a; ran a#2
        [started two -> a#2 +other, stepped a#2 +a, run_ended output=4] idle
    "#]];
    check(factory, counting, expected).await
}

/// Keys outlive the records that began their runs.
pub async fn k12_keys_survive_compaction(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > request one in
        = 2; + in | a; ran a#1
        [created, started one -> a#1 +in, stepped a#1 +a, run_ended output=2] idle
        > start
        = 3; + a; ran a#2
        [started -> a#2, stepped a#2 +a, run_ended output=3] idle
        > compact 7
        = at 7
        > another process then request one in
        = 2
        > request one x
        ! the request "one" was made before with another input (RequestChanged; idle)
    "#]];
    check(factory, counting, expected).await
}

/// Keys expire at a given age, by the clock of the store.
pub async fn k12_keys_expire_by_age(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > request one
        = 1; + a; ran a#1
        [created, started one -> a#1, stepped a#1 +a, run_ended output=1] idle
        > wait 99000 then request one
        = 1
        > wait 900 then request one
        = 1
        > wait 200 then request one
        = 2; + a; ran a#2
        [started one -> a#2, stepped a#2 +a, run_ended output=2] idle
    "#]];
    check_with(
        factory,
        RunnerOptions::default().key_age(Duration::from_secs(100)),
        counting,
        expected,
    )
    .await
}
