//! A program that changed: K20.
use std::time::Duration;

use expect_test::expect;
use fugato_graph::{
    Answers, BoxError, Context, END, Graph, HistoryEvent, RunErrorKind, StateEdit, SubgraphInput,
};
use fugato_state::{MigrateError, State};
use fugato_store::{Record, Status};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    AppendFault,
    fixture::{Calls, Change, Fixture, Page, fails, finished, line, question, whole},
    script::{BuildResult, check},
    world::{NamedNodesExt, Stage, TestGate, WiringExt, texts},
};
use crate::log::{CheckResult, Failure, LogFactory, holds, same};

/// Builds open, then the pause and the nodes a and b; the pause and b meet.
pub(super) fn asking(stage: &Stage) -> BuildResult {
    let pause = if stage.is("gone") || stage.is("followed") {
        "confirm"
    } else {
        "ask"
    };
    let words = format!("open -> {pause} a b; {pause} b -> meet; {pause}: pause");
    let graph = stage.wire(&(words + "; @grown meet -> new"))?;
    if stage.is("followed") {
        return graph.renamed("ask", pause).build();
    }
    graph.build()
}

/// A thread that waits in a removed node is refused with the list of what is missing, and nothing
/// changes; with the rename declared it continues.
pub async fn k20_d7_a_renamed_node_is_refused_or_followed(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > in any order then start
        ? ask#1~1 "ok?" boolean
        + open; ran a#1 b#1 open#1
        {created, started -> open#1, stepped open#1 -> ask#1 a#1 b#1 +open, asked ask#1~1, finished a#1 +a,
         finished b#1 +b} waiting
        > another process then program gone then answer true
        ! the graph no longer has what the thread refers to: node "ask" (GraphChanged; waiting)
        > resume
        ! the graph no longer has what the thread refers to: node "ask" (GraphChanged; waiting)
        > recover
        ! the graph no longer has what the thread refers to: node "ask" (GraphChanged; waiting)
        > program followed then answer true
        = + true | a | b | meet; ran meet#1
        {resumed, answered ask#1~1=true, finished confirm#1 +true,
         closed meet<confirm meet<b joined meet -> meet#1, stepped meet#1 +meet, run_ended} idle
    "#]];
    check(factory, asking, expected).await
}

/// Half-filled joins follow a rename too, and are refused without it.
pub async fn k20_half_filled_joins_follow_a_rename(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > in any order then start
        ? ask#1~1 "ok?" boolean
        + open | a | b; ran a#1 b#1 open#1
        {created, started -> open#1, stepped open#1 -> a#1 b#1 +open, finished a#1 +a, finished b#1 +b,
         closed meet<a -> ask#1, asked ask#1~1} waiting
        > program changed then answer true
        ! the graph no longer has what the thread refers to: the join into "meet" from a (GraphChanged; waiting)
        > program followed then answer true
        = + true | gather; ran gather#1
        {resumed, answered ask#1~1=true, stepped ask#1 gather<ask joined gather -> gather#1 +true,
         stepped gather#1 +gather, run_ended} idle
    "#]];
    let graph = |stage: &Stage| {
        let is_old = stage.is("");
        let (meet, source) = if is_old {
            ("meet", "a")
        } else {
            ("gather", "first")
        };
        let words = format!("open -> {source} b; b -> ask; {source} ask -> {meet}; ask: pause");
        let graph = stage.wire(&words)?;
        if stage.is("followed") {
            return graph.renamed("a", source).renamed("meet", meet).build();
        }
        graph.build()
    };
    check(factory, graph, expected).await
}

/// A state whose shape changed without a new version is refused with the missing field, and nothing
/// changes.
pub async fn k20_a_shape_that_changed_without_a_version_is_named(
    factory: &dyn LogFactory,
) -> CheckResult {
    let mut desk = Fixture::of(factory).await?;
    let before = Graph::<Old>::starting_at("ask")
        .pause("ask", |_| "how many?", |_, n: u32| n)
        .edge("ask", END)
        .build()?;
    let after = Graph::<UnversionedState>::starting_at("ask")
        .pause("ask", |_| "how many?", |_, n: u32| n)
        .edge("ask", END)
        .build()?;
    question(desk.runner(&before).start(&desk.thread, 1_u32).await)?;
    desk.another_process();
    let head = desk.head().await?;
    let refused = desk.resume(&after, Answers::only(2)?).await;
    let Err(refused) = refused else {
        return Err(Failure::new("a state without its field was read"));
    };
    same("the error", &refused.kind, &RunErrorKind::Migrate)?;
    let whole = whole(&refused);
    for said in ["missing field `pears`", "needs a new `State::VERSION`"] {
        holds(whole.contains(said), || format!("got {whole:?}"))?;
    }
    same("the head", desk.head().await?, head)?;
    let old = finished(desk.resume(&before, Answers::only(2)?).await)?;
    same("the old program goes on", old.apples, 3)
}

/// [`Old`] with another field, under the same version.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct UnversionedState {
    apples: u32,
    pears: u32,
}

impl State for UnversionedState {
    type Update = u32;

    fn apply(&mut self, apples: u32) {
        self.apples += apples;
    }
}

/// A change of nodes that the thread does not refer to is accepted: the thread continues, and the
/// log records that the graph changed.
pub async fn k20_other_changes_go_on_and_are_recorded(factory: &dyn LogFactory) -> CheckResult {
    let mut stage = Stage::of(Fixture::of(factory).await?, "");
    question(stage.desk.start(&asking(&stage)?).await)?;
    "grown".clone_into(&mut stage.program);
    let (desk, grown) = (&stage.desk, asking(&stage)?);
    let runner = desk.runner(&grown);
    let head = desk.head().await?;
    let page = finished(runner.resume(&desk.thread, Answers::only(true)?).await)?;
    same(
        "the last line",
        page.lines.last().cloned(),
        Some("new".to_owned()),
    )?;
    let entry = runner.history(&desk.thread, head + 1, 1).await?.pop();
    let recorded = entry.is_some_and(|entry| match entry.event() {
        HistoryEvent::Resumed { graph, tasks } => graph == grown.fingerprint() && tasks.is_empty(),
        _ => false,
    });
    holds(recorded, || {
        "the log does not say that the graph changed".into()
    })
}

/// A repeated request goes on with no run whose nodes are gone; the older program goes on with it.
pub async fn k20_a_repeated_request_goes_on_with_no_run_whose_nodes_are_gone(
    factory: &dyn LogFactory,
) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let door = TestGate::default();
    let graph = |second: &'static str| {
        Graph::<Page>::starting_at("slow")
            .node("slow", door.node("slow"))
            .says(&Calls::default(), &[second])
            .way(&["slow", second, END])
            .build()
    };
    let (old, new) = (desk.runner(&graph("old")?), desk.runner(&graph("new")?));
    let run = old.start_keyed(&desk.thread, "once", ());
    door.reached().await;
    let leaves = async { door.open() };
    let (left, ()) = futures::join!(old.hand_over(Duration::from_secs(20)), leaves);
    same("runs that did not stop", left, 0)?;
    fails(run.await, RunErrorKind::HandedOver)?;
    let gone = texts(&["node \"old\""]);
    fails(
        new.start_keyed(&desk.thread, "once", ()).await,
        RunErrorKind::GraphChanged { gone },
    )?;
    finished(old.start_keyed(&desk.thread, "once", ()).await)?.said(&["slow", "old"])
}

/// A log that closes a step twice is refused: it would open the same tasks again, and the run would
/// wait for one of each for ever.
pub async fn k20_a_log_that_opens_a_task_twice_is_refused(factory: &dyn LogFactory) -> CheckResult {
    let stage = Stage::of(Fixture::of(factory).await?, "");
    let (desk, graph) = (&stage.desk, asking(&stage)?);
    question(desk.start(&graph).await)?;
    let records = desk.log_of().read(&desk.thread, 1, 10).await?;
    let opens = |record: &&Record| String::from_utf8_lossy(&record.0).contains("stepped");
    let stepped: Vec<_> = records
        .iter()
        .map(|(_, record)| record)
        .filter(opens)
        .collect();
    same("steps", stepped.len(), 1)?;
    for record in stepped {
        desk.foreign(&desk.thread, record.0.clone(), Status::Runnable)
            .await?;
    }
    let error = desk.recover(&graph).await.err();
    let told = error.as_ref().map(|error| whole(error)).unwrap_or_default();
    let expected = "the log tells of task open#1, which is not open";
    holds(told.ends_with(expected), || format!("got {told:?}"))?;
    same(
        "the error",
        error.map(|error| error.kind),
        Some(RunErrorKind::Format),
    )
}

/// Version 1 counts apples; version 2 counts fruits by kind, and an old update counts double.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Old {
    apples: u32,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct New {
    fruits: Vec<(String, u32)>,
}

impl State for Old {
    type Update = u32;

    fn apply(&mut self, apples: u32) {
        self.apples += apples;
    }
}

impl State for New {
    type Update = (String, u32);
    const VERSION: u32 = 2;

    fn apply(&mut self, fruits: (String, u32)) {
        self.fruits.push(fruits);
    }

    fn migrate_state(from: u32, old: Value) -> Result<Self, MigrateError> {
        let error = |source| MigrateError {
            from,
            to: 2,
            source,
        };
        let Old { apples } = serde_json::from_value(old).map_err(error)?;
        Ok(Self {
            fruits: vec![("apple".into(), apples)],
        })
    }

    fn migrate_update(from: u32, old: Value) -> Result<Vec<(String, u32)>, MigrateError> {
        let error = |source| MigrateError {
            from,
            to: 2,
            source,
        };
        let apples: u32 = serde_json::from_value(old).map_err(error)?;
        Ok(vec![("apple".into(), apples), ("leaf".into(), apples)])
    }
}

/// A newer version of the state folds the old log by its migrations, and writes a barrier with its
/// snapshot; an older program then refuses the thread.
pub async fn k20_a_newer_state_migrates_behind_a_barrier(factory: &dyn LogFactory) -> CheckResult {
    let mut desk = Fixture::of(factory).await?;
    let old = Graph::<Old>::starting_at("ask")
        .pause("ask", |_| "how many?", |_, n: u32| n)
        .branch("ask", ["ask", END], |old| {
            if old.apples < 10 { "ask" } else { END }
        })
        .build()?;
    let new = Graph::<New>::starting_at("ask")
        .pause("ask", |_| "how many?", |_, n: u32| ("pear".to_owned(), n))
        .edge("ask", END)
        .build()?;
    question(desk.runner(&old).start(&desk.thread, 1_u32).await)?;
    question(desk.resume(&old, Answers::only(2)?).await)?;
    desk.another_process();
    let head = desk.head().await?;
    let ended = desk.resume(&new, Answers::only(5)?).await;
    let fruits = finished(ended)?.fruits;
    let named = |name: &str, n| (name.to_owned(), n);
    let expected = vec![
        named("apple", 0),
        named("apple", 1),
        named("leaf", 1),
        named("apple", 2),
        named("leaf", 2),
        named("pear", 5),
    ];
    same("the migrated state", fruits, expected.clone())?;
    let first = desk.log.commits().first().cloned();
    let first = first.ok_or_else(|| Failure::new("nothing was written"))?;
    let barrier = first.base.as_ref().map(|base| base.seq);
    same("the base of the first commit", barrier, Some(head))?;
    let brackets = desk.log.brackets();
    holds(brackets.starts_with("[{\"migrated\":{}}"), || {
        brackets.clone()
    })?;
    desk.log.forget();
    let stored = desk.runner(&new).state(&desk.thread).await?;
    same(
        "the state by the log",
        stored.map(|new| new.fruits.clone()),
        Some(expected),
    )?;
    if desk.opened.snapshots.is_some() {
        let read = desk.log.records_read() as u64;
        same(
            "records read after the barrier",
            read,
            desk.head().await? - head,
        )?;
    }
    let head = desk.head().await?;
    let refused = desk.runner(&old).start(&desk.thread, 1_u32).await.err();
    let refused = refused.map(|error| whole(&error)).unwrap_or_default();
    let expected = "written by state version 2; this program knows versions up to 1";
    holds(refused.contains(expected), || format!("got {refused:?}"))?;
    same("the head", desk.head().await?, head)
}

/// A subgraph whose state has a newer version continues after the records of the older program, by
/// an answer, an amendment or a retry, and its log can still be read.
pub async fn k21_a_newer_state_inside_goes_on(factory: &dyn LogFactory) -> CheckResult {
    let (old, new) = within()?;
    for how in ["answered", "finished by hand", "after a crash"] {
        let mut desk = Fixture::of(factory).await?;
        question(desk.start(&old).await)?;
        desk.another_process();
        let runner = desk.runner(&new);
        if how == "after a crash" {
            // The step of last dies: the answer is stored, by the newer program.
            desk.log.cut(2, AppendFault::DiesBefore);
        }
        let ended = match how {
            "finished by hand" => {
                let none: [Change; 0] = [];
                let by_hand = StateEdit::new(none, "Ada", "by hand").finishing("sub#1/ask#1");
                runner.amend(&desk.thread, by_hand).await
            }
            _ => runner.resume(&desk.thread, Answers::only(5)?).await,
        };
        let page = if let Ok(ended) = ended {
            finished(Ok(ended))?
        } else {
            desk.another_process();
            finished(desk.recover(&new).await)?
        };
        let expected = match how {
            "finished by hand" => "apple 1, apple 2, leaf 2, last 1",
            _ => "apple 1, apple 2, leaf 2, pear 5, last 1",
        };
        same(how, page.lines.clone(), vec![expected.to_owned()])?;
        let stored = desk.runner(&new).state(&desk.thread).await?;
        same(how, stored.map(|page| page.lines.clone()), Some(page.lines))?;
    }
    Ok(())
}

/// Returns a graph around a subgraph of the older version, and one around the newer.
pub(super) fn within() -> Result<(Graph<Page>, Graph<Page>), Failure> {
    let enter = |_: SubgraphInput<'_, Page>| Ok::<_, BoxError>(Old { apples: 1 });
    let inner = Graph::<Old>::starting_at("grow")
        .node("grow", async |_: Context<Old>| 2_u32)
        .pause("ask", |_| "how many?", |_, n: u32| n)
        .way(&["grow", "ask", END])
        .build()?;
    let old = Graph::<Page>::starting_at("sub")
        .subgraph("sub", &inner, enter, |_, inner: &Old| {
            line(inner.apples.to_string())
        })
        .edge("sub", END)
        .build()?;
    let enter = |_: SubgraphInput<'_, Page>| Ok::<_, BoxError>(New::default());
    let inner = Graph::<New>::starting_at("grow")
        .node("grow", async |_: Context<New>| ("leaf".to_owned(), 1))
        .pause("ask", |_| "how many?", |_, n: u32| ("pear".to_owned(), n))
        .node("last", async |_: Context<New>| ("last".to_owned(), 1))
        .way(&["grow", "ask", "last", END])
        .build()?;
    let leave = |_: &Page, inner: &New| {
        let fruits = inner.fruits.iter().map(|(name, n)| format!("{name} {n}"));
        line(fruits.collect::<Vec<_>>().join(", "))
    };
    let new = Graph::<Page>::starting_at("sub")
        .subgraph("sub", &inner, enter, leave)
        .edge("sub", END)
        .build()?;
    Ok((old, new))
}
