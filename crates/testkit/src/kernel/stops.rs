//! Scenarios of cancelled runs and of runs over their budget: K19.
use std::time::Duration;

use expect_test::expect;
use fugato_graph::{
    Answers, BoxError, BudgetUnit, Context, END, Effect, Graph, RunErrorKind, RunnerOptions,
};

use super::{
    AppendFault,
    fixture::{Fixture, Page, fails, kind, line, parked},
    script::{check, check_with},
    world::{Stage, alone},
};
use crate::log::{CheckResult, LogFactory, holds, same};

/// Cancelling drops running tasks, keeps finished ones, and records the dropped tasks and the
/// reason; another run can start.
pub async fn k19_d24_cancelling_keeps_what_was_finished(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > in any order then begin start
        > written 5 then noted 4 then cancel then noted 5 then end
        ! after 1 steps: the run was cancelled by Ada: enough (Cancelled; idle)
        + open | quick; ran asks#1 dropped open#1 quick#1 slow#1
        {created, started -> open#1, stepped open#1 -> quick#1 slow#1 asks#1 +open, asked asks#1~1,
         finished quick#1 +quick, cancelled by Ada dropped asks#1 slow#1 because enough} idle
        > answer true
        ! no question is open (Answer NothingAsked; idle)
        > retry
        ! nothing in the thread can go on (NothingToDo; idle)
        > begin start again
        > written 4 then noted 4 then cancel then noted 5 then end
        ! after 1 steps: the run was cancelled by Ada: enough (Cancelled; idle)
        + again | open | quick; ran asks#2 dropped open#2 quick#2 slow#2
        {started -> open#2 +again, stepped open#2 -> quick#2 slow#2 asks#2 +open, asked asks#2~2,
         finished quick#2 +quick, cancelled by Ada dropped asks#2 slow#2 because enough} idle
    "#]];
    check(
        factory,
        "open -> quick slow asks; slow: hang; asks: ask ok",
        expected,
    )
    .await
}

/// Cancelling waits for an action of class `Once` until its timeout: its receipt is kept, or it is
/// recorded as in doubt.
pub async fn k19_cancelling_waits_for_an_action(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > begin start
        > reached then cancel then running
        = running
        > open then end
        ! the run was cancelled by Ada: enough (Cancelled; idle)
        [created, started -> send#1, intended send#1 mail input=null] [receipt send#1 mail value="sent"]
        [cancelled by Ada dropped send#1 because enough] idle
        > fresh late then begin start
        > reached then cancel then running
        = running
        > end
        ! the run was cancelled by Ada: enough (Cancelled; idle)
        [created, started -> send#1, intended send#1 mail input=null] [asked send#1~1] waiting
        [cancelled by Ada dropped send#1 in_doubt=["send#1: mail"] because enough] idle
    "#]];
    let graph = |stage: &Stage| {
        let door = stage.door.clone();
        let time = if stage.is("late") { 300 } else { 60_000 };
        let send = move |cx: Context<Page>| {
            let door = door.clone();
            async move {
                let act = move |_| async move {
                    door.pass().await;
                    Ok::<_, BoxError>("sent".to_owned())
                };
                let effect = Effect::once().timeout(Duration::from_millis(time));
                Ok::<_, BoxError>(line(cx.effect("mail", effect, &(), act).await?))
            }
        };
        alone("send", send)
    };
    check(factory, graph, expected).await
}

/// Subgraphs of any depth stop with the run: their nodes are dropped, and named.
pub async fn k19_cancelling_stops_subgraphs(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > in any order then begin start
        > noted 3 then cancel then noted 5 then end
        ! after 1 steps: the run was cancelled by Ada: enough (Cancelled; idle)
        + plan; ran dropped dropped plan#1 worker#1[0]/inner#1/slow#1 worker#1[1]/inner#1/slow#1
        {created, started -> plan#1, stepped plan#1 -> worker#1[0,1] +plan,
         entered@worker#1[0] -> inner#1 of 0, entered@worker#1[0]/inner#1 -> slow#1 of 0,
         entered@worker#1[1] -> inner#1 of 1, entered@worker#1[1]/inner#1 -> slow#1 of 1,
         cancelled by Ada dropped worker#1[0] worker#1[0]/inner#1 worker#1[0]/inner#1/slow#1 worker#1[1] worker#1[1]/inner#1 worker#1[1]/inner#1/slow#1 because enough} idle
    "#]];
    check(
        factory,
        "plan -> worker*2; worker/ inner; worker/inner/ slow; worker/inner/ slow: hang",
        expected,
    )
    .await
}

/// A thread that waits for an answer, for a time, or for recovery after a crash is cancelled at
/// once, by any process.
pub async fn k19_what_waits_is_cancelled_at_once(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start
        ? b#1~1 ok: "ok?" boolean
        + a; ran a#1 b#1
        [created, started -> a#1, stepped a#1 -> b#1 +a] [asked b#1~1] waiting
        > another process then cancel
        [cancelled by Ada dropped b#1 because enough] idle
        > fresh sleeping then start
        = sleeps; + a; ran a#1 b#1
        [created, started -> a#1, stepped a#1 -> b#1 +a] [failed b#1 (boom) again later] sleeping
        > another process then cancel
        [cancelled by Ada dropped b#1 because enough] idle
        > fresh crashed then start
        ! after 2 steps: the log failed (Store Other; unfinished)
        + a; ran a#1 b#1
        [created, started -> a#1, stepped a#1 -> b#1 +a]
        > another process then cancel
        [cancelled by Ada dropped b#1 because enough] idle
    "#]];
    check_with(
        factory,
        RunnerOptions::default().longest_sleep(Duration::ZERO),
        "a -> b; b: ask ok; @sleeping b: fail, tries 2 after 99000; @crashed b: die",
        expected,
    )
    .await
}

/// Each budget has an error of its own. A run that has used one up fails before its next step. The
/// use survives its process, and the next run starts from zero.
pub async fn k19_each_budget_has_its_own_error(factory: &dyn LogFactory) -> CheckResult {
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
pub async fn k19_wall_time_is_a_budget(factory: &dyn LogFactory) -> CheckResult {
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
