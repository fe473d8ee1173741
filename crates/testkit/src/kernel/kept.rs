//! Scenarios of finished tasks, which stay finished: K4.
use std::sync::Arc;

use fugato_graph::{Context, END, Graph, RunErrorKind, RunnerOptions, machine::Fact};
use tokio::sync::Notify;

use super::{
    AppendFault,
    fixture::{Calls, FailingNode, Fixture, Page, Switch, fails, finished, kind, question, whole},
    world::{NamedNodesExt, WiringExt, texts},
};
use crate::log::{Failure, LogFactory, Verdict, holds, same};

/// Builds open, then a, b and c at once; c fails as long as the switch is on.
fn fork(calls: &Calls, broken: &Switch) -> Result<Graph<Page>, Failure> {
    Ok(Graph::<Page>::starting_at("open")
        .node("open", async |_: Context<Page>| ())
        .says(calls, &["a", "b", "last"])
        .node("c", FailingNode("c", calls.clone(), broken.clone()))
        .fork("open", &["a", "b", "c"], "last")
        .edge("last", END)
        .build()?)
}

/// A failure re-runs no finished sibling, and a retry runs only the failed tasks.
pub async fn k4_d14_retry_runs_only_what_failed(factory: &dyn LogFactory) -> Verdict {
    let mut desk = Fixture::of(factory).await?;
    let (calls, broken) = (Calls::default(), Switch::on());
    let graph = fork(&calls, &broken)?;
    fails(
        desk.start(&graph).await,
        RunErrorKind::Node { task: "c#1".into() },
    )?;
    calls.ran(&["a#1", "b#1", "c#1"])?;
    kind(desk.runner(&graph).retry(&desk.thread).await)?;
    calls.ran(&["c#1"])?;
    broken.turn_off();
    desk.another_process();
    let page = finished(desk.runner(&graph).retry(&desk.thread).await)?;
    calls.ran(&["c#1", "last#1"])?;
    page.said(&["a", "b", "c", "last"])
}

/// On a final failure siblings finish, then the run fails.
pub async fn k4_siblings_finish_before_the_run_fails(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let failed = Arc::new(Notify::new());
    let (fails, waits) = (failed.clone(), failed);
    let graph = Graph::<Page>::starting_at("open")
        .node("open", async |_: Context<Page>| ())
        .node("slow", move |_: Context<Page>| {
            let waits = waits.clone();
            async move {
                waits.notified().await;
                super::fixture::line("slow")
            }
        })
        .node("fails", move |_: Context<Page>| {
            fails.notify_one();
            async move { Err::<(), _>("boom") }
        })
        .way(&["open", "slow", END])
        .way(&["open", "fails", END])
        .build()?;
    let runner = desk.runner(&graph);
    kind(runner.start(&desk.thread, ()).await)?;
    let facts = runner.history(&desk.thread, 1, 100).await?;
    let finished = facts
        .iter()
        .position(|entry| matches!(&entry.fact, Fact::Finished { task, .. } if task == "slow#1"));
    let end = facts
        .iter()
        .position(|entry| matches!(entry.fact, Fact::RunFailed { .. }));
    holds(
        finished.is_some() && finished < end && end == Some(facts.len() - 1),
        || format!("slow finished at {finished:?}, the run failed at {end:?}"),
    )
}

/// A question of one task re-runs no sibling that finished, now or when it is answered.
pub async fn k4_a_question_keeps_finished_siblings(factory: &dyn LogFactory) -> Verdict {
    let mut desk = Fixture::of(factory).await?;
    let calls = Calls::default();
    let graph = Graph::<Page>::starting_at("open")
        .node("open", async |_: Context<Page>| ())
        .says(&calls, &["a", "last"])
        .pause(
            "ask",
            |_| "sure?",
            |_, yes: bool| super::fixture::line(yes.to_string()),
        )
        .fork("open", &["a", "ask"], "last")
        .edge("last", END)
        .build()?;
    question(desk.start(&graph).await)?;
    calls.ran(&["a#1"])?;
    desk.another_process();
    let answers = fugato_graph::Answers::only(true)?;
    let page = finished(desk.resume(&graph, answers).await)?;
    calls.ran(&["last#1"])?;
    page.said(&["a", "true", "last"])
}

/// A crash re-runs no finished sibling. A task that had started has one more attempt, which is
/// stored before it runs again. A failure before the crash is still the failure of the run.
pub async fn k4_a_crash_keeps_finished_siblings(factory: &dyn LogFactory) -> Verdict {
    let mut desk = Fixture::of(factory).await?;
    let (calls, broken) = (Calls::default(), Switch::on());
    let go = Arc::new(Notify::new());
    let (wait, count) = (go.clone(), calls.clone());
    let graph = Graph::<Page>::starting_at("open")
        .node("open", async |_: Context<Page>| ())
        .node("a", move |cx: Context<Page>| {
            count.note(format!("{} try {}", cx.task(), cx.attempt()));
            let wait = wait.clone();
            async move {
                if cx.attempt() == 1 {
                    wait.notified().await;
                }
                super::fixture::line("a")
            }
        })
        .says(&calls, &["b"])
        .node("c", FailingNode("c", calls.clone(), broken))
        .way(&["open", "a", END])
        .way(&["open", "b", END])
        .way(&["open", "c", END])
        .build()?;
    let run = desk.runner(&graph).start(&desk.thread, ());
    loop {
        let facts = desk.log.commits();
        if facts
            .iter()
            .map(|commit| commit.records.len())
            .sum::<usize>()
            == 5
        {
            break;
        }
        tokio::task::yield_now().await;
    }
    calls.ran(&["a#1 try 1", "b#1", "c#1"])?;
    desk.log.cut(1, AppendFault::DiesBefore);
    go.notify_one();
    kind(run.await)?;
    desk.another_process();
    let error = desk.recover(&graph).await.err();
    let error = error.ok_or_else(|| Failure::new("the run should still fail"))?;
    let text = "thread \"desk\", after 1 steps: task c#1 failed: boom";
    same("the failure", whole(&error), text.to_owned())?;
    calls.ran(&["a#1 try 2"])
}

/// A task that keeps killing the process reaches a limit with an error of its own; an operator can
/// still retry it.
pub async fn k4_the_crash_limit_has_its_own_error(factory: &dyn LogFactory) -> Verdict {
    let mut desk = Fixture::of(factory).await?;
    let calls = Calls::default();
    let graph = Graph::<Page>::starting_at("a")
        .says(&calls, &["a", "b"])
        .way(&["a", "b", END])
        .build()?;
    // The step of a is stored, and the process dies in b, before the outcome of b is stored.
    desk.log.cut(2, AppendFault::DiesBefore);
    kind(desk.start(&graph).await)?;
    for _ in 2..=3 {
        desk.another_process();
        desk.log.cut(2, AppendFault::DiesBefore);
        kind(desk.recover(&graph).await)?;
    }
    calls.ran(&["a#1", "b#1", "b#1", "b#1"])?;
    desk.another_process();
    let options = RunnerOptions::default().crash_limit(3);
    let runner = desk.runner(&graph).options(options);
    fails(
        runner.recover(&desk.thread).await,
        RunErrorKind::CrashLimit {
            task: "b#1".into(),
            attempts: 3,
        },
    )?;
    calls.ran(&[])?;
    finished(runner.retry(&desk.thread).await)?;
    calls.ran(&["b#1"])
}

/// A failed run leaves nothing behind for the next one.
pub async fn k4_a_new_run_forgets_the_failed_one(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let (calls, broken) = (Calls::default(), Switch::on());
    let graph = fork(&calls, &broken)?;
    let runner = desk.runner(&graph);
    kind(runner.start(&desk.thread, ()).await)?;
    broken.turn_off();
    let page = finished(runner.start(&desk.thread, ()).await)?;
    page.said(&["a", "b", "c", "last"])?;
    let stored = runner.state(&desk.thread).await?;
    same(
        "the state by the log",
        stored.map(|page| (*page).clone()),
        Some(page),
    )
}

/// A panic is a failure like any other, in the call of a node and in its future.
pub async fn k4_a_panic_is_a_failure(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let calls = Calls::default();
    let graph = Graph::<Page>::starting_at("open")
        .node("open", async |_: Context<Page>| ())
        .node("early", Early)
        .node("late", async |cx: Context<Page>| {
            tokio::task::yield_now().await;
            if cx.attempt() == 1 {
                std::panic::panic_any("late panics");
            }
        })
        .says(&calls, &["good"])
        .way(&["open", "early", END])
        .way(&["open", "late", END])
        .way(&["open", "good", END])
        .build()?;
    let runner = desk.runner(&graph);
    let failed = kind(runner.start(&desk.thread, ()).await)?;
    holds(matches!(failed, RunErrorKind::Panicked { .. }), || {
        format!("got {failed:?}")
    })?;
    let mut facts: Vec<_> = runner
        .history(&desk.thread, 4, 3)
        .await?
        .into_iter()
        .map(|entry| match entry.fact {
            Fact::Finished { task, .. } => format!("{task} finished"),
            Fact::Failed { error, .. } => error,
            other => format!("{other:?}"),
        })
        .collect();
    facts.sort();
    let expected = [
        "good#1 finished",
        "task early#1 panicked: panicked: early panics",
        "task late#1 panicked: panicked: late panics",
    ];
    same("what was learned", facts, texts(&expected))
}

struct Early;

impl fugato_graph::Node<Page> for Early {
    fn run<'a, 'b>(
        &'a self,
        cx: Context<Page>,
    ) -> futures::future::BoxFuture<
        'b,
        Result<fugato_graph::Outcome<super::fixture::Change>, fugato_graph::BoxError>,
    >
    where
        'a: 'b,
        Self: 'b,
    {
        if cx.attempt() == 1 {
            std::panic::panic_any("early panics");
        }
        Box::pin(async { Ok(fugato_graph::Outcome::done([])) })
    }
}
