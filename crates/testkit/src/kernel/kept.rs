//! Scenarios of finished tasks, which stay finished: K4.
use std::sync::Arc;

use expect_test::expect;
use fugato_graph::{BoxError, Context, END, Graph, Node, Outcome, RunnerOptions};
use futures::future::BoxFuture;
use tokio::sync::Notify;

use super::{
    fixture::{Change, Page, line},
    script::{check, check_with},
    world::{NamedNodesExt, Stage, WiringExt},
};
use crate::log::{CheckResult, LogFactory};

const FORK: &str = "open -> a b c -> last; c: fail until mended";

/// A failure re-runs no finished sibling, and a retry runs only the failed tasks.
pub async fn k4_d14_retry_runs_only_what_failed(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > in any order then start
        ! after 1 steps: task c#1 failed: boom (Node; failed)
        + open; ran a#1 b#1 c#1 open#1
        {created, started -> open#1, stepped open#1 -> a#1 b#1 c#1 +open, failed c#1 (boom), finished a#1 +a,
         finished b#1 +b, run_failed} idle
        > retry
        ! after 1 steps: task c#1 failed: boom (Node; failed)
        ran c#1
        {resumed c#1 try 1, failed c#1 (boom), run_failed} idle
        > mend then another process then retry
        = + a | b | c | last; ran c#1 last#1
        {resumed c#1 try 1, finished c#1 +c, closed last<a last<b last<c joined last -> last#1,
         stepped last#1 +last, run_ended} idle
    "#]];
    check(factory, FORK, expected).await
}

/// On a final failure siblings finish, then the run fails.
pub async fn k4_siblings_finish_before_the_run_fails(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > in any order then start
        ! after 1 steps: task fails#1 failed: boom (Node; failed)
        {created, started -> open#1, stepped open#1 -> slow#1 fails#1, failed fails#1 (boom),
         finished slow#1 +slow, run_failed} idle
    "#]];
    let graph = |_: &Stage| {
        let failed = Arc::new(Notify::new());
        let (fails, waits) = (failed.clone(), failed);
        let slow = move |_: Context<Page>| {
            let waits = waits.clone();
            async move {
                waits.notified().await;
                line("slow")
            }
        };
        let failing = move |_: Context<Page>| {
            fails.notify_one();
            async move { Err::<(), BoxError>("boom".into()) }
        };
        Graph::<Page>::starting_at("open")
            .node("open", async |_: Context<Page>| ())
            .node("slow", slow)
            .node("fails", failing)
            .way(&["open", "slow", END])
            .way(&["open", "fails", END])
            .build()
    };
    check(factory, graph, expected).await
}

/// A question of one task re-runs no sibling that finished, now or when it is answered.
pub async fn k4_a_question_keeps_finished_siblings(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start
        ? ask#1~1 "ok?" boolean
        + open; ran a#1 open#1
        [created, started -> open#1, stepped open#1 -> a#1 ask#1 +open, asked ask#1~1]
        [finished a#1 +a] waiting
        > another process then answer true
        = + a | true | last; ran last#1
        [answered ask#1~1=true, finished ask#1 +true, closed last<a last<ask joined last -> last#1]
        [stepped last#1 +last, run_ended] idle
    "#]];
    check(factory, "open -> a ask -> last; ask: pause", expected).await
}

/// A crash re-runs no finished sibling. A task that had started has one more attempt, which is
/// stored before it runs again. A failure before the crash is still the failure of the run.
pub async fn k4_a_crash_keeps_finished_siblings(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > in any order then begin start then written 5 then die before 1 then open then end
        ! after 1 steps: the log failed (Store Other; unfinished)
        + open; ran a#1 b#1 c#1 open#1
        {created, started -> open#1, stepped open#1 -> a#1 b#1 c#1 +open, failed c#1 (boom), finished b#1 +b}
        > another process then recover
        ! after 1 steps: task c#1 failed: boom (Node; failed)
        ran a#1 try 2
        {resumed a#1 try 2, finished a#1 try 2 +a, run_failed} idle
    "#]];
    check(
        factory,
        "open -> a b c; a: door on try 1; c: fail until mended",
        expected,
    )
    .await
}

/// A task that keeps killing the process reaches a limit with an error of its own; an operator can
/// still retry it.
pub async fn k4_the_crash_limit_has_its_own_error(factory: &dyn LogFactory) -> CheckResult {
    // The step of a is stored, and the process dies in b, before the outcome of b is stored.
    let expected = expect![[r#"
        > die before 2 then start
        ! after 2 steps: the log failed (Store Other; unfinished)
        + a; ran a#1 b#1
        [created, started -> a#1, stepped a#1 -> b#1 +a]
        > another process then die before 2 then recover
        ! after 2 steps: the log failed (Store Other; unfinished)
        ran b#1 try 2
        [resumed b#1 try 2]
        > another process then die before 2 then recover
        ! after 2 steps: the log failed (Store Other; unfinished)
        ran b#1 try 3
        [resumed b#1 try 3]
        > another process then recover
        ! after 1 steps: task b#1 was begun 3 times and never came to an end (CrashLimit; failed)
        [resumed b#1 try 4, run_failed] idle
        > retry
        = + b; ran b#1
        [resumed b#1 try 1] [stepped b#1 +b, run_ended] idle
    "#]];
    let options = RunnerOptions::default().crash_limit(3);
    check_with(factory, options, "a -> b", expected).await
}

/// A failed run leaves nothing behind for the next one.
pub async fn k4_a_new_run_forgets_the_failed_one(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > in any order then start
        ! after 1 steps: task c#1 failed: boom (Node; failed)
        + open; ran a#1 b#1 c#1 open#1
        {created, started -> open#1, stepped open#1 -> a#1 b#1 c#1 +open, failed c#1 (boom), finished a#1 +a,
         finished b#1 +b, run_failed} idle
        > mend then start
        = + open | a | b | c | last; ran a#2 b#2 c#2 last#1 open#2
        {started -> open#2, stepped open#2 -> a#2 b#2 c#2 +open, finished a#2 +a, finished b#2 +b,
         finished c#2 +c, closed last<a last<b last<c joined last -> last#1, stepped last#1 +last, run_ended} idle
    "#]];
    check(factory, FORK, expected).await
}

/// A panic is a failure like any other, in the call of a node and in its future.
pub async fn k4_a_panic_is_a_failure(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > in any order then start
        ! one of several tasks failed (Panicked; failed)
        ran good#1
        {created, started -> open#1, stepped open#1 -> early#1 late#1 good#1,
         failed early#1 (task early#1 panicked: panicked: early panics),
         failed late#1 (task late#1 panicked: panicked: late panics), finished good#1 +good, run_failed} idle
    "#]];
    let late = async |cx: Context<Page>| {
        tokio::task::yield_now().await;
        if cx.attempt() == 1 {
            std::panic::panic_any("late panics");
        }
    };
    let graph = |stage: &Stage| {
        Graph::<Page>::starting_at("open")
            .node("open", async |_: Context<Page>| ())
            .node("early", Early)
            .node("late", late)
            .says(&stage.calls, &["good"])
            .way(&["open", "early", END])
            .way(&["open", "late", END])
            .way(&["open", "good", END])
            .build()
    };
    check(factory, graph, expected).await
}

struct Early;

impl Node<Page> for Early {
    fn run<'a, 'b>(&'a self, cx: Context<Page>) -> BoxFuture<'b, Result<Outcome<Change>, BoxError>>
    where
        'a: 'b,
        Self: 'b,
    {
        if cx.attempt() == 1 {
            std::panic::panic_any("early panics");
        }
        Box::pin(async { Ok(Outcome::done([])) })
    }
}
