//! Scenarios of requests with keys: K12.
use std::{collections::BTreeSet, time::Duration};

use fugato_graph::{Answers, Context, END, Graph, RunErrorKind, RunResult, RunnerOptions};

use super::{
    AppendFault,
    fixture::{
        Calls, FailingNode, Fixture, Page, Switch, fails, finished, kind, line, parked, question,
    },
    world::{Door, NamedNodesExt, WiringExt},
};
use crate::log::{Failure, LogFactory, Verdict, holds, same};

fn counting(calls: &Calls) -> Result<Graph<Page>, Failure> {
    Ok(Graph::<Page>::starting_at("a")
        .says(calls, &["a"])
        .edge("a", END)
        .output(|page| page.lines.len())
        .build()?)
}

fn output(ended: RunResult<Page>) -> Result<serde_json::Value, Failure> {
    match ended {
        RunResult::Finished { output, .. } => Ok(output.unwrap_or_default()),
        other => Err(Failure::new(format!(
            "the run should have ended, not {other:?}"
        ))),
    }
}

/// Every repeat of a request gets the output of its run, even after other runs; nothing runs, and
/// nothing is written.
pub async fn k12_a_finished_request_is_told_again(factory: &dyn LogFactory) -> Verdict {
    let mut desk = Fixture::of(factory).await?;
    let calls = Calls::default();
    let graph = counting(&calls)?;
    let runner = desk.runner(&graph);
    for (key, expected) in [("one", 2), ("two", 4)] {
        let ended = runner.start_keyed(&desk.thread, key, line(key)).await?;
        same(key, output(ended)?, expected.into())?;
    }
    finished(runner.start(&desk.thread, ()).await)?;
    let head = desk.head().await?;
    same("runs", calls.take().len(), 3)?;
    desk.another_process();
    for (key, expected) in [("one", 2), ("two", 4), ("one", 2)] {
        let again = desk
            .runner(&graph)
            .start_keyed(&desk.thread, key, line(key));
        same(key, output(again.await?)?, expected.into())?;
    }
    same("runs of repeats", calls.count(), 0)?;
    same("the head", desk.head().await?, head)?;
    // A thread whose request was repeated has no lease left.
    finished(desk.start(&graph).await)?;
    Ok(())
}

/// Every repeat gets the failure of its run, or the end of that run after a retry.
pub async fn k12_a_failed_request_is_told_again(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let (calls, broken) = (Calls::default(), Switch::on());
    let graph = Graph::<Page>::starting_at("a")
        .node("a", FailingNode("a", calls.clone(), broken.clone()))
        .edge("a", END)
        .output(|page| page.lines.len())
        .build()?;
    let runner = desk.runner(&graph);
    kind(runner.start_keyed(&desk.thread, "one", ()).await)?;
    calls.take();
    for _ in 0..2 {
        let error = "task a#1 failed: boom".to_owned();
        fails(
            runner.start_keyed(&desk.thread, "one", ()).await,
            RunErrorKind::FailedBefore { error },
        )?;
    }
    same("runs of repeats", calls.count(), 0)?;
    broken.turn_off();
    finished(runner.retry(&desk.thread).await)?;
    let ended = runner.start_keyed(&desk.thread, "one", ()).await?;
    same("a repeat after the retry", output(ended)?, 1.into())?;
    same("runs after all", calls.count(), 1)
}

/// Every repeat gets the cancellation of its run.
pub async fn k12_a_cancelled_request_is_told_again(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let runner = desk.runner(&asking()?);
    parked(runner.start_keyed(&desk.thread, "one", ()).await)?;
    runner.cancel(&desk.thread, "Ada", "not needed").await?;
    let head = desk.head().await?;
    for _ in 0..2 {
        let (by, why) = ("Ada".to_owned(), "not needed".to_owned());
        fails(
            runner.start_keyed(&desk.thread, "one", ()).await,
            RunErrorKind::Cancelled { by, why },
        )?;
    }
    same("the head", desk.head().await?, head)
}

fn asking() -> Result<Graph<Page>, Failure> {
    Ok(Graph::<Page>::starting_at("ask")
        .pause("ask", |_| "ok?", |_, ok: bool| line(ok.to_string()))
        .edge("ask", END)
        .output(|page| page.lines.clone())
        .build()?)
}

/// A repeat of a run that waits gets its questions; after its end, its output.
pub async fn k12_a_parked_request_shows_its_questions(factory: &dyn LogFactory) -> Verdict {
    let mut desk = Fixture::of(factory).await?;
    let graph = asking()?;
    let asked = question(
        desk.runner(&graph)
            .start_keyed(&desk.thread, "one", ())
            .await,
    )?;
    let head = desk.head().await?;
    desk.another_process();
    let again = question(
        desk.runner(&graph)
            .start_keyed(&desk.thread, "one", ())
            .await,
    )?;
    same("the question", again, asked)?;
    same("the head", desk.head().await?, head)?;
    finished(desk.resume(&graph, Answers::only(true)?).await)?;
    let ended = desk
        .runner(&graph)
        .start_keyed(&desk.thread, "one", ())
        .await?;
    let expected = serde_json::json!(["true"]);
    same("the output", output(ended)?, expected)
}

/// A repeat of a run that is under way, in this or another process, waits for its end, and starts
/// nothing; so does one of several that are sent at once.
pub async fn k12_a_repeat_attaches_to_an_open_run(factory: &dyn LogFactory) -> Verdict {
    for at_once in [false, true] {
        repeated(&Fixture::of(factory).await?, at_once).await?;
    }
    Ok(())
}

async fn repeated(desk: &Fixture, at_once: bool) -> Verdict {
    let (calls, door) = <(Calls, Door)>::default();
    let (notes, waits) = (calls.clone(), door.node("a"));
    let graph = Graph::<Page>::starting_at("a")
        .node("a", move |cx: Context<Page>| {
            notes.note(cx.task());
            waits(cx)
        })
        .edge("a", END)
        .output(|page| page.lines.clone())
        .build()?;
    let first = desk.runner(&graph);
    let one = first.start_keyed(&desk.thread, "one", ());
    if !at_once {
        door.reached().await;
    }
    let elsewhere = desk.runner(&graph);
    let repeats = [
        first.start_keyed(&desk.thread, "one", ()),
        elsewhere.start_keyed(&desk.thread, "one", ()),
    ];
    door.open();
    let expected = serde_json::json!(["a"]);
    same("the output", output(one.await?)?, expected.clone())?;
    for repeat in repeats {
        same(
            "the output of a repeat",
            output(repeat.await?)?,
            expected.clone(),
        )?;
    }
    calls.ran(&["a#1"])
}

/// A repeat of a run that a crash left unfinished continues it.
pub async fn k12_a_repeat_goes_on_after_a_crash(factory: &dyn LogFactory) -> Verdict {
    let mut desk = Fixture::of(factory).await?;
    let calls = Calls::default();
    let graph = Graph::<Page>::starting_at("a")
        .says(&calls, &["a", "b"])
        .way(&["a", "b", END])
        .output(|page| page.lines.clone())
        .build()?;
    desk.log.cut(2, AppendFault::DiesBefore);
    let died = desk
        .runner(&graph)
        .start_keyed(&desk.thread, "one", line("in"));
    kind(died.await)?;
    desk.another_process();
    let runner = desk.runner(&graph);
    let ended = runner.start_keyed(&desk.thread, "one", line("in")).await?;
    same(
        "the output",
        output(ended)?,
        serde_json::json!(["in", "a", "b"]),
    )?;
    calls.ran(&["a#1", "b#1", "b#1"])?;
    let history = runner.history(&desk.thread, 1, 100).await?;
    let runs: BTreeSet<_> = history.iter().map(|entry| entry.run.0).collect();
    same("the runs", runs, BTreeSet::from([1]))
}

/// The same key with another input is refused, and changes nothing.
pub async fn k12_another_input_is_refused(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let calls = Calls::default();
    let runner = desk.runner(&counting(&calls)?);
    runner.start_keyed(&desk.thread, "one", line("in")).await?;
    let head = desk.head().await?;
    let other = runner.start_keyed(&desk.thread, "one", line("other"));
    let key = "one".to_owned();
    fails(other.await, RunErrorKind::RequestChanged { key })?;
    same("the head", desk.head().await?, head)?;
    same("runs", calls.count(), 1)?;
    runner
        .start_keyed(&desk.thread, "two", line("other"))
        .await?;
    same("runs under another key", calls.count(), 2)
}

/// Keys outlive the records that began their runs.
pub async fn k12_keys_survive_compaction(factory: &dyn LogFactory) -> Verdict {
    let mut desk = Fixture::of(factory).await?;
    if desk.opened.admin.is_none() {
        return Ok(());
    }
    let calls = Calls::default();
    let graph = counting(&calls)?;
    let runner = desk.runner(&graph);
    runner.start_keyed(&desk.thread, "one", line("in")).await?;
    finished(runner.start(&desk.thread, ()).await)?;
    let head = desk.head().await?;
    same(
        "where it is compacted",
        runner.compact(&desk.thread, head).await?,
        head,
    )?;
    desk.another_process();
    let again = desk
        .runner(&graph)
        .start_keyed(&desk.thread, "one", line("in"))
        .await?;
    same("the output", output(again)?, 2.into())?;
    let other = desk
        .runner(&graph)
        .start_keyed(&desk.thread, "one", line("x"));
    let key = "one".to_owned();
    fails(other.await, RunErrorKind::RequestChanged { key })?;
    same("runs", calls.count(), 2)
}

/// Keys expire at a given age, by the clock of the store.
pub async fn k12_keys_expire_by_age(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let calls = Calls::default();
    let options = RunnerOptions::default().key_age(Duration::from_secs(100));
    let runner = desk.runner_with(&counting(&calls)?, options);
    runner.start_keyed(&desk.thread, "one", ()).await?;
    for (advance, runs) in [(99_000, 1), (900, 1), (200, 2)] {
        desk.clock.advance(advance);
        runner.start_keyed(&desk.thread, "one", ()).await?;
        let what = format!("runs {advance} ms later");
        holds(calls.count() == runs, || {
            format!("{what}: {}", calls.count())
        })?;
    }
    Ok(())
}
