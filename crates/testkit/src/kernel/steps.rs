//! Scenarios of state and steps: K1 to K3.
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use expect_test::expect;
use fugato_graph::{Context, END, Graph};
use fugato_state::State;
use serde::{Deserialize, Serialize, Serializer};
use tokio::sync::{Barrier, Semaphore};

use super::{
    fixture::{Calls, Change, Fixture, Page, finished, line},
    script::check,
    world::{NamedNodesExt, Stage, WiringExt, texts},
};
use crate::log::{CheckResult, Failure, LogFactory, same};

/// Only `apply` changes state: siblings see the start of the step, and a task's local changes are
/// in no state.
pub async fn k1_d10_only_apply_changes_state(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > in any order then start in
        = + in | open | a saw in open | b saw in open | close saw in open a saw in open b saw in open; ran open#1
        {created, started -> open#1 +in, stepped open#1 -> a#1 b#1 +open, finished a#1 +a saw in open,
         finished b#1 +b saw in open, closed close<a close<b joined close -> close#1,
         stepped close#1 +close saw in open a saw in open b saw in open, run_ended} idle
    "#]];
    let sees = |name: &'static str| {
        move |cx: Context<Page>| async move {
            let mut own = cx.state().clone();
            own.lines.push("a change that is nobody's update".into());
            line(format!("{name} saw {}", cx.state().lines.join(" ")))
        }
    };
    let graph = |stage: &Stage| {
        let graph =
            stage.wire("open -> a b -> close; a: elsewhere; b: elsewhere; close: elsewhere");
        let graph = graph?.node("a", sees("a")).node("b", sees("b"));
        graph.node("close", sees("close")).build()
    };
    check(factory, graph, expected).await
}

/// A state of 100 KB that counts how often it was cloned and written.
#[derive(Debug, Default, Serialize, Deserialize)]
struct CloneCounter {
    count: u32,
    text: String,
    #[serde(serialize_with = "written", skip_deserializing)]
    copies: Arc<Copies>,
}

#[derive(Debug, Default)]
struct Copies {
    clones: AtomicUsize,
    writes: AtomicUsize,
}

fn written<S: Serializer>(copies: &Copies, serializer: S) -> Result<S::Ok, S::Error> {
    copies.writes.fetch_add(1, Ordering::SeqCst);
    serializer.serialize_unit()
}

impl Clone for CloneCounter {
    fn clone(&self) -> Self {
        self.copies.clones.fetch_add(1, Ordering::SeqCst);
        let (text, copies) = (self.text.clone(), self.copies.clone());
        Self {
            text,
            copies,
            ..*self
        }
    }
}

impl State for CloneCounter {
    type Update = u32;

    fn apply(&mut self, by: u32) {
        self.count += by;
    }
}

/// Applying in place clones nothing, after a single task and after several at once, and writes the
/// state once, when the thread begins.
pub async fn k1_d32_d33_applying_in_place_copies_nothing(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let copies = Arc::new(Copies::default());
    let seen = copies.clone();
    let initial = move || CloneCounter {
        text: "x".repeat(100_000),
        copies: seen.clone(),
        ..CloneCounter::default()
    };
    let graph = Graph::with_initial("one", initial)
        .node("one", async |_: Context<CloneCounter>| 1)
        .node("two", async |_: Context<CloneCounter>| 1)
        .node("three", async |_: Context<CloneCounter>| {
            tokio::task::yield_now().await;
            1
        })
        .edge("one", "two")
        .edge("one", "three")
        .branch(
            "two",
            ["one", END],
            |s: &CloneCounter| {
                if s.count < 600 { "one" } else { END }
            },
        )
        .edge("three", END)
        .build()?;
    let runner = desk.runner(&graph);
    let ended = runner.start(&desk.thread, ()).await?;
    same("the end of the loop", ended.state().count, 600)?;
    let copies = (&copies.clones, &copies.writes);
    let times = (
        copies.0.load(Ordering::SeqCst),
        copies.1.load(Ordering::SeqCst),
    );
    same("clones and writes of the state", times, (0, 1))
}

/// Tasks of a step run at the same time: each waits for the others.
pub async fn k2_tasks_of_a_step_run_at_the_same_time(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let meeting = Arc::new(Barrier::new(100));
    let graph = Graph::<Page>::starting_at("plan")
        .node("plan", async |_: Context<Page>| ())
        .node("worker", move |_: Context<Page>| {
            let meeting = meeting.clone();
            async move {
                meeting.wait().await;
                Change::Count(1)
            }
        })
        .scatter("plan", "worker", |_| 0..100)
        .edge("worker", END)
        .build()?;
    let page = finished(desk.start(&graph).await)?;
    same("workers that met", page.count, 100)
}

/// Outcomes are folded in the order of their paths, in whatever order they finish, and the routes
/// are the same.
pub async fn k2_d16_updates_fold_in_path_order(factory: &dyn LogFactory) -> CheckResult {
    for order in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        let desk = Fixture::of(factory).await?;
        let turns: Vec<_> = (0..4).map(|_| Arc::new(Semaphore::new(0))).collect();
        if let Some(first) = turns.first() {
            first.add_permits(1);
        }
        let graph = Graph::<Page>::starting_at("plan")
            .node("plan", async |_: Context<Page>| ())
            .node("worker", move |cx: Context<Page>| {
                let turns = turns.clone();
                async move {
                    let me: usize = cx.item()?;
                    let mine = order.iter().position(|n| *n == me).unwrap_or(0);
                    if let (Some(mine), Some(next)) = (turns.get(mine), turns.get(mine + 1)) {
                        mine.acquire().await?.forget();
                        next.add_permits(1);
                    }
                    Ok::<_, fugato_graph::BoxError>(line(me.to_string()))
                }
            })
            .node("last", async |cx: Context<Page>| {
                line(cx.state().lines.join(""))
            })
            .scatter("plan", "worker", |_| 0..3)
            .branch("worker_done", ["last"], |_| "last")
            .node("worker_done", async |_: Context<Page>| ())
            .edge("worker", "worker_done")
            .edge("last", END)
            .build()?;
        let page = finished(desk.start(&graph).await)?;
        let expected = texts(&["0", "1", "2", "012"]);
        same(
            &format!("lines of workers that end as {order:?}"),
            page.lines,
            expected,
        )?;
    }
    Ok(())
}

/// Only closing records are checkpoints: at a position between two of them the state is that of the
/// earlier one.
pub async fn k2_only_closing_records_are_checkpoints(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let graph = three(&Calls::default())?;
    let runner = desk.runner(&graph);
    finished(runner.start(&desk.thread, ()).await)?;
    let mut seen = vec![];
    for entry in runner.history(&desk.thread, 1, 100).await? {
        let lines = runner.state_at(&desk.thread, entry.seq).await?.lines.len();
        seen.push((entry.is_checkpoint(), lines));
    }
    let expected = vec![
        (false, 0), // created
        (true, 0),  // started
        (true, 1),  // the first step
        (false, 1), // two outcomes
        (false, 1),
        (true, 3), // closed
        (true, 4), // the last step
        (true, 4), // the end
    ];
    same("checkpoints and lines", seen, expected)
}

/// At most one append of a thread is in flight, and outcomes meanwhile are stored with the next.
pub async fn k2_one_append_is_in_flight(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let graph = Graph::<Page>::starting_at("plan")
        .node("plan", async |_: Context<Page>| ())
        .node("worker", async |cx: Context<Page>| {
            for _ in 0..cx.item::<u32>()? % 7 {
                tokio::task::yield_now().await;
            }
            Ok::<_, fugato_graph::BoxError>(Change::Count(1))
        })
        .scatter("plan", "worker", |_| 0..200)
        .edge("worker", END)
        .build()?;
    let page = finished(desk.start(&graph).await)?;
    same("workers", page.count, 200)?;
    same("appends at once", desk.log.most_in_flight(), 1)?;
    let stored: usize = desk
        .log
        .commits()
        .iter()
        .map(|commit| commit.records.len())
        .sum();
    same("records", stored, 1 + 1 + 1 + 200 + 1 + 1)
}

/// Builds first, then a and b at once, then last.
pub(super) fn three(calls: &Calls) -> Result<Graph<Page>, Failure> {
    Ok(Graph::<Page>::starting_at("first")
        .says(calls, &["first", "a", "b", "last"])
        .fork("first", &["a", "b"], "last")
        .edge("last", END)
        .build()?)
}

/// A router that fails leaves the step open: a retry runs routers again, never the nodes, both with
/// one task in the step and with several.
pub async fn k3_d1_a_failing_router_leaves_the_step_open(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start
        ! after 1 steps: the routing after node a failed: the router fails (Router; failed)
        + open; ran a#1 open#1
        [created, started -> open#1, stepped open#1 -> a#1 +open] [finished a#1 +a, run_failed] idle
        > another process then retry
        ! after 1 steps: the routing after node a failed: the router fails (Router; failed)
        [resumed, run_failed] idle
        > mend then retry
        = + a | c; ran c#1
        [resumed, closed -> c#1] [stepped c#1 +c, run_ended] idle
        > fresh panics then start
        ! after 1 steps: the routing after node a failed: panicked: the router panics (Router; failed)
        + open; ran a#1 open#1
        [created, started -> open#1, stepped open#1 -> a#1 +open] [finished a#1 +a, run_failed] idle
        > mend then retry
        = + a | c; ran c#1
        [resumed, closed -> c#1] [stepped c#1 +c, run_ended] idle
        > fresh several then in any order then start
        ! after 1 steps: the routing after node a failed: the router fails (Router; failed)
        + open; ran a#1 b#1 open#1
        {created, started -> open#1, stepped open#1 -> a#1 b#1 +open, finished a#1 +a, finished b#1 +b,
         run_failed} idle
        > another process then retry
        ! after 1 steps: the routing after node a failed: the router fails (Router; failed)
        {resumed, run_failed} idle
        > mend then retry
        = + a | b | c; ran c#1
        {resumed, closed -> c#1, stepped c#1 +c, run_ended} idle
        > fresh several panics then start
        ! after 1 steps: the routing after node a failed: panicked: the router panics (Router; failed)
        + open; ran a#1 b#1 open#1
        {created, started -> open#1, stepped open#1 -> a#1 b#1 +open, finished a#1 +a, finished b#1 +b,
         run_failed} idle
        > mend then retry
        = + a | b | c; ran c#1
        {resumed, closed -> c#1, stepped c#1 +c, run_ended} idle
    "#]];
    let graph = |stage: &Stage| {
        let (broken, panics) = (stage.broken.clone(), stage.program.ends_with("panics"));
        let several = stage.program.starts_with("several");
        let words = if several {
            "open -> a! b; c"
        } else {
            "open -> a!; c"
        };
        let route = move |page: &Page| match broken.is_on() {
            true if panics => std::panic::panic_any("the router panics"),
            true => Err("the router fails"),
            false => Ok(if page.lines.contains(&"a".to_owned()) {
                "c"
            } else {
                END
            }),
        };
        stage.wire(words)?.branch("a", ["c", END], route).build()
    };
    check(factory, graph, expected).await
}

/// All routers of a step see the same state, with all updates of the step.
pub async fn k3_routers_run_on_the_folded_state(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > in any order then start
        = + open | good; count 11; ran good#1 open#1
        {created, started -> open#1, stepped open#1 -> a#1 b#1 +open, finished a#1 {"count":1},
         finished b#1 {"count":10}, closed -> good#1, stepped good#1 +good, run_ended} idle
    "#]];
    let graph = |stage: &Stage| {
        let good = |page: &Page| if page.count == 11 { "good" } else { END };
        let graph = stage.wire("open -> a! b!; good; a: elsewhere; b: elsewhere")?;
        graph
            .node("a", async |_: Context<Page>| Change::Count(1))
            .node("b", async |_: Context<Page>| Change::Count(10))
            .branch("a", ["good", END], good)
            .branch("b", ["good", END], good)
            .build()
    };
    check(factory, graph, expected).await
}
