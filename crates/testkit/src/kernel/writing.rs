//! Scenarios of a single writer, and of durability: K13 and K15.
use expect_test::expect;
use fugato_graph::{Context, END, Graph, RunErrorKind};
use fugato_store::{LeaseRequest, Status, StoreErrorKind};

use super::{
    fixture::{Calls, Fixture, Page, finished, kind, line},
    script::check,
    world::{NamedNodesExt, TestGate, WiringExt, alone, texts},
};
use crate::log::{CheckResult, Failure, LogFactory, holds, same};

fn held(door: &TestGate) -> Result<Graph<Page>, Failure> {
    Ok(alone("a", door.node("a"))?)
}

/// Of two runs of one thread at the same time, one is refused and has changed nothing.
pub async fn k13_of_two_runs_one_is_refused(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let door = TestGate::default();
    let graph = held(&door)?;
    let first = desk.runner(&graph).start(&desk.thread, line("one"));
    door.reached().await;
    let second = desk.runner(&graph).start(&desk.thread, line("two"));
    let second = tokio::select! {
        ended = second.into_future() => kind(ended)?,
        () = door.reached() => return Err(Failure::new("two runs are under way at once")),
    };
    holds(matches!(second, RunErrorKind::Busy { .. }), || {
        format!("got {second:?}")
    })?;
    door.open();
    let page = finished(first.await)?;
    same("what the first said", page.lines, texts(&["one", "a"]))?;
    door.open();
    let page = finished(desk.runner(&graph).start(&desk.thread, line("two")).await)?;
    let both = texts(&["one", "a", "two", "a"]);
    same("what both said", page.lines, both)
}

/// A writer that lost its thread to another gets a conflict, and has written nothing.
pub async fn k13_an_old_owner_writes_nothing(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let (old_door, new_door) = (TestGate::default(), TestGate::default());
    let runner = desk.runner(&held(&old_door)?);
    let old = runner.start(&desk.thread, line("old"));
    old_door.reached().await;
    // The process is suspended for longer than its lease.
    desk.clock.advance(60_000);
    let graph = held(&new_door)?;
    let runner = desk.runner(&graph);
    let new = runner.start(&desk.thread, line("new"));
    new_door.reached().await;
    old_door.open();
    let lost = kind(old.await)?;
    let conflict = matches!(lost, RunErrorKind::Store(StoreErrorKind::Conflict { .. }));
    holds(conflict, || format!("the old owner got {lost:?}"))?;
    same("the head after the old owner", desk.head().await?, 0)?;
    new_door.open();
    let said = ["new", "a"];
    finished(new.await)?.said(&said)?;
    desk.stored(&graph, &said).await
}

/// A foreign record at the next position is a conflict for a run that does not know it.
pub async fn k13_a_moved_head_is_a_conflict(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let door = TestGate::default();
    let graph = held(&door)?;
    finished({
        door.open();
        desk.start(&graph).await
    })?;
    door.reached().await;
    let run = desk.runner(&graph).start(&desk.thread, line("lost"));
    door.reached().await;
    let head = desk.head().await?;
    let copy = desk.log_of().read(&desk.thread, head, 1).await?;
    for (_, record) in copy {
        desk.foreign(&desk.thread, record.0, Status::Runnable)
            .await?;
    }
    door.open();
    let lost = kind(run.await)?;
    let conflict = matches!(lost, RunErrorKind::Store(StoreErrorKind::Conflict { .. }));
    holds(conflict, || format!("got {lost:?}"))?;
    same("the head", desk.head().await?, head + 1)
}

/// After a lost acknowledgement the append is repeated: no record is written twice.
pub async fn k13_a_lost_answer_writes_nothing_twice(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > lose 1 then start
        = + a | b | c; ran a#1 b#1 c#1
        [created, started -> a#1, stepped a#1 -> b#1 +a] [stepped b#1 -> c#1 +b]
        [stepped c#1 +c, run_ended] idle
        > fresh then lose 2 then start
        = + a | b | c; ran a#1 b#1 c#1
        [created, started -> a#1, stepped a#1 -> b#1 +a] [stepped b#1 -> c#1 +b]
        [stepped c#1 +c, run_ended] idle
        > fresh then lose 3 then start
        = + a | b | c; ran a#1 b#1 c#1
        [created, started -> a#1, stepped a#1 -> b#1 +a] [stepped b#1 -> c#1 +b]
        [stepped c#1 +c, run_ended] idle
    "#]];
    check(factory, "a -> b -> c", expected).await
}

fn chain(calls: &Calls) -> Result<Graph<Page>, Failure> {
    Ok(Graph::<Page>::starting_at("a")
        .says(calls, &["a", "b", "c"])
        .way(&["a", "b", "c", END])
        .build()?)
}

/// A step is durable before the next one starts: each node finds in the log all that its state
/// contains.
pub async fn k15_a_step_is_durable_before_the_next(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let checks = {
        let (log, thread) = (desk.opened.log.clone(), desk.thread.clone());
        move |cx: Context<Page>| {
            let (log, thread) = (log.clone(), thread.clone());
            async move {
                let records = log.read(&thread, 1, 1_000).await?;
                let text = records
                    .iter()
                    .map(|(_, record)| String::from_utf8_lossy(&record.0));
                let text: String = text.collect();
                let stored = cx
                    .state()
                    .lines
                    .iter()
                    .all(|line| text.contains(line.as_str()));
                Ok::<_, fugato_graph::BoxError>(line(format!("{} {stored}", cx.task())))
            }
        }
    };
    let graph = Graph::<Page>::starting_at("a")
        .node("a", checks.clone())
        .node("b", checks.clone())
        .node("c", checks.clone())
        .node("d", checks)
        .fork("a", &["b", "c"], "d")
        .edge("d", END)
        .build()?;
    let page = finished(desk.start(&graph).await)?;
    let expected = ["a#1 true", "b#1 true", "c#1 true", "d#1 true"];
    same(
        "what was stored",
        page.lines,
        expected.map(str::to_owned).to_vec(),
    )
}

/// Control records share appends: start and pause are one append, answer and end another.
pub async fn k15_start_to_pause_and_answer_to_end_are_one_append_each(
    factory: &dyn LogFactory,
) -> CheckResult {
    super::append_of_a_pause(factory).await
}

/// A failed write stops the run before the next node, the readers get an error, and the thread can
/// go on when there is room again.
pub async fn k15_a_failed_write_stops_the_run(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > full 1 then live start in
        - failed
        ! after 1 steps: the log failed (Store Full; new)
        ran a#1
        > start in
        = + in | a | b | c; ran a#1 b#1 c#1
        [created, started -> a#1 +in, stepped a#1 -> b#1 +a] [stepped b#1 -> c#1 +b]
        [stepped c#1 +c, run_ended] idle
        > fresh then full 2 then live start in
        2 started, resumed false
        3 a#1 try 1 done
        - failed
        ! after 2 steps: the log failed (Store Full; unfinished)
        + in | a; ran a#1 b#1
        [created, started -> a#1 +in, stepped a#1 -> b#1 +a]
        > recover
        = + b | c; ran b#1 try 2 c#1
        [resumed b#1 try 2] [stepped b#1 try 2 -> c#1 +b] [stepped c#1 +c, run_ended] idle
        > fresh then full 3 then live start in
        2 started, resumed false
        3 a#1 try 1 done
        4 b#1 try 1 done
        - failed
        ! after 3 steps: the log failed (Store Full; unfinished)
        + in | a | b; ran a#1 b#1 c#1
        [created, started -> a#1 +in, stepped a#1 -> b#1 +a] [stepped b#1 -> c#1 +b]
        > recover
        = + c; ran c#1 try 2
        [resumed c#1 try 2] [stepped c#1 try 2 +c, run_ended] idle
    "#]];
    check(factory, "a -> b -> c", expected).await
}

/// A thread at rest has no lease, so that any process can take it at once.
pub async fn k15_a_thread_at_rest_is_free(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    finished(
        desk.runner(&chain(&Calls::default())?)
            .start(&desk.thread, ())
            .await,
    )?;
    let acquire = LeaseRequest::Acquire {
        thread: desk.thread.clone(),
        owner: "somebody else".into(),
        ttl: 1_000,
    };
    desk.log_of().lease(acquire).await?;
    Ok(())
}
