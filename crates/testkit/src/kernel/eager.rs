//! Scenarios of the eager schedule, in which branches wait only at joins.
use expect_test::expect;
use fugato_graph::{BoxError, Context, END, Graph, RunErrorKind, Runner, RunnerOptions, Schedule};

use super::{
    AppendFault,
    fixture::{Calls, Change, FailingNode, Fixture, Page, Switch, fails, finished, line},
    script::{check, check_with},
    world::{NamedNodesExt, Stage, WiringExt, texts},
};
use crate::log::{CheckResult, LogFactory, same};

fn options() -> RunnerOptions {
    RunnerOptions::default().schedule(Schedule::Eager)
}

fn eager(desk: &Fixture, graph: &Graph<Page>) -> Runner<Page> {
    desk.runner_with(graph, options())
}

/// A slow node beside a chain of three, which meet.
const BRANCHES: &str = "open -> slow one; one -> two -> three; slow three -> last; slow: door";

/// A fast branch runs to its end while a slow one is under way, and a join waits for both. Replay
/// returns the order in which the tasks ended.
pub async fn eager_d35_branches_do_not_wait_for_each_other(
    factory: &dyn LogFactory,
) -> CheckResult {
    let expected = expect![[r#"
        > begin start
        > written 6 then open then end
        = + open | one | two | three | slow | last; ran last#1 one#1 open#1 slow#1 three#1 two#1
        [created, started -> open#1, stepped open#1 -> slow#1 one#1 +open] [stepped one#1 -> two#1 +one]
        [stepped two#1 -> three#1 +two] [stepped three#1 last<three +three]
        [stepped slow#1 last<slow joined last -> last#1 +slow] [stepped last#1 +last, run_ended] idle
    "#]];
    check_with(factory, options(), BRANCHES, expected).await
}

/// In lockstep the same fast branch waits at every step.
pub async fn eager_is_a_choice(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > begin start
        > written 4 then open then end
        = + open | slow | one | two | three | last; ran last#1 one#1 open#1 slow#1 three#1 two#1
        [created, started -> open#1, stepped open#1 -> slow#1 one#1 +open] [finished one#1 +one]
        [finished slow#1 +slow, closed last<slow -> two#1] [stepped two#1 -> three#1 +two]
        [stepped three#1 last<three joined last -> last#1 +three] [stepped last#1 +last, run_ended] idle
    "#]];
    check(factory, BRANCHES, expected).await
}

/// The node after a scatter waits for all of its tasks.
pub async fn eager_scatters_are_barriers(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let calls = Calls::default();
    let graph = Graph::<Page>::starting_at("plan")
        .says(&calls, &["plan"])
        .node("worker", async |cx: Context<Page>| {
            let n: u64 = cx.item()?;
            for _ in 0..n * 20 {
                tokio::task::yield_now().await;
            }
            Ok::<_, BoxError>(Change::Count(1))
        })
        .node("collect", async |cx: Context<Page>| {
            line(cx.state().count.to_string())
        })
        .scatter("plan", "worker", |_| 0..5_u64)
        .way(&["worker", "collect", END])
        .build()?;
    finished(eager(&desk, &graph).start(&desk.thread, ()).await)?.said(&["plan", "5"])
}

/// A question of one branch stops no other; the thread parks when nothing else can run.
pub async fn eager_questions_stop_no_other_branch(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start
        ? ask#1~1 "ok?" boolean
        ? sure#1~2 "ok?" boolean
        + open | one; ran one#1 open#1
        [created, started -> open#1, stepped open#1 -> ask#1 one#1 +open, asked ask#1~1]
        [stepped one#1 -> sure#1 +one, asked sure#1~2] waiting
        > another process then answer sure#1~2=true
        ? ask#1~1 "ok?" boolean
        + true | two; ran two#1
        [answered sure#1~2=true, stepped sure#1 -> two#1 +true] [stepped two#1 last<two +two] waiting
        > answer false
        = + false | last; ran last#1
        [answered ask#1~1=false, stepped ask#1 last<ask joined last -> last#1 +false]
        [stepped last#1 +last, run_ended] idle
    "#]];
    check_with(
        factory,
        options(),
        "open -> ask one; one -> sure -> two; ask two -> last; ask: pause; sure: pause",
        expected,
    )
    .await
}

/// After a failure, running tasks finish and no new one starts; a retry runs the failed tasks and
/// those that had not started.
pub async fn eager_failures_keep_what_was_finished(factory: &dyn LogFactory) -> CheckResult {
    let mut desk = Fixture::of(factory).await?;
    let (calls, broken) = (Calls::default(), Switch::on());
    let graph = Graph::<Page>::starting_at("open")
        .says(&calls, &["open", "one", "two"])
        .node("flaky", FailingNode("flaky", calls.clone(), broken.clone()))
        .way(&["open", "flaky", END])
        .way(&["open", "one", "two", END])
        .build()?;
    let task = "flaky#1".to_owned();
    fails(
        eager(&desk, &graph).start(&desk.thread, ()).await,
        RunErrorKind::Node { task },
    )?;
    let before = calls.take();
    broken.turn_off();
    desk.another_process();
    let page = finished(eager(&desk, &graph).retry(&desk.thread).await)?;
    let after = calls.take();
    let mut ran: Vec<_> = before.into_iter().chain(after).collect();
    ran.sort();
    let each = ["flaky#1", "flaky#1", "one#1", "open#1", "two#1"];
    same("what ran in all", ran, texts(&each))?;
    let mut said = page.lines;
    said.sort();
    same(
        "what was said",
        said,
        texts(&["flaky", "one", "open", "two"]),
    )
}

/// A router that fails keeps the outcome of its task: a retry runs the router, and no node.
pub async fn eager_routers_run_again_and_nodes_do_not(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let (calls, broken) = (Calls::default(), Switch::on());
    let routes = broken.clone();
    let graph = Graph::<Page>::starting_at("open")
        .says(&calls, &["open", "one", "two", "beside"])
        .edge("open", "one")
        .edge("open", "beside")
        .branch("one", ["two"], move |_| {
            if routes.is_on() {
                Err("typo")
            } else {
                Ok("two")
            }
        })
        .edge("two", END)
        .edge("beside", END)
        .build()?;
    let node = "one".to_owned();
    fails(
        eager(&desk, &graph).start(&desk.thread, ()).await,
        RunErrorKind::Router { node },
    )?;
    broken.turn_off();
    let page = finished(eager(&desk, &graph).retry(&desk.thread).await)?;
    let mut said = page.lines.clone();
    said.sort();
    same(
        "what was said",
        said,
        texts(&["beside", "one", "open", "two"]),
    )?;
    same("by the log", desk.page(&graph).await?, page)?;
    let ran = ["beside#1", "one#1", "open#1", "two#1"];
    calls.ran(&ran)
}

/// The process dies before or after any append, and the end is the same as without a crash,
/// subgraphs and joins included; no stored task runs again.
pub async fn eager_crashes_change_nothing(factory: &dyn LogFactory) -> CheckResult {
    let words = "open -> one sub ask; one -> two; two sub ask -> last; ask: pause; sub/ x -> y";
    for nth in 1..=12 {
        for cut in [AppendFault::DiesBefore, AppendFault::DiesAfter] {
            let mut stage = Stage::of(Fixture::of(factory).await?, "");
            let graph = stage.wire(words)?.build()?;
            stage.desk.log.cut(nth, cut);
            let what = format!("append {nth}, {cut:?}");
            let mut said = stage.desk.run_to_the_end(&graph, &options()).await?.lines;
            let last = said.pop();
            same(&what, last, Some("last".to_owned()))?;
            said.sort();
            same(
                &what,
                said,
                texts(&["(open x y)", "one", "open", "true", "two"]),
            )?;
        }
    }
    Ok(())
}
