//! Scenarios of leases: K14.
use std::time::Duration;

use fugato_graph::{Answers, Context, END, Graph, RunErrorKind, RunnerOptions, StateEdit};
use fugato_store::{LeaseOutcome, LeaseRequest, StoreErrorKind};

use super::{
    fixture::{Calls, Fixture, Page, fails, finished, kind, line, parked, question, thread},
    world::{Door, NamedNodesExt, WiringExt, texts},
};
use crate::log::{Failure, LogFactory, Verdict, holds, same};

/// A node that waits at a door and notes its drop.
#[derive(Default)]
struct HeldNode {
    door: Door,
    calls: Calls,
}

/// A guard that notes its drop.
struct Note(Calls);

impl Drop for Note {
    fn drop(&mut self) {
        self.0.note("dropped");
    }
}

impl HeldNode {
    fn graph(&self) -> Result<Graph<Page>, Failure> {
        let (waits, calls) = (self.door.node("held"), self.calls.clone());
        Ok(Graph::<Page>::starting_at("a")
            .says(&Calls::default(), &["a"])
            .node("held", move |cx: Context<Page>| {
                let (waiting, note) = (waits(cx), Note(calls.clone()));
                async move {
                    let _note = note;
                    waiting.await
                }
            })
            .way(&["a", "held", END])
            .build()?)
    }

    /// Waits until its future was dropped.
    async fn dropped(&self) {
        while self.calls.count() == 0 {
            tokio::task::yield_now().await;
        }
    }
}

fn short() -> RunnerOptions {
    RunnerOptions::default().lease(Duration::from_millis(60))
}

/// While one process runs a thread, every request of another is refused as busy, with the owner;
/// nothing is written.
pub async fn k14_a_busy_thread_refuses_others(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let waits = HeldNode::default();
    let graph = waits.graph()?;
    let options = RunnerOptions::default().owner("the first");
    let run = desk.runner_with(&graph, options).start(&desk.thread, ());
    waits.door.reached().await;
    let head = desk.head().await?;
    let other = desk.runner(&graph);
    let amendment = StateEdit::new([line("x")], "Ada", "to see");
    let refused = [
        other.start(&desk.thread, line("x")).await,
        other.resume(&desk.thread, Answers::only(true)?).await,
        other.recover(&desk.thread).await,
        other.retry(&desk.thread).await,
        other.amend(&desk.thread, amendment).await,
    ];
    for refused in refused {
        let refused = kind(refused)?;
        let busy = matches!(&refused, RunErrorKind::Busy { owner, .. } if owner == "the first");
        holds(busy, || format!("got {refused:?}"))?;
    }
    same("the head", desk.head().await?, head)?;
    waits.door.open();
    finished(run.await)?.said(&["a", "held"])
}

/// A process that lost its lease gets the error at its next renewal: its node is dropped, its run
/// stops, and none of its later results is committed.
pub async fn k14_a_lost_lease_stops_the_run(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let waits = HeldNode::default();
    let graph = waits.graph()?;
    let run = desk.runner_with(&graph, short()).start(&desk.thread, ());
    waits.door.reached().await;
    // The process is suspended for longer than its lease, and another one takes the thread.
    desk.clock.advance(120_000);
    let acquire = LeaseRequest::Acquire {
        thread: desk.thread.clone(),
        owner: "the second".into(),
        ttl: 10_000,
    };
    let LeaseOutcome::Granted(leases) = desk.log_of().lease(acquire).await? else {
        return Err(Failure::new("a lease should be granted"));
    };
    let head = desk.head().await?;
    fails(run.await, RunErrorKind::Store(StoreErrorKind::LeaseLost))?;
    waits.dropped().await;
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

/// A lease is renewed for the whole run, however short the lease is.
pub async fn k14_a_lease_is_renewed(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let waits = HeldNode::default();
    let graph = waits.graph()?;
    let run = desk.runner_with(&graph, short()).start(&desk.thread, ());
    waits.door.reached().await;
    for _ in 0..4 {
        // The store's clock advances by less than a lease; a renewal is due after a third of it.
        desk.clock.advance(40);
        tokio::time::sleep(Duration::from_millis(45)).await;
    }
    let other = kind(desk.start(&graph).await)?;
    let busy = matches!(other, RunErrorKind::Busy { .. });
    holds(busy, || format!("got {other:?}"))?;
    waits.door.open();
    finished(run.await)?;
    Ok(())
}

/// A cancel request needs no lease. It reaches the owner with its next renewal, while a node runs.
pub async fn k14_a_cancel_signal_arrives_by_renewal(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let waits = HeldNode::default();
    let graph = waits.graph()?;
    let run = desk.runner_with(&graph, short()).start(&desk.thread, ());
    waits.door.reached().await;
    desk.runner(&graph)
        .cancel(&desk.thread, "Ada", "enough")
        .await?;
    let (by, why) = ("Ada".to_owned(), "enough".to_owned());
    fails(run.await, RunErrorKind::Cancelled { by, why })?;
    waits.dropped().await;
    desk.stored(&graph, &["a"]).await
}

/// A cancel request reaches the owner with its next append, long before a renewal.
pub async fn k14_a_cancel_signal_arrives_by_append(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let door = Door::default();
    let graph = Graph::<Page>::starting_at("a")
        .node("a", door.node("a"))
        .says(&Calls::default(), &["b"])
        .way(&["a", "b", END])
        .build()?;
    // The thread exists already: a thread that was never stored has no signals.
    door.open();
    finished(desk.start(&graph).await)?;
    door.reached().await;
    let hour = RunnerOptions::default().lease(Duration::from_secs(3_600));
    let run = desk.runner_with(&graph, hour).start(&desk.thread, ());
    door.reached().await;
    desk.runner(&graph)
        .cancel(&desk.thread, "Ada", "enough")
        .await?;
    door.open();
    let (by, why) = ("Ada".to_owned(), "enough".to_owned());
    fails(run.await, RunErrorKind::Cancelled { by, why })?;
    let said = desk.page(&graph).await?.lines;
    same("what is kept", said, texts(&["a", "b", "a"]))
}

/// There is nothing to cancel in a thread that does not exist, or that is at rest.
pub async fn k14_there_may_be_nothing_to_cancel(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let waits = HeldNode::default();
    let graph = waits.graph()?;
    let runner = desk.runner(&graph);
    let never = runner.cancel(&thread("never"), "Ada", "enough").await;
    same(
        "a thread that never was",
        never.err().map(|e| e.kind),
        Some(RunErrorKind::NothingToDo),
    )?;
    waits.door.open();
    finished(runner.start(&desk.thread, ()).await)?;
    let head = desk.head().await?;
    let ended = runner.cancel(&desk.thread, "Ada", "enough").await;
    same(
        "a thread at rest",
        ended.err().map(|e| e.kind),
        Some(RunErrorKind::NothingToDo),
    )?;
    same("the head", desk.head().await?, head)
}

/// Time is the store's: this machine's clock has no effect on a node, a lease or a question.
pub async fn k14_time_is_the_stores(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let graph = Graph::<Page>::starting_at("a")
        .node("a", async |cx: Context<Page>| line(cx.now().to_string()))
        .edge("a", END)
        .build()?;
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
) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let says = |name| move |_: &Page, more: bool| line(format!("{name} {more}"));
    let graph = Graph::<Page>::starting_at("open")
        .says(&Calls::default(), &["open", "last"])
        .pause("a", |_| "a?", says("a"))
        .pause("b", |_| "b?", says("b"))
        .way(&["open", "a"])
        .way(&["open", "b"])
        .join(["a", "b"], "last")
        .edge("last", END)
        .build()?;
    parked(desk.start(&graph).await)?;
    desk.clock.advance(5 - desk.clock.now());
    question(desk.resume(&graph, Answers::to("a#1~1", true)?).await)?;
    desk.clock.advance(-4);
    let page = finished(desk.resume(&graph, Answers::only(false)?).await)?;
    let said = ["open", "a true", "b false", "last"];
    page.said(&said)?;
    desk.stored(&graph, &said).await
}
