//! Scenarios of history, forks and amendments: K18.
use std::fmt::Write;

use expect_test::expect;
use fugato_graph::{Answers, RunnerOptions, ThreadStatus};

use super::{
    fixture::{Fixture, finished, line, parked, thread},
    script::{check, check_with, compare},
    world::{Stage, texts},
};
use crate::log::{CheckResult, LogFactory, holds, same};

const DESK: &str = "open -> ask works flaky -> last; ask: pause; flaky: fail until mended";

/// History returns each record with its position, time, run and scope; the state at each position
/// is that of the last checkpoint.
pub async fn k18_history_and_states_can_be_read(factory: &dyn LogFactory) -> CheckResult {
    let stage = Stage::of(Fixture::of(factory).await?, "");
    stage.broken.turn_off();
    let (desk, graph) = (&stage.desk, stage.wire(DESK)?.build()?);
    let runner = desk.runner(&graph);
    parked(runner.start(&desk.thread, line("in")).await)?;
    finished(runner.resume(&desk.thread, Answers::only(true)?).await)?;
    let history = runner.history(&desk.thread, 1, 100).await?;
    let positions: Vec<_> = history.iter().map(|entry| entry.seq).collect();
    same("positions", positions, (1..=desk.head().await?).collect())?;
    let ordered = history.is_sorted_by_key(|entry| entry.at);
    holds(ordered, || "times go backwards".into())?;
    let mut seen = String::new();
    for entry in &history {
        let lines = runner.state_at(&desk.thread, entry.seq).await?.lines.len();
        let point = if entry.is_checkpoint() {
            "checkpoint"
        } else {
            "between"
        };
        writeln!(seen, "{} {point}, {lines} lines", entry.seq).ok();
    }
    let page = runner.history(&desk.thread, 3, 2).await?;
    let page: Vec<_> = page.iter().map(|entry| entry.seq).collect();
    writeln!(seen, "two from 3 on: {page:?}").ok();
    let past = runner.state_at(&desk.thread, 99).await.err();
    writeln!(seen, "past the head: {:?}", past.map(|error| error.kind)).ok();
    compare(
        &expect![[r#"
            1 between, 0 lines
            2 checkpoint, 1 lines
            3 checkpoint, 2 lines
            4 between, 2 lines
            5 between, 2 lines
            6 between, 2 lines
            7 between, 2 lines
            8 between, 2 lines
            9 checkpoint, 5 lines
            10 checkpoint, 6 lines
            11 checkpoint, 6 lines
            two from 3 on: [3, 4]
            past the head: Some(Store(NotFound))
        "#]],
        &seen,
    )
}

/// A fork starts at a checkpoint and nowhere else, runs separately, and asks its questions again.
pub async fn k18_a_fork_begins_at_a_checkpoint(factory: &dyn LogFactory) -> CheckResult {
    let stage = Stage::of(Fixture::of(factory).await?, "");
    stage.broken.turn_off();
    let (desk, graph) = (&stage.desk, stage.wire(DESK)?.build()?);
    if desk.opened.admin.is_none() {
        return Ok(());
    }
    let runner = desk.runner(&graph);
    parked(runner.start(&desk.thread, line("in")).await)?;
    finished(runner.resume(&desk.thread, Answers::only(true)?).await)?;
    let head = desk.head().await?;
    for entry in runner.history(&desk.thread, 1, 100).await? {
        let copy = thread(&format!("copy {}", entry.seq));
        let forked = runner.fork(&desk.thread, entry.seq, &copy).await;
        same(&format!("{entry:?}"), forked.is_ok(), entry.is_checkpoint())?;
        if forked.is_err() {
            same("nothing", desk.log_head(&copy).await?, 0)?;
            continue;
        }
        let whole = texts(&["in", "open", "true", "works", "flaky", "last"]);
        if runner.status(&copy).await? == ThreadStatus::Unfinished {
            let ended = runner.recover(&copy).await?;
            if !ended.interrupts().is_empty() {
                finished(runner.resume(&copy, Answers::only(true)?).await)?;
            }
        }
        let page = runner.state(&copy).await?;
        same(
            "the fork's end",
            page.map(|page| page.lines.clone()),
            Some(whole),
        )?;
        let again = runner.fork(&desk.thread, entry.seq, &copy).await;
        holds(again.is_err(), || "a thread was forked over another".into())?;
    }
    same("the source", desk.head().await?, head)
}

/// An operator can change the state while the thread is parked, failed, cancelled or ended. The
/// change is a record like any other, with author and reason.
pub async fn k18_an_operator_amends_what_rests(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > amend x
        ! nothing in the thread can go on (NothingToDo; new)
        > start
        ? ask#1~1 "ok?" boolean
        [created, started -> ask#1, asked ask#1~1] waiting
        > amend one | two
        ? ask#1~1 "ok?" boolean
        + one | two
        [amended by Ada +one +two because by hand] waiting
        > answer true
        = + true
        [answered ask#1~1=true, stepped ask#1 +true, run_ended] idle
        > amend three
        = + three
        [amended by Ada +three because by hand] idle
        > start
        ? ask#2~2 "ok?" boolean
        [started -> ask#2, asked ask#2~2] waiting
        > cancel
        [cancelled by Ada dropped ask#2 because enough] idle
        > amend four
        = amended; + four
        [amended by Ada +four because by hand] idle
        > start
        ? ask#3~3 "ok?" boolean
        [started -> ask#3, asked ask#3~3] waiting
        > answer false
        = + false
        [answered ask#3~3=false, stepped ask#3 +false, run_ended] idle
    "#]];
    check(factory, "ask; ask: pause", expected).await
}

/// Nothing is amended while a run is under way, in this process or left behind by a crash.
pub async fn k18_nothing_is_amended_in_a_run(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > begin start
        > reached then amend x
        ! the thread is run by the first, whose lease lasts until <time> (Busy; unfinished)
        > die before 1 then open then end
        ! after 2 steps: the log failed (Store Other; unfinished)
        + a; ran a#1 b#1
        [created, started -> a#1, stepped a#1 -> b#1 +a]
        > another process then amend x
        ! the last run of the thread is unfinished (Unfinished; unfinished)
        > recover
        = + b; ran b#1 try 2
        [resumed b#1 try 2] [stepped b#1 try 2 +b, run_ended] idle
    "#]];
    check_with(
        factory,
        RunnerOptions::default().owner("the first"),
        "a -> b; b: door on try 1",
        expected,
    )
    .await
}

/// An operator can finish an open task: its updates are folded in its place, routes and joins are
/// followed, and its question is no longer open.
pub async fn k18_an_operator_finishes_an_open_task(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > in any order then mend then start
        ? ask#1~1 "ok?" boolean
        + open; ran flaky#1 open#1 works#1
        {created, started -> open#1, stepped open#1 -> ask#1 works#1 flaky#1 +open, asked ask#1~1,
         finished flaky#1 +flaky, finished works#1 +works} waiting
        > finish ask#2
        ! the thread has no open task "ask#2" (NoSuchTask; waiting)
        > another process then finish ask#1 by hand
        = + by hand | works | flaky | last; ran last#1
        {amended ask#1 by Ada +by hand because by hand,
         closed last<ask last<works last<flaky joined last -> last#1, stepped last#1 +last, run_ended} idle
        > answer ask#1~1=true
        ! no question is open (Answer NothingAsked; idle)
    "#]];
    check(factory, DESK, expected).await
}

/// An operator can finish a task that has failed for good. If another task failed too, the run
/// still reports it, and a retry runs only that one.
pub async fn k18_an_operator_finishes_a_failed_task(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > in any order then start
        ! one of several tasks failed (Node; failed)
        + open; ran one#1 open#1 two#1
        {created, started -> open#1, stepped open#1 -> one#1 two#1 +open, failed one#1 (boom),
         failed two#1 (boom), run_failed} idle
        > finish one#1 by hand
        ! after 1 steps: task two#1 failed: boom (Node; failed)
        {resumed, amended one#1 by Ada +by hand because by hand, run_failed} idle
        > mend then retry
        = + by hand | two | last; ran last#1 two#1
        {resumed two#1 try 1, finished two#1 +two, closed last<one last<two joined last -> last#1,
         stepped last#1 +last, run_ended} idle
        > fresh then start
        ! one of several tasks failed (Node; failed)
        + open; ran one#1 open#1 two#1
        {created, started -> open#1, stepped open#1 -> one#1 two#1 +open, failed one#1 (boom),
         failed two#1 (boom), run_failed} idle
        > finish two#1 by hand
        ! after 1 steps: task one#1 failed: boom (Node; failed)
        {resumed, amended two#1 by Ada +by hand because by hand, run_failed} idle
        > mend then retry
        = + one | by hand | last; ran last#1 one#1
        {resumed one#1 try 1, finished one#1 +one, closed last<one last<two joined last -> last#1,
         stepped last#1 +last, run_ended} idle
    "#]];
    check(
        factory,
        "open -> one two -> last; one: fail until mended; two: fail until mended",
        expected,
    )
    .await
}

/// The state of a failed run can be amended; the failed task still has to be retried.
pub async fn k18_a_failed_run_stays_failed(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start
        ! task flaky#1 failed: boom (Node; failed)
        ran flaky#1
        [created, started -> flaky#1, failed flaky#1 (boom), run_failed] idle
        > amend noted
        = amended; + noted
        [amended by Ada +noted because by hand] idle
        > mend then retry
        = + flaky; ran flaky#1
        [resumed flaky#1 try 1] [stepped flaky#1 +flaky, run_ended] idle
    "#]];
    check(factory, "flaky; flaky: fail until mended", expected).await
}
