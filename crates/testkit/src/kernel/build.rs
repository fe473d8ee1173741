//! Scenarios of graphs that must not end as a success by accident: K5.
use fugato_graph::{BuildIssue, Context, END, Graph, GraphBuilder, RunErrorKind};

use super::{
    fixture::{Calls, Fixture, Page, Switch, fails, finished, line},
    world::{NamedNodesExt, WiringExt, texts},
};
use crate::log::{LogFactory, Verdict, holds, same};

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
pub async fn k5_build_rejects(factory: &dyn LogFactory) -> Verdict {
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
pub async fn k5_d8_an_undeclared_target_is_an_error(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let (calls, broken) = (Calls::default(), Switch::on());
    let switch = broken.clone();
    let graph = Graph::<Page>::starting_at("a")
        .says(&calls, &["a"])
        .branch("a", ["a", END], move |_| {
            if switch.is_on() { "nowhere" } else { END }
        })
        .build()?;
    let runner = desk.runner(&graph);
    let error = runner.start(&desk.thread, ()).await.err();
    let told = error.as_ref().map(ToString::to_string);
    let text = "thread \"desk\", after 0 steps: the branch of node a chose \"nowhere\"; it declares a, END";
    same("the text", told.as_deref(), Some(text))?;
    let expected = RunErrorKind::UndeclaredTarget {
        node: "a".into(),
        target: "nowhere".into(),
        declared: vec!["a".into(), "END".into()],
    };
    same("the error", error.map(|error| error.kind), Some(expected))?;
    let none = Graph::<Page>::starting_at("a")
        .node("a", idle)
        .branch("a", ["a", END], |_| Vec::<&'static str>::new())
        .build()?;
    fails(
        desk.runner(&none)
            .start(&super::fixture::thread("none"), ())
            .await,
        RunErrorKind::Router { node: "a".into() },
    )?;
    broken.turn_off();
    finished(runner.retry(&desk.thread).await)?;
    same("tasks", calls.count(), 1)
}

/// A join that is half filled when no task is left is an error.
pub async fn k5_a_half_filled_join_is_an_error(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let graph = nodes(&["open", "a", "b", "last"])
        .branch("open", ["a", "b"], |_| "a")
        .join(["a", "b"], "last")
        .edge("last", END)
        .build()?;
    let expected = RunErrorKind::HalfFilledJoin {
        join: "last".into(),
        arrived: vec!["a".into()],
    };
    fails(desk.start(&graph).await, expected)
}

/// Arrivals at one node in one step are one task; a join is one task too, whenever its sources
/// finish.
pub async fn k5_d9_arrivals_at_one_node_are_one_task(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let calls = Calls::default();
    let graph = nodes(&["open", "a", "b", "detour"])
        .says(&calls, &["meet", "last"])
        .way(&["open", "a", "meet"])
        .way(&["open", "b", "meet"])
        .edge("b", "detour")
        .join(["detour", "meet"], "last")
        .edge("last", END)
        .build()?;
    finished(desk.start(&graph).await)?;
    calls.ran(&["last#1", "meet#1"])?;
    let slow = nodes(&["open", "a", "b", "later"])
        .says(&calls, &["last"])
        .edge("open", "a")
        .way(&["open", "b", "later"])
        .join(["a", "later"], "last")
        .edge("last", END)
        .build()?;
    finished(
        desk.runner(&slow)
            .start(&super::fixture::thread("slow"), ())
            .await,
    )?;
    same(
        "a join over several steps",
        calls.take(),
        texts(&["last#1"]),
    )
}

/// A scatter over nothing continues after its workers' node, once, when all workers of the step are
/// done.
pub async fn k5_a_scatter_over_nothing_goes_on(factory: &dyn LogFactory) -> Verdict {
    for (one, other, expected) in [
        (0, 0, vec!["collect#1"]),
        (0, 2, vec!["collect#1", "w", "w"]),
        (1, 1, vec!["collect#1", "w", "w"]),
    ] {
        let desk = Fixture::of(factory).await?;
        let calls = Calls::default();
        let works = calls.clone();
        let graph = nodes(&["open", "a", "b"])
            .node("worker", move |_: Context<Page>| {
                works.note("w");
                async { line("worked") }
            })
            .says(&calls, &["collect"])
            .edge("open", "a")
            .edge("open", "b")
            .scatter("a", "worker", move |_| 0..one)
            .scatter("b", "worker", move |_| 0..other)
            .way(&["worker", "collect", END])
            .build()?;
        finished(desk.start(&graph).await)?;
        let expected = expected.iter().map(|call| (*call).to_owned()).collect();
        same(
            &format!("tasks of {one} and {other} items"),
            calls.take(),
            expected,
        )?;
    }
    Ok(())
}

/// A run that exceeds the step limit has an error of its own.
pub async fn k5_the_step_limit_has_its_own_error(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let graph = nodes(&["a"]).branch("a", ["a", END], |_| "a").build()?;
    let options = fugato_graph::RunnerOptions::default().step_limit(7);
    let runner = desk.runner(&graph).options(options);
    fails(
        runner.start(&desk.thread, ()).await,
        RunErrorKind::StepLimit { limit: 7 },
    )
}
