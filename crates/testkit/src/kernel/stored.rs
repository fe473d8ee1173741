//! Scenarios of the stored log: K16.
use fugato_graph::{Answers, Context, END, Graph, RunErrorKind};
use fugato_state::State;
use fugato_store::{Commit, Status, StoreErrorKind};

use serde::{Deserialize, Serialize};

use super::{
    fixture::{Calls, Change, Fixture, Page, finished, kind, line, question, whole},
    world::{NamedNodesExt, WiringExt},
};
use crate::log::{CheckResult, Failure, LogFactory, holds, same};

/// Builds a loop that runs a `rounds` times in each run, each time with a line of `bytes`.
fn rounds_graph(rounds: i64, bytes: usize, calls: &Calls) -> Result<Graph<Page>, Failure> {
    let (nodes, routers) = (calls.clone(), calls.clone());
    Ok(Graph::<Page>::starting_at("a")
        .node("a", move |_: Context<Page>| {
            nodes.note("a node");
            async move { vec![line("x".repeat(bytes)), Change::Count(1)] }
        })
        .branch("a", ["a", END], move |page| {
            routers.note("a router");
            if page.count % rounds == 0 { END } else { "a" }
        })
        .build()?)
}

/// The stored bytes grow linearly with the writes, snapshots included, and opening reads a bounded
/// number of records.
pub async fn k16_d30_bytes_are_linear_and_opening_is_bounded(
    factory: &dyn LogFactory,
) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let graph = rounds_graph(600, 8_000, &Calls::default())?;
    let page = finished(desk.start(&graph).await)?;
    let bytes: usize = desk
        .log
        .commits()
        .iter()
        .flat_map(|c| &c.records)
        .map(|record| record.0.len())
        .sum();
    same("appends", desk.log.commits().len(), 600)?;
    holds(bytes < 600 * 8_200, || {
        format!("{bytes} bytes for 600 lines of 8,000")
    })?;
    settle(&desk, 1).await?;
    let puts = desk.log.puts();
    holds(puts.iter().all(|(seq, head)| seq <= head), || {
        format!("past the head: {puts:?}")
    })?;
    if let Some(snapshots) = &desk.opened.snapshots {
        let mut copied = 0;
        for (seq, _) in &puts {
            let snapshot = snapshots.latest_at(&desk.thread, *seq).await?;
            copied += snapshot.map_or(0, |snapshot| snapshot.body.len());
        }
        holds(copied <= bytes, || {
            format!("{copied} bytes of snapshots for {bytes} of records")
        })?;
        holds(!puts.is_empty() && puts.len() <= 3, || {
            format!("snapshots: {puts:?}")
        })?;
        holds(puts.iter().any(|(seq, _)| *seq < 600), || {
            format!("a run that crashes would be read whole: {puts:?}")
        })?;
        desk.log.forget();
        let stored = desk.runner(&graph).state(&desk.thread).await?;
        same(
            "the state",
            stored.map(|stored| (*stored).clone()),
            Some(page),
        )?;
        let read = desk.log.records_read();
        holds(read < 550, || format!("opening read {read} of 609 records"))?;
    }
    Ok(())
}

/// Waits for snapshots, which are taken in the background, possibly on a busy server.
async fn settle(desk: &Fixture, puts: usize) -> CheckResult {
    const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);
    let begin = std::time::Instant::now();
    while begin.elapsed() < PATIENCE {
        if desk.opened.snapshots.is_none() || desk.log.puts().len() >= puts {
            return Ok(());
        }
        tokio::task::yield_now().await;
    }
    Err(Failure::new(format!("no {puts} snapshots were taken")))
}

/// A damaged snapshot only costs time.
pub async fn k16_a_damaged_snapshot_is_ignored(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let graph = rounds_graph(200, 6_000, &Calls::default())?;
    let page = finished(desk.start(&graph).await)?;
    settle(&desk, 1).await?;
    desk.log.spoil_snapshots();
    desk.log.forget();
    let stored = desk.runner(&graph).state(&desk.thread).await?;
    same(
        "the state",
        stored.map(|stored| (*stored).clone()),
        Some(page),
    )?;
    same("records read", desk.log.records_read(), 203)
}

/// Replay calls `apply` and nothing else: no node and no router.
pub async fn k16_replay_calls_apply_only(factory: &dyn LogFactory) -> CheckResult {
    let mut desk = Fixture::of(factory).await?;
    let calls = Calls::default();
    let graph = rounds_graph(9, 10, &calls)?;
    let page = finished(desk.start(&graph).await)?;
    same("calls of the run", calls.take().len(), 18)?;
    desk.another_process();
    let stored = desk.runner(&graph).state(&desk.thread).await?;
    same(
        "the state",
        stored.map(|stored| (*stored).clone()),
        Some(page),
    )?;
    calls.ran(&[])
}

/// An outcome that is larger than a record fails its run with a clear error, and the thread can be
/// used again; an input or answer that is too large is refused and changes nothing.
pub async fn k16_what_is_too_large_is_an_error(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let calls = Calls::default();
    let graph = Graph::<Page>::starting_at("a")
        .says(&calls, &["a"])
        .node("b", |cx: Context<Page>| {
            let large = cx.state().route == "large";
            async move { large.then(|| line("x".repeat(Commit::MAX_RECORD))) }
        })
        .way(&["a", "b", END])
        .build()?;
    let runner = desk.runner(&graph);
    let huge = kind(
        runner
            .start(&desk.thread, line("x".repeat(Commit::MAX_RECORD)))
            .await,
    )?;
    let large = |kind: &RunErrorKind| matches!(kind, RunErrorKind::Store(StoreErrorKind::TooLarge { limit, .. }) if *limit == Commit::MAX_RECORD);
    holds(large(&huge), || format!("a huge input: got {huge:?}"))?;
    same("the head after a huge input", desk.head().await?, 0)?;
    calls.ran(&[])?;
    let failed = runner
        .start(&desk.thread, Change::Route("large".into()))
        .await
        .err();
    let failed = failed.ok_or_else(|| Failure::new("a huge outcome should fail"))?;
    holds(large(&failed.kind), || {
        format!("a huge outcome: got {:?}", failed.kind)
    })?;
    holds(
        whole(&failed).contains("are more than the allowed 1048576"),
        || whole(&failed),
    )?;
    let standing = runner.status(&desk.thread).await?;
    let failed = matches!(&standing, fugato_graph::ThreadStatus::Failed { .. });
    holds(failed, || format!("the thread stands as {standing:?}"))?;
    finished(
        runner
            .start(&desk.thread, Change::Route("small".into()))
            .await,
    )?
    .said(&["a", "a"])
}

/// Outcomes beyond the size of one append are stored in several.
pub async fn k16_many_large_outcomes_are_stored(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let meeting = std::sync::Arc::new(tokio::sync::Barrier::new(20));
    let graph = Graph::<Page>::starting_at("plan")
        .node("plan", async |_: Context<Page>| ())
        .node("worker", move |_: Context<Page>| {
            let meeting = meeting.clone();
            async move {
                meeting.wait().await;
                line("x".repeat(1_000_000))
            }
        })
        .scatter("plan", "worker", |_| 0..20)
        .edge("worker", END)
        .build()?;
    let page = finished(desk.start(&graph).await)?;
    same("lines", page.lines.len(), 20)?;
    let stored = desk.runner(&graph).state(&desk.thread).await?;
    same(
        "stored lines",
        stored.map(|page| page.lines.len()),
        Some(20),
    )
}

/// A pair and a variant of every kind, at the limits of their types.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct TypedFields(Vec<Kind>);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Kind {
    Plain,
    Pair(u8, i64),
    Mixed { of: (u8, u8), depth: Option<f64> },
}

impl State for TypedFields {
    type Update = Kind;

    fn apply(&mut self, kind: Kind) {
        self.0.push(kind);
    }
}

/// Values have the same types and the same contents after their process has died.
pub async fn k16_d11_types_survive_a_resume(factory: &dyn LogFactory) -> CheckResult {
    let mut desk = Fixture::of(factory).await?;
    let mixed = |depth| Kind::Mixed {
        of: (1, 255),
        depth,
    };
    let values = [
        Kind::Plain,
        Kind::Pair(7, i64::MAX),
        mixed(Some(0.1 + 0.2)),
        mixed(None),
    ];
    let said = values.to_vec();
    let graph = Graph::<TypedFields>::starting_at("a")
        .node("a", move |_: Context<TypedFields>| {
            std::future::ready(said.clone())
        })
        .pause("ask", |_| "on?", |_, (): ()| Kind::Plain)
        .way(&["a", "ask", END])
        .build()?;
    let before = desk.start(&graph).await?;
    same("before", &*before.state().0, &values)?;
    desk.another_process();
    let after = finished(desk.resume(&graph, Answers::only(())?).await)?;
    same("after", after.0, [&values[..], &[Kind::Plain]].concat())
}

/// Bodies are JSON with a version byte; another version is an error that names it, and so is a body
/// that is not of its type: nothing is built by what it says.
pub async fn k16_d26_another_format_is_refused(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let graph = rounds_graph(2, 3, &Calls::default())?;
    finished(desk.start(&graph).await)?;
    for record in desk.log.commits().iter().flat_map(|commit| &commit.records) {
        let body = record.0.split_first();
        let json = body
            .map(|(version, json)| (*version, serde_json::from_slice::<serde_json::Value>(json)));
        holds(matches!(json, Some((2, Ok(_)))), || {
            format!("a record is {record:?}")
        })?;
    }
    let newer = "the record has format version 3; this program reads versions up to 2";
    let object = r#"{"lc":1,"type":"constructor","id":["os","system"]}"#;
    let fact = format!("\x02{{\"at\":1,\"run\":1,\"fact\":{object}}}");
    let stepped = format!(r#"{{"stepped":{{"task":"ask#1","updates":[{object}]}}}}"#);
    let update = format!("\x02{{\"at\":1,\"run\":1,\"fact\":{stepped}}}");
    let graph = Graph::<Page>::starting_at("ask")
        .pause("ask", |_| "on?", |_, on: bool| line(on.to_string()))
        .edge("ask", END)
        .build()?;
    for (record, expected, text) in [
        ("\x03{}".to_owned(), RunErrorKind::Format, newer),
        (fact, RunErrorKind::Format, "unknown variant `lc`"),
        (update, RunErrorKind::Migrate, "unknown variant `lc`"),
    ] {
        let desk = Fixture::of(factory).await?;
        question(desk.start(&graph).await)?;
        let head = desk.head().await?;
        desk.foreign(&desk.thread, record.into_bytes(), Status::Idle)
            .await?;
        let runner = desk.runner(&graph);
        let run = runner
            .resume(&desk.thread, Answers::only(true)?)
            .await
            .err();
        let read = runner.state(&desk.thread).await.err();
        for error in [run, read] {
            let told = error.as_ref().map(|error| whole(error)).unwrap_or_default();
            holds(told.contains(text), || format!("got {told:?}"))?;
            same(
                "the error",
                error.map(|error| error.kind),
                Some(expected.clone()),
            )?;
        }
        same("the head", desk.head().await?, head + 1)?;
    }
    Ok(())
}
