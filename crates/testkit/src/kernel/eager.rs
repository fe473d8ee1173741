//! Scenarios of the eager schedule, in which branches wait only at joins.
use std::sync::Arc;

use fugato_graph::{
    Answers, BoxError, Context, END, Graph, RunErrorKind, Runner, RunnerOptions, Schedule,
    SubgraphInput,
};
use tokio::sync::Notify;

use super::{
    AppendFault,
    fixture::{
        Calls, Change, FailingNode, Fixture, NamedNode, Page, Switch, fails, finished, line,
        parked, question,
    },
    world::{NamedNodesExt, WiringExt, texts},
};
use crate::log::{Failure, LogFactory, Verdict, holds, same};

fn eager(desk: &Fixture, graph: &Graph<Page>) -> Runner<Page> {
    let options = RunnerOptions::default().schedule(Schedule::Eager);
    desk.runner_with(graph, options)
}

/// Builds open, then slow in parallel to the chain one, two, three; last waits for both branches.
fn branches(calls: &Calls, leave: &Arc<Notify>) -> Result<Graph<Page>, Failure> {
    let (leave, notes) = (leave.clone(), calls.clone());
    let says = |name| NamedNode(name, calls.clone());
    Ok(Graph::<Page>::starting_at("open")
        .node("open", says("open"))
        .node("slow", move |cx: Context<Page>| {
            let leave = leave.clone();
            notes.note(cx.task());
            async move {
                leave.notified().await;
                line("slow")
            }
        })
        .says(calls, &["one", "two", "three", "last"])
        .edge("open", "slow")
        .way(&["open", "one", "two", "three"])
        .join(["slow", "three"], "last")
        .edge("last", END)
        .build()?)
}

fn fast_first() -> Vec<String> {
    texts(&["open", "one", "two", "three", "slow", "last"])
}

/// A fast branch runs to its end while a slow one is under way, and a join waits for both. Replay
/// returns the order in which the tasks ended.
pub async fn eager_d35_branches_do_not_wait_for_each_other(factory: &dyn LogFactory) -> Verdict {
    let mut desk = Fixture::of(factory).await?;
    let (calls, leave) = (Calls::default(), Arc::new(Notify::new()));
    let graph = branches(&calls, &leave)?;
    let run = eager(&desk, &graph).start(&desk.thread, ());
    // The slow branch is released only after the fast one has ended.
    while !desk.log.brackets().contains("three#1\",\"updates") {
        tokio::task::yield_now().await;
    }
    leave.notify_one();
    same("what was said", finished(run.await)?.lines, fast_first())?;
    desk.another_process();
    same("by the log", desk.page(&graph).await?.lines, fast_first())?;
    let ran = ["last#1", "one#1", "open#1", "slow#1", "three#1", "two#1"];
    calls.ran(&ran)
}

/// In lockstep the same fast branch waits at every step.
pub async fn eager_is_a_choice(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let (calls, leave) = (Calls::default(), Arc::new(Notify::new()));
    let graph = branches(&calls, &leave)?;
    let run = desk.runner(&graph).start(&desk.thread, ());
    desk.appends(2).await;
    let ran = calls.take();
    holds(!ran.contains(&"two#1".to_owned()), || {
        format!("{ran:?} ran in lockstep")
    })?;
    leave.notify_one();
    let said = ["open", "slow", "one", "two", "three", "last"];
    finished(run.await)?.said(&said)
}

/// The node after a scatter waits for all of its tasks.
pub async fn eager_scatters_are_barriers(factory: &dyn LogFactory) -> Verdict {
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
pub async fn eager_questions_stop_no_other_branch(factory: &dyn LogFactory) -> Verdict {
    let mut desk = Fixture::of(factory).await?;
    let calls = Calls::default();
    let says = |name| NamedNode(name, calls.clone());
    let graph = Graph::<Page>::starting_at("open")
        .node("open", says("open"))
        .pause("ask", |_| "ok?", |_, ok: bool| line(ok.to_string()))
        .node("one", says("one"))
        .pause(
            "sure",
            |_| "sure?",
            |_, ok: bool| line(format!("sure {ok}")),
        )
        .says(&calls, &["two", "last"])
        .edge("open", "ask")
        .way(&["open", "one", "sure", "two"])
        .join(["ask", "two"], "last")
        .edge("last", END)
        .build()?;
    let open = parked(eager(&desk, &graph).start(&desk.thread, ()).await)?;
    let ids: Vec<_> = open.iter().map(|asked| asked.task.clone()).collect();
    same("who asks", ids, texts(&["ask#1", "sure#1"]))?;
    desk.another_process();
    let sure = open.iter().find(|asked| &*asked.task == "sure#1");
    let sure = sure.ok_or_else(|| Failure::new("nobody asks"))?;
    let answers = Answers::to(sure.id.clone(), true)?;
    question(eager(&desk, &graph).resume(&desk.thread, answers).await)?;
    let page = finished(
        eager(&desk, &graph)
            .resume(&desk.thread, Answers::only(false)?)
            .await,
    )?;
    let said = ["open", "one", "sure true", "two", "false", "last"];
    page.said(&said)?;
    desk.stored(&graph, &said).await?;
    let ran = ["last#1", "one#1", "open#1", "two#1"];
    calls.ran(&ran)
}

/// After a failure, running tasks finish and no new one starts; a retry runs the failed tasks and
/// those that had not started.
pub async fn eager_failures_keep_what_was_finished(factory: &dyn LogFactory) -> Verdict {
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
pub async fn eager_routers_run_again_and_nodes_do_not(factory: &dyn LogFactory) -> Verdict {
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
pub async fn eager_crashes_change_nothing(factory: &dyn LogFactory) -> Verdict {
    let calls = Calls::default();
    let says = |name| NamedNode(name, calls.clone());
    let inner = Graph::<Page>::starting_at("x")
        .says(&calls, &["x", "y"])
        .way(&["x", "y", END])
        .build()?;
    let graph = Graph::<Page>::starting_at("open")
        .says(&calls, &["open", "one", "two"])
        .subgraph(
            "sub",
            &inner,
            |_: SubgraphInput<'_, Page>| Ok::<_, BoxError>(Page::default()),
            |_: &Page, inner: &Page| line(inner.lines.join("+")),
        )
        .pause("ask", |_| "ok?", |_, ok: bool| line(ok.to_string()))
        .node("last", says("last"))
        .way(&["open", "one", "two"])
        .edge("open", "sub")
        .edge("open", "ask")
        .join(["two", "sub", "ask"], "last")
        .edge("last", END)
        .build()?;
    for nth in 1..=12 {
        for cut in [AppendFault::DiesBefore, AppendFault::DiesAfter] {
            let mut desk = Fixture::of(factory).await?;
            desk.log.cut(nth, cut);
            let what = format!("append {nth}, {cut:?}");
            let options = RunnerOptions::default().schedule(Schedule::Eager);
            let mut said = desk.run_to_the_end(&graph, &options).await?.lines;
            let last = said.pop();
            same(&what, last, Some("last".to_owned()))?;
            said.sort();
            same(&what, said, texts(&["one", "open", "true", "two", "x+y"]))?;
        }
    }
    Ok(())
}
