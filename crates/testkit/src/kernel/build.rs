//! Scenarios of graphs that must not end as a success by accident: K5.
use expect_test::expect;
use fugato_graph::{BuildIssue, Context, END, Graph, GraphBuilder, RunnerOptions};

use super::{
    fixture::{Fixture, Page},
    script::{check, check_with},
    world::Stage,
};
use crate::log::{CheckResult, LogFactory, holds, same};

async fn idle(_: Context<Page>) {}

fn nodes(names: &[&str]) -> GraphBuilder<Page> {
    let start = names.first().copied().unwrap_or_default();
    names.iter().fold(Graph::starting_at(start), |graph, name| {
        graph.node(*name, idle)
    })
}

fn problems() -> Vec<(GraphBuilder<Page>, BuildIssue)> {
    let named = |name: &str| name.to_owned();
    let unknown = |place: &str| BuildIssue::UnknownNode {
        place: place.into(),
        name: "x".into(),
    };
    vec![
        (
            nodes(&["a"]).edge("a", "x"),
            unknown("the edge from \"a\" to \"x\""),
        ),
        (
            nodes(&["a"]).branch("a", ["x", END], |_| END),
            unknown("the branch after \"a\""),
        ),
        (
            nodes(&["a"]).scatter("a", "x", |_| [1]),
            unknown("the scatter after \"a\""),
        ),
        (
            nodes(&["a", "a"]).edge("a", END),
            BuildIssue::DuplicateNode(named("a")),
        ),
        (
            nodes(&["a", "b"]).edge("a", END).edge("b", END),
            BuildIssue::Unreachable(named("b")),
        ),
        (
            nodes(&["a", "b"]).edge("a", "b"),
            BuildIssue::DeadEnd(named("b")),
        ),
        (
            nodes(&["a", "b", "c"])
                .branch("a", ["b", END], |_| END)
                .join(["b", "c"], "c")
                .edge("c", END),
            BuildIssue::DeadJoin {
                join: named("c"),
                source_node: named("c"),
            },
        ),
        (
            nodes(&["a"]).branch("a", [""; 0], |_| END),
            BuildIssue::EmptyBranch(named("a")),
        ),
        (
            nodes(&["a", "b"])
                .scatter("a", "b", |_| [1])
                .branch("b", [END], |_| END),
            BuildIssue::BranchingWorker(named("b")),
        ),
        (
            nodes(&["a", "b", "c"])
                .branch("a", ["c"], |_| "c")
                .scatter("c", "b", |_| [1])
                .edge("b", END)
                .guard("b", |_| true),
            BuildIssue::SharedWorker(named("b")),
        ),
        (
            nodes(&["a", "b"])
                .edge("a", "b")
                .branch("a", [END], |_| END)
                .edge("b", END),
            BuildIssue::MixedWays(named("a")),
        ),
        (
            nodes(&["a/b"]).edge("a/b", END),
            BuildIssue::BadName(named("a/b")),
        ),
        (
            nodes(&["a", "b", "c"])
                .branch("a", ["b", END], |_| "b")
                .edge("b", "c")
                .edge("c", "b"),
            BuildIssue::Endless(vec![named("b"), named("c")]),
        ),
    ]
}

/// `build` rejects graphs that could fail, and names the problem.
pub async fn k5_build_rejects(factory: &dyn LogFactory) -> CheckResult {
    Fixture::of(factory).await?;
    for (graph, expected) in problems() {
        let found = graph
            .build()
            .err()
            .map(|error| error.problems)
            .unwrap_or_default();
        holds(found.contains(&expected), || {
            format!("expected {expected:?}, found {found:?}")
        })?;
    }
    let told = nodes(&["a"]).edge("a", "x").build().err();
    let text =
        "the graph cannot be built: the edge from \"a\" to \"x\" mentions \"x\", which is no node";
    same(
        "the text",
        told.map(|error| error.to_string()).as_deref(),
        Some(text),
    )
}

/// A branch to an undeclared target stops the run with an error that names it; the run can go on
/// with a corrected router.
pub async fn k5_d8_an_undeclared_target_is_an_error(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start
        ! the branch of node a chose "nowhere"; it declares a, END (UndeclaredTarget; failed)
        ran a#1
        [created, started -> a#1, finished a#1 +a, run_failed] idle
        > mend then retry
        = + a
        [resumed, closed, run_ended] idle
        > program none then thread none then start
        ! the routing after node a failed: the router chose no target; to end, choose END (Router; failed)
        ran a#1
        [created, started -> a#1, finished a#1 +a, run_failed] idle
    "#]];
    let graph = |stage: &Stage| {
        let (broken, none) = (stage.broken.clone(), stage.is("none"));
        let route = move |_: &Page| match broken.is_on() {
            _ if none => vec![],
            true => vec!["nowhere"],
            false => vec![END],
        };
        stage.wire("a!")?.branch("a", ["a", END], route).build()
    };
    check(factory, graph, expected).await
}

/// A join that is half filled when no task is left is an error.
pub async fn k5_a_half_filled_join_is_an_error(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start
        ! after 2 steps: the run ended while the join last had only arrivals from a (HalfFilledJoin; failed)
        + open | a; ran a#1 open#1
        [created, started -> open#1, stepped open#1 -> a#1 +open] [stepped a#1 last<a +a, run_failed] idle
    "#]];
    let graph = |stage: &Stage| {
        let graph = stage.wire("open!; a b -> last")?;
        graph.branch("open", ["a", "b"], |_| "a").build()
    };
    check(factory, graph, expected).await
}

/// Arrivals at one node in one step are one task; a join is one task too, whenever its sources
/// finish.
pub async fn k5_d9_arrivals_at_one_node_are_one_task(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > in any order then start
        = + open | a | b | meet | detour | last; ran a#1 b#1 detour#1 last#1 meet#1 open#1
        {created, started -> open#1, stepped open#1 -> a#1 b#1 +open, finished a#1 +a, finished b#1 +b,
         closed -> meet#1 detour#1, finished detour#1 +detour, finished meet#1 +meet,
         closed last<meet last<detour joined last -> last#1, stepped last#1 +last, run_ended} idle
        > fresh slow then start
        = + open | a | b | later | last; ran a#1 b#1 last#1 later#1 open#1
        {created, started -> open#1, stepped open#1 -> a#1 b#1 +open, finished a#1 +a, finished b#1 +b,
         closed last<a -> later#1, stepped later#1 last<later joined last -> last#1 +later,
         stepped last#1 +last, run_ended} idle
    "#]];
    check(
        factory,
        "open -> a b; @ a -> meet; @ b -> meet detour; @ detour meet -> last
        @slow b -> later; @slow a later -> last",
        expected,
    )
    .await
}

/// A scatter over nothing continues after its workers' node, once, when all workers of the step are
/// done.
pub async fn k5_a_scatter_over_nothing_goes_on(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > in any order then start
        = + open | a | b | collect; ran a#1 b#1 collect#1 open#1
        {created, started -> open#1, stepped open#1 -> a#1 b#1 +open, finished a#1 +a, finished b#1 +b,
         closed -> collect#1, stepped collect#1 +collect, run_ended} idle
        > fresh two then start
        = + open | a | b | worker | worker | collect; ran a#1 b#1 collect#1 open#1 worker#1[0] worker#1[1]
        {created, started -> open#1, stepped open#1 -> a#1 b#1 +open, finished a#1 +a, finished b#1 +b,
         closed -> worker#1[0,1], finished worker#1[0] +worker, finished worker#1[1] +worker,
         closed -> collect#1, stepped collect#1 +collect, run_ended} idle
        > fresh one then start
        = + open | a | b | worker | worker | collect; ran a#1 b#1 collect#1 open#1 worker#1[0] worker#1[1]
        {created, started -> open#1, stepped open#1 -> a#1 b#1 +open, finished a#1 +a, finished b#1 +b,
         closed -> worker#1[0,0], finished worker#1[0] +worker, finished worker#1[1] +worker,
         closed -> collect#1, stepped collect#1 +collect, run_ended} idle
    "#]];
    check(
        factory,
        "open -> a b; worker -> collect; @ a -> worker*0; @ b -> worker*0
        @two a -> worker*0; @two b -> worker*2; @one a -> worker*1; @one b -> worker*1",
        expected,
    )
    .await
}

/// A run that exceeds the step limit has an error of its own.
pub async fn k5_the_step_limit_has_its_own_error(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > without appends then start
        ! after 7 steps: the run reached its limit of 7 steps (StepLimit; failed)
        + a | a | a | a | a | a | a; ran a#1 a#2 a#3 a#4 a#5 a#6 a#7
    "#]];
    let options = RunnerOptions::default().step_limit(7);
    let graph = |stage: &Stage| stage.wire("a!")?.branch("a", ["a", END], |_| "a").build();
    check_with(factory, options, graph, expected).await
}
