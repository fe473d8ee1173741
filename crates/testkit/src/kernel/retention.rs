//! Scenarios of threads that have come to their end, and of their retention: K17.
use std::time::Duration;

use fugato_graph::{
    Answers, Context, END, Graph, Retention, RunErrorKind, Runner, RunnerOptions, ThreadStatus,
};
use fugato_state::ThreadId;
use fugato_store::LeaseRequest;

use super::{
    fixture::{Change, Fixture, Page, finished, kind, line, question, thread},
    world::WiringExt,
};
use crate::log::{CheckResult, Failure, LogFactory, same};

const KEPT: Duration = Duration::from_secs(7_200);

/// Returns a runner with this policy after one thread that waits, one that failed, and one that has
/// ended; none on a log without administration.
async fn one_of_each(desk: &Fixture, policy: Retention) -> Result<Option<Runner<Page>>, Failure> {
    if desk.opened.admin.is_none() {
        return Ok(None);
    }
    let graph = Graph::<Page>::starting_at("begin")
        .node("begin", async |_: Context<Page>| ())
        .branch("begin", ["ask", "work"], |page| {
            if page.route == "ask" { "ask" } else { "work" }
        })
        .pause("ask", |_| "sure?", |_, _: bool| None::<Change>)
        .node("work", async |cx: Context<Page>| match &*cx.state().route {
            "fail" => Err("it cannot be done".into()),
            _ => Ok(line("done")),
        })
        .way(&["ask", "work", END])
        .build()?;
    let options = RunnerOptions::default().on_complete(policy);
    let runner = desk.runner_with(&graph, options);
    let wish = |wish: &str| runner.start(&thread(wish), Change::Route(wish.into()));
    question(wish("ask").await)?;
    kind(wish("fail").await)?;
    finished(wish("work").await)?;
    Ok(Some(runner))
}

/// Compares the threads that a retirement removes, and those that are still there.
async fn retires(runner: &Runner<Page>, gone: &[&str], left: [bool; 3]) -> CheckResult {
    let expected: Vec<ThreadId> = gone.iter().map(|name| thread(name)).collect();
    same("what is retired", runner.retire().await?, expected)?;
    let mut there = vec![];
    for name in ["ask", "fail", "work"] {
        there.push(runner.status(&thread(name)).await? != ThreadStatus::New);
    }
    same("what is there", there, left.to_vec())
}

/// A finished thread is kept unless the program says otherwise.
pub async fn k17_a_finished_thread_is_kept_unless_somebody_says_otherwise(
    factory: &dyn LogFactory,
) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let Some(runner) = one_of_each(&desk, Retention::default()).await? else {
        return Ok(());
    };
    // Ten years later.
    desk.clock.advance(10 * 365 * 86_400_000);
    retires(&runner, &[], [true; 3]).await
}

/// A finished thread is kept for as long as the program says, from its last run on. Threads that
/// can still go on are kept, and so is one that somebody holds.
pub async fn k17_a_finished_thread_is_kept_for_a_while(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let Some(runner) = one_of_each(&desk, Retention::KeepFor(KEPT)).await? else {
        return Ok(());
    };
    desk.clock.advance(7_140_000);
    retires(&runner, &[], [true; 3]).await?;
    let again = runner.start(&thread("work"), ()).await;
    finished(again)?.said(&["done", "done"])?;
    desk.clock.advance(120_000);
    retires(&runner, &[], [true; 3]).await?;
    desk.clock.advance(7_200_000);
    let (owner, ttl) = ("somebody else".into(), 10_000);
    let thread_of_another = thread("work");
    desk.log_of()
        .lease(LeaseRequest::Acquire {
            thread: thread_of_another,
            owner,
            ttl,
        })
        .await?;
    retires(&runner, &[], [true; 3]).await?;
    desk.clock.advance(10_001);
    retires(&runner, &["work"], [true, true, false]).await?;
    let ask = thread("ask");
    finished(runner.resume(&ask, Answers::only(true)?).await)?.said(&["done"])
}

/// A finished thread is deleted at once, or at the next retirement, if the program says so; the next
/// request begins a new one.
pub async fn k17_a_finished_thread_is_deleted_at_once(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let policy = RunnerOptions::default().on_complete(Retention::Delete);
    let bare = Runner::on_log(
        Graph::starting_at("a")
            .node("a", async |_: Context<Page>| ())
            .edge("a", END)
            .build()?,
        desk.opened.log.clone(),
    );
    let refused = bare.options(policy).retire().await.err();
    let missing = RunErrorKind::Unsupported("administration");
    same(
        "without administration",
        refused.map(|error| error.kind),
        Some(missing),
    )?;
    for policy in [Retention::Delete, Retention::KeepFor(Duration::ZERO)] {
        let desk = Fixture::of(factory).await?;
        let later: &[&str] = match policy {
            Retention::Delete => &[],
            _ => &["work"],
        };
        let Some(runner) = one_of_each(&desk, policy).await? else {
            return Ok(());
        };
        for _ in 0..2 {
            retires(&runner, later, [true, true, false]).await?;
            finished(runner.start(&thread("work"), ()).await)?.said(&["done"])?;
        }
    }
    Ok(())
}
