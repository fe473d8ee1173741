//! Scenarios of cancelled runs and of runs over their budget: K19.
use std::{sync::Arc, time::Duration};

use fugato_graph::{
    AnswerError, Answers, BoxError, BudgetUnit, Context, END, Effect, Graph, NodePolicy, Outcome,
    RunErrorKind, RunnerOptions, machine::Fact,
};
use fugato_state::Question;
use fugato_store::Status;
use tokio::sync::Semaphore;

use super::{
    AppendFault,
    fixture::{Calls, Change, Fixture, Page, fails, kind, line, parked},
    world::{Door, Killer, NamedNodesExt, WiringExt, texts},
};
use crate::log::{Failure, LogFactory, Verdict, holds, same};

/// A guard that notes its drop.
struct DropNote(Calls, &'static str);

impl Drop for DropNote {
    fn drop(&mut self) {
        self.0.note(self.1);
    }
}

/// Builds a node that never ends, and notes its drop.
fn hangs(
    calls: &Calls,
    entered: &Arc<Semaphore>,
) -> impl Fn(Context<Page>) -> futures::future::BoxFuture<'static, Change> + Send + Sync + 'static + use<>
{
    let (calls, entered) = (calls.clone(), entered.clone());
    move |_| {
        let (note, entered) = (DropNote(calls.clone(), "dropped"), entered.clone());
        Box::pin(async move {
            let _note = note;
            entered.add_permits(1);
            std::future::pending::<()>().await;
            line("never")
        })
    }
}

/// Waits until a node has started.
async fn enters(entered: &Semaphore) -> Verdict {
    let begun = entered.acquire().await;
    begun
        .map_err(|error| Failure::new(error.to_string()))?
        .forget();
    Ok(())
}

/// Waits until this many nodes were dropped: on other threads that takes a moment.
async fn settles(calls: &Calls, dropped: usize) {
    while calls.count() < dropped {
        tokio::task::yield_now().await;
    }
}

fn ada() -> RunErrorKind {
    let (by, why) = ("Ada".to_owned(), "enough".to_owned());
    RunErrorKind::Cancelled { by, why }
}

/// Returns the contents of the cancellation in the thread's log: dropped tasks, and effects in
/// doubt.
async fn cancelled(
    desk: &Fixture,
    graph: &Graph<Page>,
) -> Result<(Vec<String>, Vec<String>), Failure> {
    let history = desk.runner(graph).history(&desk.thread, 1, 1_000).await?;
    let last = history.into_iter().next_back().map(|entry| entry.fact);
    match last {
        Some(Fact::Cancelled {
            by,
            why,
            dropped,
            in_doubt,
        }) => {
            same("by whom and why", (&*by, &*why), ("Ada", "enough"))?;
            Ok((dropped, in_doubt))
        }
        other => Err(Failure::new(format!(
            "the log should end in a cancellation, not {other:?}"
        ))),
    }
}

/// Cancelling drops running tasks, keeps finished ones, and records the dropped tasks and the
/// reason; another run can start.
pub async fn k19_d24_cancelling_keeps_what_was_finished(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let (calls, entered) = (Calls::default(), Arc::new(Semaphore::new(0)));
    let graph = Graph::<Page>::starting_at("open")
        .says(&Calls::default(), &["open", "quick"])
        .node("slow", hangs(&calls, &entered))
        .node("asks", async |_: Context<Page>| {
            Outcome::<Change>::ask(Question::new::<bool>("ok", "ok?"))
        })
        .way(&["open", "quick", END])
        .way(&["open", "slow", END])
        .way(&["open", "asks", END])
        .build()?;
    let runner = desk.runner(&graph);
    let run = runner.start(&desk.thread, ());
    enters(&entered).await?;
    while !desk.log.shape().join(" ").contains("asked")
        || !desk.log.shape().join(" ").contains("finished")
    {
        tokio::task::yield_now().await;
    }
    runner.cancel(&desk.thread, "Ada", "enough").await?;
    fails(run.await, ada())?;
    settles(&calls, 1).await;
    let (dropped, in_doubt) = cancelled(&desk, &graph).await?;
    same("what was dropped", dropped, texts(&["slow#1", "asks#1"]))?;
    same("what is in doubt", in_doubt, vec![])?;
    desk.stored(&graph, &["open", "quick"]).await?;
    fails(
        runner.resume(&desk.thread, Answers::only(true)?).await,
        RunErrorKind::Answer(AnswerError::NothingAsked),
    )?;
    fails(runner.retry(&desk.thread).await, RunErrorKind::NothingToDo)?;
    let again = runner.start(&desk.thread, line("again"));
    enters(&entered).await?;
    runner.cancel(&desk.thread, "Ada", "enough").await?;
    fails(again.await, ada())
}

/// Cancelling waits for an action of class `Once` until its timeout: its receipt is kept, or it is
/// recorded as in doubt.
pub async fn k19_cancelling_waits_for_an_action(factory: &dyn LogFactory) -> Verdict {
    for ends in [true, false] {
        let desk = Fixture::of(factory).await?;
        let door = Door::default();
        let waits = door.clone();
        let graph = Graph::<Page>::starting_at("send")
            .node("send", move |cx: Context<Page>| {
                let waits = waits.clone();
                async move {
                    let act = move |_| async move {
                        waits.pass().await;
                        Ok::<_, BoxError>("sent".to_owned())
                    };
                    let time = if ends { 60_000 } else { 40 };
                    let effect = Effect::once().timeout(Duration::from_millis(time));
                    Ok::<_, BoxError>(line(cx.effect("mail", effect, &(), act).await?))
                }
            })
            .edge("send", END)
            .build()?;
        let runner = desk.runner(&graph);
        let run = tokio::spawn(runner.start(&desk.thread, ()).into_future());
        door.reached().await;
        runner.cancel(&desk.thread, "Ada", "enough").await?;
        tokio::time::sleep(Duration::from_millis(20)).await;
        holds(!run.is_finished(), || {
            "the run ended before its action".into()
        })?;
        if ends {
            door.open();
        }
        let ended = run.await.map_err(|error| Failure::new(error.to_string()))?;
        fails(ended, ada())?;
        let receipts = desk.log.shape().join(" ").matches("receipt").count();
        same("receipts", receipts, usize::from(ends))?;
        let (dropped, in_doubt) = cancelled(&desk, &graph).await?;
        same("what was dropped", dropped, texts(&["send#1"]))?;
        let doubts: &[&str] = if ends { &[] } else { &["send#1: mail"] };
        same("what is in doubt", in_doubt, texts(doubts))?;
    }
    Ok(())
}

/// Subgraphs of any depth stop with the run: their nodes are dropped, and named.
pub async fn k19_cancelling_stops_subgraphs(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let (calls, entered) = (Calls::default(), Arc::new(Semaphore::new(0)));
    let deepest = Graph::<Page>::starting_at("slow")
        .node("slow", hangs(&calls, &entered))
        .edge("slow", END)
        .build()?;
    let enter = |_: fugato_graph::SubgraphInput<'_, Page>| Ok::<_, BoxError>(Page::default());
    let leave = |_: &Page, _: &Page| line("left");
    let inner = Graph::<Page>::starting_at("inner")
        .subgraph("inner", &deepest, enter, leave)
        .edge("inner", END)
        .build()?;
    let graph = Graph::<Page>::starting_at("plan")
        .says(&Calls::default(), &["plan"])
        .subgraph("worker", &inner, enter, leave)
        .scatter("plan", "worker", |_| 0..2)
        .edge("worker", END)
        .build()?;
    let runner = desk.runner(&graph);
    let run = runner.start(&desk.thread, ());
    for _ in 0..2 {
        enters(&entered).await?;
    }
    runner.cancel(&desk.thread, "Ada", "enough").await?;
    fails(run.await, ada())?;
    settles(&calls, 2).await;
    let (mut dropped, _) = cancelled(&desk, &graph).await?;
    dropped.sort();
    let expected = [
        "worker#1[0]",
        "worker#1[0]/inner#1",
        "worker#1[0]/inner#1/slow#1",
        "worker#1[1]",
        "worker#1[1]/inner#1",
        "worker#1[1]/inner#1/slow#1",
    ];
    same("what was dropped", dropped, texts(&expected))?;
    desk.stored(&graph, &["plan"]).await
}

/// A thread that waits for an answer, for a time, or for recovery after a crash is cancelled at
/// once, by any process.
pub async fn k19_what_waits_is_cancelled_at_once(factory: &dyn LogFactory) -> Verdict {
    for how in ["parked", "sleeping", "crashed"] {
        let mut desk = Fixture::of(factory).await?;
        let killer = Killer::default();
        let kills = killer.clone();
        let policy = NodePolicy::default().attempts(2);
        let graph = Graph::<Page>::starting_at("a")
            .says(&Calls::default(), &["a"])
            .node("b", move |_: Context<Page>| {
                if how == "crashed" {
                    kills.kill();
                }
                async move {
                    match how {
                        "parked" => Ok(Outcome::ask(Question::new::<bool>("ok", "ok?"))),
                        "sleeping" => Err("boom"),
                        _ => Ok(Outcome::done([line("b")])),
                    }
                }
            })
            .policy(
                "b",
                policy.backoff(Duration::from_secs(99), Duration::from_secs(99)),
            )
            .way(&["a", "b", END])
            .build()?;
        killer.aim(&desk);
        let options = RunnerOptions::default().longest_sleep(Duration::ZERO);
        let ended = desk
            .runner_with(&graph, options)
            .start(&desk.thread, ())
            .await;
        match how {
            "parked" => drop(parked(ended)?),
            "crashed" => drop(kind(ended)?),
            _ => drop(ended?),
        }
        desk.another_process();
        desk.runner(&graph)
            .cancel(&desk.thread, "Ada", "enough")
            .await?;
        let (dropped, _) = cancelled(&desk, &graph).await?;
        same(how, dropped, texts(&["b#1"]))?;
        same(how, desk.page(&graph).await?.lines, texts(&["a"]))?;
        let head = desk.log_of().head(&desk.thread).await?;
        same(how, head.map(|head| head.status), Some(Status::Idle))?;
    }
    Ok(())
}

/// Each budget has an error of its own. A run that has used one up fails before its next step. The
/// use survives its process, and the next run starts from zero.
pub async fn k19_each_budget_has_its_own_error(factory: &dyn LogFactory) -> Verdict {
    for meter in [
        BudgetUnit::Rounds,
        BudgetUnit::ModelCalls,
        BudgetUnit::ToolCalls,
        BudgetUnit::Tokens,
    ] {
        for crash in [
            None,
            Some(AppendFault::DiesBefore),
            Some(AppendFault::DiesAfter),
        ] {
            let mut desk = Fixture::of(factory).await?;
            let graph = Graph::<Page>::starting_at("a")
                .node("a", move |cx: Context<Page>| {
                    cx.spend(meter, 30);
                    std::future::ready(line("a"))
                })
                .branch("a", ["a", END], |_| "a")
                .build()?;
            let options = RunnerOptions::default()
                .budget(meter, 100)
                .budget(BudgetUnit::WallTime, 999_999);
            for nth in [2].into_iter().filter(|_| crash.is_some()) {
                desk.log.cut(nth, crash.unwrap_or(AppendFault::Full));
            }
            let mut ended = desk
                .runner_with(&graph, options.clone())
                .start(&desk.thread, ())
                .await;
            if crash.is_some() {
                kind(ended)?;
                desk.another_process();
                ended = desk
                    .runner_with(&graph, options.clone())
                    .recover(&desk.thread)
                    .await;
            }
            let limit = 100;
            let what = format!("{meter:?}, {crash:?}");
            fails(ended, RunErrorKind::Budget { meter, limit })?;
            same(&what, desk.page(&graph).await?.lines.len(), 4)?;
            let again = desk
                .runner_with(&graph, options)
                .start(&desk.thread, ())
                .await;
            fails(again, RunErrorKind::Budget { meter, limit })?;
            same(&what, desk.page(&graph).await?.lines.len(), 8)?;
        }
    }
    Ok(())
}

/// Wall time is counted while the run runs, over all of its processes, and not while it is parked.
pub async fn k19_wall_time_is_a_budget(factory: &dyn LogFactory) -> Verdict {
    let mut desk = Fixture::of(factory).await?;
    let graph = Graph::<Page>::starting_at("ask")
        .pause("ask", |_| "on?", |_, on: bool| line(on.to_string()))
        .node("a", async |_: Context<Page>| {
            tokio::time::sleep(Duration::from_millis(30)).await;
            line("a")
        })
        .edge("ask", "a")
        .branch("a", ["ask", END], |_| "ask")
        .build()?;
    let limit = 100;
    let options = RunnerOptions::default().budget(BudgetUnit::WallTime, limit);
    let mut ended = desk
        .runner_with(&graph, options.clone())
        .start(&desk.thread, ())
        .await;
    let mut rounds = 0;
    loop {
        if let Err(error) = ended {
            let meter = BudgetUnit::WallTime;
            same(
                "the error",
                error.kind,
                RunErrorKind::Budget { meter, limit },
            )?;
            break;
        }
        parked(ended)?;
        rounds += 1;
        holds(rounds < 6, || "time is not counted".into())?;
        desk.another_process();
        let runner = desk.runner_with(&graph, options.clone());
        ended = runner.resume(&desk.thread, Answers::only(true)?).await;
    }
    // A minute passed at each pause; each round takes a little more than 30 ms, by any clock.
    holds(rounds >= 1, || "time at rest is counted".into())
}
