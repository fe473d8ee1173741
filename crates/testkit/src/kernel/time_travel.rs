//! Scenarios of history, forks and amendments: K18.
use fugato_graph::{
    AnswerError, Answers, END, Graph, RunErrorKind, RunResult, Runner, StateEdit, ThreadStatus,
    machine::Fact,
};
use fugato_store::StoreErrorKind;

use super::{
    AppendFault,
    fixture::{
        Calls, Change, FailingNode, Fixture, Page, Switch, fails, finished, kind, line, parked,
        thread,
    },
    world::{Door, NamedNodesExt, WiringExt, texts},
};
use crate::log::{Failure, LogFactory, Verdict, holds, same};

/// Builds open, then a pause and two nodes of which one may fail, joined into last.
fn desk_graph(calls: &Calls, broken: &Switch) -> Result<Graph<Page>, Failure> {
    Ok(Graph::<Page>::starting_at("open")
        .says(calls, &["open", "works", "last"])
        .pause("ask", |_| "ok?", |_, ok: bool| line(ok.to_string()))
        .node("flaky", FailingNode("flaky", calls.clone(), broken.clone()))
        .fork("open", &["ask", "works", "flaky"], "last")
        .edge("last", END)
        .build()?)
}

fn ada(lines: &[&str]) -> StateEdit<Change> {
    let updates = lines.iter().map(|text| line(*text));
    StateEdit::new(updates.collect::<Vec<_>>(), "Ada", "by hand")
}

/// Checks that the state read from the first record on is that of the run.
async fn replayed(runner: &Runner<Page>, desk: &Fixture, expected: &[&str]) -> Verdict {
    let stored = runner.state(&desk.thread).await?;
    let lines = stored.map(|page| page.lines.clone());
    same("the state by the log", lines, Some(texts(expected)))
}

/// History returns each record with its position, time, run and scope; the state at each position
/// is that of the last checkpoint.
pub async fn k18_history_and_states_can_be_read(factory: &dyn LogFactory) -> Verdict {
    let mut desk = Fixture::of(factory).await?;
    let (calls, broken) = (Calls::default(), Switch::on());
    broken.turn_off();
    let graph = desk_graph(&calls, &broken)?;
    parked(desk.runner(&graph).start(&desk.thread, line("in")).await)?;
    desk.another_process();
    finished(desk.resume(&graph, Answers::only(true)?).await)?;
    let runner = desk.runner(&graph);
    let history = runner.history(&desk.thread, 1, 100).await?;
    let positions: Vec<_> = history.iter().map(|entry| entry.seq).collect();
    same("positions", positions, (1..=desk.head().await?).collect())?;
    let ordered = history.is_sorted_by_key(|entry| entry.at);
    holds(ordered, || "times go backwards".into())?;
    let mut counts = vec![];
    for entry in &history {
        let page = runner.state_at(&desk.thread, entry.seq).await?;
        counts.push((entry.is_checkpoint(), page.lines.len()));
    }
    // Created; started; open; then outcomes, until the step closes.
    let between = counts.iter().skip(3).filter(|(checkpoint, _)| !checkpoint);
    holds(
        between.clone().count() == 5 && between.clone().all(|(_, n)| *n == 2),
        || format!("states are {counts:?}"),
    )?;
    let checkpoints: Vec<_> = counts
        .iter()
        .filter(|(at, _)| *at)
        .map(|(_, n)| *n)
        .collect();
    same("lines at checkpoints", checkpoints, vec![1, 2, 5, 6, 6])?;
    let page = runner.history(&desk.thread, 3, 2).await?;
    same(
        "a page",
        page.iter().map(|entry| entry.seq).collect(),
        vec![3, 4],
    )?;
    let past = runner
        .state_at(&desk.thread, 99)
        .await
        .err()
        .map(|error| error.kind);
    same(
        "past the head",
        past,
        Some(RunErrorKind::Store(StoreErrorKind::NotFound)),
    )
}

/// A fork starts at a checkpoint and nowhere else, runs separately, and asks its questions again.
pub async fn k18_a_fork_begins_at_a_checkpoint(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    if desk.opened.admin.is_none() {
        return Ok(());
    }
    let (calls, broken) = (Calls::default(), Switch::on());
    broken.turn_off();
    let graph = desk_graph(&calls, &broken)?;
    let runner = desk.runner(&graph);
    parked(runner.start(&desk.thread, line("in")).await)?;
    finished(runner.resume(&desk.thread, Answers::only(true)?).await)?;
    let head = desk.head().await?;
    for entry in runner.history(&desk.thread, 1, 100).await? {
        let copy = thread(&format!("copy {}", entry.seq));
        let forked = runner.fork(&desk.thread, entry.seq, &copy).await;
        same(
            &format!("{:?}", entry.fact),
            forked.is_ok(),
            entry.is_checkpoint(),
        )?;
        if forked.is_err() {
            same("nothing", desk.log_head(&copy).await?, 0)?;
            continue;
        }
        let whole = texts(&["in", "open", "true", "works", "flaky", "last"]);
        if runner.status(&copy).await? == ThreadStatus::Unfinished {
            let ended = runner.recover(&copy).await?;
            if !ended.interrupts().is_empty() {
                finished(runner.resume(&copy, Answers::only(true)?).await)?;
            }
        }
        let page = runner.state(&copy).await?;
        same(
            "the fork's end",
            page.map(|page| page.lines.clone()),
            Some(whole),
        )?;
        let again = runner.fork(&desk.thread, entry.seq, &copy).await;
        holds(again.is_err(), || "a thread was forked over another".into())?;
    }
    same("the source", desk.head().await?, head)
}

/// An operator can change the state while the thread is parked, failed, cancelled or ended. The
/// change is a record like any other, with author and reason.
pub async fn k18_an_operator_amends_what_rests(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let graph = Graph::<Page>::starting_at("ask")
        .pause("ask", |_| "ok?", |_, ok: bool| line(ok.to_string()))
        .edge("ask", END)
        .build()?;
    let runner = desk.runner(&graph);
    fails(
        runner.amend(&desk.thread, ada(&["x"])).await,
        RunErrorKind::NothingToDo,
    )?;
    same("its head", desk.head().await?, 0)?;
    let open = parked(runner.start(&desk.thread, ()).await)?;
    let still = parked(runner.amend(&desk.thread, ada(&["one", "two"])).await)?;
    same("the questions", still, open)?;
    finished(runner.resume(&desk.thread, Answers::only(true)?).await)?;
    runner.amend(&desk.thread, ada(&["three"])).await?;
    parked(runner.start(&desk.thread, ()).await)?;
    runner.cancel(&desk.thread, "Ada", "enough").await?;
    runner.amend(&desk.thread, ada(&["four"])).await?;
    replayed(&runner, &desk, &["one", "two", "true", "three", "four"]).await?;
    let history = runner.history(&desk.thread, 1, 100).await?;
    let amended = history.iter().filter_map(|entry| match &entry.fact {
        Fact::Amended { by, why, task, .. } => Some((by.as_str(), why.as_str(), task.is_some())),
        _ => None,
    });
    same(
        "who and why",
        amended.collect(),
        vec![("Ada", "by hand", false); 3],
    )?;
    finished({
        parked(runner.start(&desk.thread, ()).await)?;
        runner.resume(&desk.thread, Answers::only(false)?).await
    })?;
    Ok(())
}

/// Nothing is amended while a run is under way, in this process or left behind by a crash.
pub async fn k18_nothing_is_amended_in_a_run(factory: &dyn LogFactory) -> Verdict {
    let mut desk = Fixture::of(factory).await?;
    let door = Door::default();
    let graph = Graph::<Page>::starting_at("a")
        .says(&Calls::default(), &["a"])
        .node("b", door.node("b"))
        .way(&["a", "b", END])
        .build()?;
    let runner = desk.runner(&graph);
    let run = runner.start(&desk.thread, ());
    door.reached().await;
    let refused = kind(runner.amend(&desk.thread, ada(&["x"])).await)?;
    let busy = matches!(refused, RunErrorKind::Busy { .. });
    holds(busy, || format!("got {refused:?}"))?;
    desk.log.cut(1, AppendFault::DiesBefore);
    door.open();
    kind(run.await)?;
    desk.another_process();
    let runner = desk.runner(&graph);
    fails(
        runner.amend(&desk.thread, ada(&["x"])).await,
        RunErrorKind::Unfinished,
    )?;
    door.open();
    finished(runner.recover(&desk.thread).await)?;
    replayed(&runner, &desk, &["a", "b"]).await
}

/// An operator can finish an open task: its updates are folded in its place, routes and joins are
/// followed, and its question is no longer open.
pub async fn k18_an_operator_finishes_an_open_task(factory: &dyn LogFactory) -> Verdict {
    let mut desk = Fixture::of(factory).await?;
    let (calls, broken) = (Calls::default(), Switch::on());
    broken.turn_off();
    let graph = desk_graph(&calls, &broken)?;
    let runner = desk.runner(&graph);
    parked(runner.start(&desk.thread, ()).await)?;
    let head = desk.head().await?;
    let task = "ask#2".to_owned();
    fails(
        runner
            .amend(&desk.thread, ada(&[]).finishing("ask#2"))
            .await,
        RunErrorKind::NoSuchTask { task },
    )?;
    same("the head", desk.head().await?, head)?;
    calls.take();
    desk.another_process();
    let runner = desk.runner(&graph);
    let page = finished(
        runner
            .amend(&desk.thread, ada(&["by hand"]).finishing("ask#1"))
            .await,
    )?;
    let said = ["open", "by hand", "works", "flaky", "last"];
    page.said(&said)?;
    calls.ran(&["last#1"])?;
    replayed(&runner, &desk, &said).await?;
    fails(
        desk.answer(&runner, "ask#1~1", true).await,
        RunErrorKind::Answer(AnswerError::NothingAsked),
    )
}

/// An operator can finish a task that has failed for good. If another task failed too, the run
/// still reports it, and a retry runs only that one.
pub async fn k18_an_operator_finishes_a_failed_task(factory: &dyn LogFactory) -> Verdict {
    for first in ["one#1", "two#1"] {
        let desk = Fixture::of(factory).await?;
        let (calls, broken) = (Calls::default(), Switch::on());
        let failing = |name| FailingNode(name, calls.clone(), broken.clone());
        let graph = Graph::<Page>::starting_at("open")
            .says(&Calls::default(), &["open", "last"])
            .node("one", failing("one"))
            .node("two", failing("two"))
            .fork("open", &["one", "two"], "last")
            .edge("last", END)
            .build()?;
        let runner = desk.runner(&graph);
        kind(runner.start(&desk.thread, ()).await)?;
        let failed = runner
            .amend(&desk.thread, ada(&["by hand"]).finishing(first))
            .await;
        let other = if first == "one#1" { "two#1" } else { "one#1" };
        let task = other.to_owned();
        fails(failed, RunErrorKind::Node { task })?;
        calls.take();
        broken.turn_off();
        let page = finished(runner.retry(&desk.thread).await)?;
        calls.ran(&[other])?;
        let said = match first {
            "one#1" => ["open", "by hand", "two", "last"],
            _ => ["open", "one", "by hand", "last"],
        };
        page.said(&said)?;
        replayed(&runner, &desk, &said).await?;
    }
    Ok(())
}

/// The state of a failed run can be amended; the failed task still has to be retried.
pub async fn k18_a_failed_run_stays_failed(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let (calls, broken) = (Calls::default(), Switch::on());
    let graph = Graph::<Page>::starting_at("flaky")
        .node("flaky", FailingNode("flaky", calls.clone(), broken.clone()))
        .edge("flaky", END)
        .build()?;
    let runner = desk.runner(&graph);
    kind(runner.start(&desk.thread, ()).await)?;
    let ended = runner.amend(&desk.thread, ada(&["noted"])).await;
    let success = matches!(ended, Ok(RunResult::Finished { .. }));
    holds(!success, || format!("a failed run ended as {ended:?}"))?;
    let standing = runner.status(&desk.thread).await?;
    let failed = matches!(standing, ThreadStatus::Failed { .. });
    holds(failed, || format!("it stands at {standing:?}"))?;
    broken.turn_off();
    finished(runner.retry(&desk.thread).await)?.said(&["noted", "flaky"])?;
    replayed(&runner, &desk, &["noted", "flaky"]).await
}
