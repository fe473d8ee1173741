//! Scenarios of leases: K14.
use std::{future::IntoFuture, time::Duration};

use expect_test::expect;
use fugato_graph::{Context, Next, RunErrorKind, RunnerOptions};
use fugato_store::{LeaseOutcome, LeaseRequest, StoreErrorKind};
use futures::FutureExt;

use super::{
    fixture::{Fixture, Page, fails, finished, kind, line},
    script::{BuildResult, check, check_with},
    wiring::DropNote,
    world::{Stage, alone},
};
use crate::log::{CheckResult, Failure, LogFactory, holds, same};

/// Builds a, then a node that waits at the door, and notes its drop.
fn held(stage: &Stage) -> BuildResult {
    let (waits, calls) = (stage.door.node("held"), stage.calls.clone());
    let held = move |cx: Context<Page>| {
        let (waiting, note) = (waits(cx), DropNote(calls.clone()));
        async move {
            let _note = note;
            waiting.await
        }
    };
    let graph = stage.wire("a -> held; held: elsewhere")?;
    graph.node("held", held).build()
}

fn short() -> RunnerOptions {
    RunnerOptions::default().lease(Duration::from_millis(60))
}

/// While one process runs a thread, every request of another is refused as busy, with the owner;
/// nothing is written.
pub async fn k14_a_busy_thread_refuses_others(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > begin start
        > reached then start x
        ! the thread is run by the first, whose lease lasts until <time> (Busy; unfinished)
        > answer true
        ! the thread is run by the first, whose lease lasts until <time>: while tasks of a run work, answers are taken by the process that runs it; when all of them rest, by every process (Busy; unfinished)
        > recover
        ! the thread is run by the first, whose lease lasts until <time> (Busy; unfinished)
        > retry
        ! the thread is run by the first, whose lease lasts until <time> (Busy; unfinished)
        > amend x
        ! the thread is run by the first, whose lease lasts until <time> (Busy; unfinished)
        > open then end
        = + a | held; ran a#1 held#1
        [created, started -> a#1, stepped a#1 -> held#1 +a] [stepped held#1 +held, run_ended] idle
    "#]];
    check_with(
        factory,
        RunnerOptions::default().owner("the first"),
        "a -> held; held: door",
        expected,
    )
    .await
}

/// A process that lost its lease gets the error at its next renewal: its node is dropped, its run
/// stops, and none of its later results is committed.
pub async fn k14_a_lost_lease_stops_the_run(factory: &dyn LogFactory) -> CheckResult {
    let stage = Stage::of(Fixture::of(factory).await?, "");
    let (desk, graph) = (&stage.desk, held(&stage)?);
    let run = desk.runner_with(&graph, short()).start(&desk.thread, ());
    stage.door.reached().await;
    // The process is suspended for longer than its lease, and another one takes the thread.
    let leases = loop {
        desk.clock.advance(120_000);
        let acquire = LeaseRequest::Acquire {
            thread: desk.thread.clone(),
            owner: "the second".into(),
            ttl: 10_000,
        };
        match desk.log_of().lease(acquire).await {
            Ok(LeaseOutcome::Granted(leases)) => break leases,
            // The first renewed its lease in between.
            Err(busy) if matches!(busy.kind, StoreErrorKind::Busy { .. }) => {}
            other => return Err(Failure::new(format!("got {other:?}"))),
        }
    };
    let head = desk.head().await?;
    fails(run.await, RunErrorKind::Store(StoreErrorKind::LeaseLost))?;
    // a, and the drop.
    while stage.calls.count() < 2 {
        tokio::task::yield_now().await;
    }
    same("the head", desk.head().await?, head)?;
    for lease in leases {
        let (thread, fence) = (lease.thread, lease.fence);
        let ttl = 1_000;
        desk.log_of()
            .lease(LeaseRequest::Renew { thread, fence, ttl })
            .await?;
    }
    Ok(())
}

/// A process that was suspended for longer than its lease goes on if nobody took the thread.
pub async fn k14_a_lease_that_nobody_took_goes_on(factory: &dyn LogFactory) -> CheckResult {
    let stage = Stage::of(Fixture::of(factory).await?, "");
    let (desk, graph) = (&stage.desk, held(&stage)?);
    let run = desk.runner_with(&graph, short()).start(&desk.thread, ());
    let mut run = run.into_future();
    stage.door.reached().await;
    for _ in 0..4 {
        desk.clock.advance(120_000);
        while desk
            .log_of()
            .head(&desk.thread)
            .await?
            .is_none_or(|head| head.leased_until.is_none())
        {
            if let Some(ended) = run.as_mut().now_or_never() {
                return Err(Failure::new(format!("it ended: {ended:?}")));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    stage.door.open();
    finished(run.await)?;
    Ok(())
}

/// A process that was suspended for longer than its lease takes no thread from its own run, although
/// the lease is over and not yet renewed: neither looks for work, nor another request, nor an engine.
pub async fn k14_a_process_takes_nothing_from_itself(factory: &dyn LogFactory) -> CheckResult {
    let stage = Stage::of(Fixture::of(factory).await?, "");
    let (desk, graph) = (&stage.desk, held(&stage)?);
    // It is renewed when the test is over.
    let lease = Duration::from_secs(600);
    let runner = desk.runner_with(&graph, RunnerOptions::default().lease(lease));
    let run = runner.start(&desk.thread, ());
    stage.door.reached().await;
    let sleeps = || desk.clock.advance(1_200_000);
    sleeps();
    same("due", runner.due(9).await?, vec![])?;
    sleeps();
    let busy = |kind: &RunErrorKind| matches!(kind, RunErrorKind::Busy { .. });
    let started = kind(runner.start(&desk.thread, ()).await)?;
    holds(busy(&started), || format!("a start: {started:?}"))?;
    sleeps();
    let next = runner.drive(&desk.thread, lease).await?;
    holds(matches!(next, Next::Retry { .. }), || format!("{next:?}"))?;
    sleeps();
    stage.door.open();
    finished(run.await)?;
    Ok(())
}

/// A lease is renewed for the whole run, however short the lease is.
pub async fn k14_a_lease_is_renewed(factory: &dyn LogFactory) -> CheckResult {
    let stage = Stage::of(Fixture::of(factory).await?, "");
    let (desk, graph) = (&stage.desk, held(&stage)?);
    let run = desk.runner_with(&graph, short()).start(&desk.thread, ());
    stage.door.reached().await;
    let busy = async || match kind(desk.start(&graph).await)? {
        RunErrorKind::Busy { until, .. } => Ok(until),
        other => Err(Failure::new(format!("got {other:?}"))),
    };
    let mut until = busy().await?;
    for _ in 0..4 {
        // The store's clock advances by less than a lease; a renewal is due after a third of it.
        desk.clock.advance(40);
        let before = until;
        while until == before {
            tokio::time::sleep(Duration::from_millis(5)).await;
            until = busy().await?;
        }
    }
    stage.door.open();
    finished(run.await)?;
    Ok(())
}

/// A cancel request needs no lease. It reaches the owner with its next renewal, while a node runs.
pub async fn k14_a_cancel_signal_arrives_by_renewal(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > begin start
        > noted 2 then cancel then noted 3 then end
        ! after 1 steps: the run was cancelled by Ada: enough (Cancelled; idle)
        + a; ran a#1 dropped held#1
        [created, started -> a#1, stepped a#1 -> held#1 +a]
        [cancelled by Ada dropped held#1 because enough] idle
    "#]];
    check_with(factory, short(), "a -> held; held: hang", expected).await
}

/// A cancel request reaches the owner with its next append, long before a renewal.
pub async fn k14_a_cancel_signal_arrives_by_append(factory: &dyn LogFactory) -> CheckResult {
    // The thread exists already: a thread that was never stored has no signals.
    let expected = expect![[r#"
        > open then start
        = + a | b; ran a#1 b#1
        [created, started -> a#1, stepped a#1 -> b#1 +a] [stepped b#1 +b, run_ended] idle
        > reached then begin start
        > reached then cancel then open then end
        ! after 1 steps: the run was cancelled by Ada: enough (Cancelled; idle)
        + a; ran a#2
        [started -> a#2, stepped a#2 -> b#2 +a] [cancelled by Ada dropped b#2 because enough] idle
    "#]];
    let hour = RunnerOptions::default().lease(Duration::from_secs(3_600));
    check_with(factory, hour, "a -> b; a: door", expected).await
}

/// There is nothing to cancel in a thread that does not exist, or that is at rest.
pub async fn k14_there_may_be_nothing_to_cancel(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > thread never then cancel
        ! nothing in the thread can go on (NothingToDo; new)
        > thread desk then start
        = + a; ran a#1
        [created, started -> a#1, stepped a#1 +a, run_ended] idle
        > cancel
        ! nothing in the thread can go on (NothingToDo; idle)
    "#]];
    check(factory, "a", expected).await
}

/// Time is the store's: this machine's clock has no effect on a node, a lease or a question.
pub async fn k14_time_is_the_stores(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let graph = alone("a", async |cx: Context<Page>| line(cx.now().to_string()))?;
    let runner = desk.runner(&graph);
    finished(runner.start(&desk.thread, ()).await)?;
    desk.clock.advance(86_400_000);
    let page = finished(runner.start(&desk.thread, ()).await)?;
    let day = 2_000_000_000_000_i64;
    for (said, expected) in page.lines.iter().zip([day, day + 86_400_000]) {
        let passed = said.parse::<i64>().map(|now| now - expected);
        holds(matches!(passed, Ok(0..60_000)), || {
            format!("a node was told {said}")
        })?;
    }
    let history = runner.history(&desk.thread, 1, 100).await?;
    let of_store = history
        .iter()
        .all(|entry| (0..90_000_000).contains(&(entry.at - day)));
    holds(of_store, || format!("history is {history:?}"))
}

/// A clock that steps back, on the store too, restores nothing old: the order of records decides.
pub async fn k14_d20_a_clock_that_steps_back_restores_nothing_old(
    factory: &dyn LogFactory,
) -> CheckResult {
    let expected = expect![[r#"
        > start
        ? a#1~1 "ok?" boolean
        ? b#1~2 "ok?" boolean
        + open; ran open#1
        [created, started -> open#1, stepped open#1 -> a#1 b#1 +open, asked a#1~1, asked b#1~2] waiting
        > wait -1999999999995 then answer a#1~1=true
        ? b#1~2 "ok?" boolean
        [answered a#1~1=true, finished a#1 +true] waiting
        > wait -4 then answer false
        = + true | false | last; ran last#1
        [answered b#1~2=false, finished b#1 +false, closed last<a last<b joined last -> last#1]
        [stepped last#1 +last, run_ended] idle
    "#]];
    check(factory, "open -> a b -> last; a: pause; b: pause", expected).await
}
