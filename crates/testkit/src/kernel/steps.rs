//! Scenarios of state and steps: K1 to K3.
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use fugato_graph::{Context, END, Graph, RunErrorKind};
use fugato_state::State;
use serde::{Deserialize, Serialize, Serializer};
use tokio::sync::{Barrier, Semaphore};

use super::{
    fixture::{Calls, Change, Fixture, Page, Switch, fails, finished, line},
    world::{NamedNodesExt, WiringExt, texts},
};
use crate::log::{Failure, LogFactory, Verdict, same};

/// Only `apply` changes state: siblings see the start of the step, and a task's local changes are
/// in no state.
pub async fn k1_d10_only_apply_changes_state(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let sees = |name: &'static str| {
        move |cx: Context<Page>| async move {
            let mut own = cx.state().clone();
            own.lines.push("a change that is nobody's update".into());
            line(format!("{name} saw {}", cx.state().lines.join(" ")))
        }
    };
    let graph = Graph::<Page>::starting_at("open")
        .node("open", async |_: Context<Page>| line("open"))
        .node("a", sees("a"))
        .node("b", sees("b"))
        .node("close", sees("close"))
        .fork("open", &["a", "b"], "close")
        .edge("close", END)
        .build()?;
    let runner = desk.runner(&graph);
    let page = finished(runner.start(&desk.thread, line("in")).await)?;
    let last = "close saw in open a saw in open b saw in open";
    let expected = ["in", "open", "a saw in open", "b saw in open", last];
    same(
        "what was seen",
        page.lines.clone(),
        expected.map(str::to_owned).to_vec(),
    )?;
    let stored = runner.state(&desk.thread).await?;
    same(
        "the state by the log",
        stored.map(|stored| (*stored).clone()),
        Some(page),
    )
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
pub async fn k1_d32_d33_applying_in_place_copies_nothing(factory: &dyn LogFactory) -> Verdict {
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
pub async fn k2_tasks_of_a_step_run_at_the_same_time(factory: &dyn LogFactory) -> Verdict {
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
pub async fn k2_d16_updates_fold_in_path_order(factory: &dyn LogFactory) -> Verdict {
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
pub async fn k2_only_closing_records_are_checkpoints(factory: &dyn LogFactory) -> Verdict {
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
pub async fn k2_one_append_is_in_flight(factory: &dyn LogFactory) -> Verdict {
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
pub async fn k3_d1_a_failing_router_leaves_the_step_open(factory: &dyn LogFactory) -> Verdict {
    for (several, panics) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut desk = Fixture::of(factory).await?;
        let (calls, broken) = (Calls::default(), Switch::on());
        let switch = broken.clone();
        let mut graph = Graph::<Page>::starting_at("open")
            .node("open", async |_: Context<Page>| ())
            .says(&calls, &["a", "c"])
            .branch("a", ["c", END], move |page| {
                if switch.is_on() && panics {
                    std::panic::panic_any("the router panics");
                }
                if switch.is_on() {
                    Err("the router fails")
                } else {
                    Ok(if page.lines.is_empty() { END } else { "c" })
                }
            })
            .edge("c", END)
            .edge("open", "a");
        if several {
            graph = graph.says(&calls, &["b"]).edge("open", "b").edge("b", END);
        }
        let graph = graph.build()?;
        fails(
            desk.start(&graph).await,
            RunErrorKind::Router { node: "a".into() },
        )?;
        let once = if several {
            vec!["a#1", "b#1"]
        } else {
            vec!["a#1"]
        };
        same(
            "the tasks of the first try",
            calls.take(),
            once.iter().map(|c| (*c).into()).collect(),
        )?;
        desk.another_process();
        fails(
            desk.runner(&graph).retry(&desk.thread).await,
            RunErrorKind::Router { node: "a".into() },
        )?;
        broken.turn_off();
        let page = finished(desk.runner(&graph).retry(&desk.thread).await)?;
        calls.ran(&["c#1"])?;
        let said = if several {
            vec!["a", "b", "c"]
        } else {
            vec!["a", "c"]
        };
        same(
            "what was said",
            page.lines,
            said.iter().map(|c| (*c).into()).collect(),
        )?;
    }
    Ok(())
}

/// All routers of a step see the same state, with all updates of the step.
pub async fn k3_routers_run_on_the_folded_state(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let graph = Graph::<Page>::starting_at("open")
        .node("open", async |_: Context<Page>| ())
        .node("a", async |_: Context<Page>| Change::Count(1))
        .node("b", async |_: Context<Page>| Change::Count(10))
        .node("good", async |_: Context<Page>| line("good"))
        .edge("open", "a")
        .edge("open", "b")
        .branch("a", ["good", END], |page| {
            if page.count == 11 { "good" } else { END }
        })
        .branch("b", ["good", END], |page| {
            if page.count == 11 { "good" } else { END }
        })
        .edge("good", END)
        .build()?;
    let page = finished(desk.start(&graph).await)?;
    same("what both routers chose", page.lines, texts(&["good"]))
}
