//! Scenarios of the durability modes: K15.
use std::time::Duration;

use expect_test::expect;
use fugato_graph::{BoxError, Context, Durability, END, Graph, RunErrorKind, RunnerOptions};
use fugato_state::EffectClass;
use fugato_store::StoreErrorKind;
use fugato_stream::EventKind;
use futures::StreamExt as _;

use super::{
    AppendFault,
    fixture::{Calls, Change, Fixture, Page, finished, kind, line},
    script::check_with,
    world::{MailNode, NamedNodesExt, TestGate, WiringExt, alone, between, texts},
};
use crate::log::{CheckResult, Failure, LogFactory, holds, same};

fn batched(max_records: usize, max_delay: u64) -> RunnerOptions {
    let max_delay = Duration::from_millis(max_delay);
    RunnerOptions::default().durability(Durability::Batched {
        max_records,
        max_delay,
    })
}

fn modes() -> [RunnerOptions; 3] {
    let at_pause = RunnerOptions::default().durability(Durability::AtPause);
    [RunnerOptions::default(), batched(1_000, 3_000), at_pause]
}

/// Builds a loop of this many steps, each of which counts the earlier steps that are not stored.
fn lagging(desk: &Fixture, steps: i64) -> Result<Graph<Page>, Failure> {
    let (log, thread) = (desk.opened.log.clone(), desk.thread.clone());
    Ok(Graph::<Page>::starting_at("a")
        .node("a", move |cx: Context<Page>| {
            let (log, thread) = (log.clone(), thread.clone());
            async move {
                let records = log.read(&thread, 1, 10_000).await?;
                let stored = records.len().saturating_sub(2);
                let lag = cx.state().lines.len().saturating_sub(stored);
                let updates = vec![line(lag.to_string()), Change::Count(1)];
                Ok::<_, BoxError>(updates)
            }
        })
        .branch(
            "a",
            ["a", END],
            move |page| {
                if page.count < steps { "a" } else { END }
            },
        )
        .build()?)
}

/// A batch holds a limited number of records: at the limit the run waits until they are stored.
pub async fn k15_a_batch_is_bounded_by_records(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let runner = desk.runner_with(&lagging(&desk, 40)?, batched(8, 3_000));
    let page = finished(runner.start(&desk.thread, ()).await)?;
    let lags = page
        .lines
        .iter()
        .filter_map(|lag| lag.parse::<usize>().ok());
    let most = lags.max().unwrap_or_default();
    holds((4..=8).contains(&most), || {
        format!("{most} steps were not stored")
    })?;
    let commits = desk.log.commits();
    let largest = commits.iter().map(|commit| commit.records.len()).max();
    holds(largest.is_some_and(|most| most <= 9), || {
        format!("a batch of {largest:?}")
    })?;
    holds(commits.len() < 10, || {
        format!("{} appends for 40 steps", commits.len())
    })
}

/// A batch is stored after a limited time, also while a node runs.
pub async fn k15_a_batch_is_bounded_by_time(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let door = TestGate::default();
    let runner = desk.runner_with(&between(door.node("slow"))?, batched(1_000, 20));
    let run = runner.start(&desk.thread, ());
    desk.appends(1).await;
    desk.appended("while a node runs", &["created started stepped"])?;
    door.open();
    finished(run.await)?;
    Ok(())
}

/// A start that somebody is told of is stored before its first step; another one with it.
pub async fn k15_a_start_can_be_stored_before_its_first_step(
    factory: &dyn LogFactory,
) -> CheckResult {
    for stored in [true, false] {
        let desk = Fixture::of(factory).await?;
        let door = TestGate::default();
        let runner = desk.runner(&alone("slow", door.node("slow"))?);
        let mut run = if stored {
            runner.start_stored(&desk.thread, None, ())
        } else {
            runner.start(&desk.thread, ())
        };
        if stored {
            let first = run.next().await;
            let begun =
                first.is_some_and(|event| matches!(event.kind, EventKind::RunStarted { .. }));
            holds(begun, || "the start is not the first that is told".into())?;
        }
        door.reached().await;
        let before: &[&str] = if stored { &["created started"] } else { &[] };
        desk.appended("before the first step", before)?;
        door.open();
        finished(run.await)?;
    }
    Ok(())
}

/// Invalid batches are refused before anything is written or leased for longer.
pub async fn k15_a_batch_waits_less_than_a_third_of_the_lease(
    factory: &dyn LogFactory,
) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let graph = between(async |_: Context<Page>| line("send"))?;
    let lease = Duration::from_millis(900);
    for (records, delay) in [(10, 300), (10, 10_000), (0, 10)] {
        let options = batched(records, delay).lease(lease);
        let refused = kind(
            desk.runner_with(&graph, options)
                .start(&desk.thread, ())
                .await,
        )?;
        let options = matches!(refused, RunErrorKind::Options(_));
        holds(options, || format!("{records} in {delay} ms: {refused:?}"))?;
        same("the head", desk.head().await?, 0)?;
    }
    let runner = desk.runner_with(&graph, batched(10, 299).lease(lease));
    finished(runner.start(&desk.thread, ()).await)?;
    Ok(())
}

/// In the mode `AtPause` a run is stored when it pauses, acts or ends.
pub async fn k15_at_pause_stores_at_pauses_effects_and_the_end(
    factory: &dyn LogFactory,
) -> CheckResult {
    let expected = expect![[r#"
        > start
        ? ask#1~1 "ok?" boolean
        + a | b; ran a#1 b#1
        [created, started -> a#1, stepped a#1 -> b#1 +a, stepped b#1 -> ask#1 +b, asked ask#1~1] waiting
        > answer true
        = + true | c | sent | d; ran c#1 d#1 send#1; did send#1/mail
        [answered ask#1~1=true, stepped ask#1 -> c#1 +true, stepped c#1 -> send#1 +c,
         intended send#1 mail input="to all"] [receipt send#1 mail value="sent"]
        [stepped send#1 -> d#1 +sent, stepped d#1 +d, run_ended] idle
    "#]];
    let options = RunnerOptions::default().durability(Durability::AtPause);
    let graph = "a -> b -> ask -> c -> send -> d; ask: pause; send: once mail";
    check_with(factory, options, graph, expected).await
}

/// In every mode a failed write stops the run before the next effect, and the thread continues from
/// the stored records.
pub async fn k15_a_failed_write_stops_every_mode(factory: &dyn LogFactory) -> CheckResult {
    for options in modes() {
        for nth in 1..=7 {
            let desk = Fixture::of(factory).await?;
            let world = Calls::default();
            let graph = Graph::<Page>::starting_at("a")
                .says(&Calls::default(), &["a"])
                .node("send", MailNode::of(&world, EffectClass::Once))
                .node("again", MailNode::of(&world, EffectClass::Once))
                .way(&["a", "send", "again", END])
                .build()?;
            let runner = desk.runner_with(&graph, options.clone());
            desk.log.cut(nth, AppendFault::Full);
            let ended = runner.start(&desk.thread, ()).await;
            let what = format!("{:?}, append {nth}", options.durability);
            let Err(failed) = ended else {
                // The run had fewer appends.
                same(&what, world.count(), 2)?;
                continue;
            };
            same(
                &what,
                failed.kind,
                RunErrorKind::Store(StoreErrorKind::Full),
            )?;
            let intents = desk.log.shape().join(" ").matches("intended").count();
            same(&format!("{what}: what was done"), world.count(), intents)?;
        }
    }
    Ok(())
}

/// In no mode does a snapshot contain a record that the log does not.
pub async fn k15_no_snapshot_passes_the_durable_head(factory: &dyn LogFactory) -> CheckResult {
    for options in modes() {
        let mut desk = Fixture::of(factory).await?;
        let graph = Graph::<Page>::starting_at("a")
            .node("a", async |_: Context<Page>| {
                vec![line("x".repeat(150_000)), Change::Count(1)]
            })
            .branch("a", ["a", END], |page| {
                if page.count % 20 == 0 { END } else { "a" }
            })
            .build()?;
        let runner = desk.runner_with(&graph, options.clone());
        for _ in 0..2 {
            finished(runner.start(&desk.thread, ()).await)?;
        }
        let what = format!("{:?}", options.durability);
        let early = desk.log.puts().iter().all(|(seq, head)| seq <= head);
        holds(early, || {
            format!("{what}: snapshots and heads {:?}", desk.log.puts())
        })?;
        desk.another_process();
        let page = desk.page(&graph).await?;
        same(&what, (page.count, page.lines.len()), (40, 40))?;
    }
    Ok(())
}

/// Work that a crash loses in a lazier mode runs again, and comes to the same end.
pub async fn k15_what_a_crash_loses_runs_again(factory: &dyn LogFactory) -> CheckResult {
    for options in modes() {
        for cut in [AppendFault::DiesBefore, AppendFault::DiesAfter] {
            for nth in 1..=4 {
                let mut desk = Fixture::of(factory).await?;
                let graph = Graph::<Page>::starting_at("a")
                    .says(&Calls::default(), &["a", "b", "c"])
                    .pause("ask", |_| "ok?", |_, ok: bool| line(ok.to_string()))
                    .way(&["a", "ask", "b", "c", END])
                    .build()?;
                desk.log.cut(nth, cut);
                let page = desk.run_to_the_end(&graph, &options).await?;
                let what = format!("{:?}, append {nth} {cut:?}", options.durability);
                same(&what, page.lines, texts(&["a", "true", "b", "c"]))?;
            }
        }
    }
    Ok(())
}
