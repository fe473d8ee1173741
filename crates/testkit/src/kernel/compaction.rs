//! Scenarios of compaction and removal: K17.
use expect_test::expect;
use fugato_graph::{
    Answers, BoxError, Context, END, Graph, Outcome, RunError, RunErrorKind, Runner, ThreadStatus,
};
use fugato_state::{EffectClass, Question, Seq};
use fugato_store::{Snapshots, StoreErrorKind, ThreadAdmin, ThreadFilter};
use futures::TryStreamExt as _;

use super::{
    fixture::{Calls, Fixture, Page, fails, finished, line, parked, question, thread},
    script::check,
    world::{MailNode, NamedNodesExt, Stage, WiringExt, texts},
};
use crate::log::{CheckResult, Failure, LogFactory, holds, same};

fn stored(error: Option<RunError>) -> Option<StoreErrorKind> {
    match error.map(|error| error.kind) {
        Some(RunErrorKind::Store(kind)) => Some(kind),
        _ => None,
    }
}

/// Builds a node that acts and then asks; a second node works in parallel.
fn busy(world: &Calls) -> Result<Graph<Page>, Failure> {
    let mails = MailNode::of(world, EffectClass::Once);
    Ok(Graph::<Page>::starting_at("open")
        .says(&Calls::default(), &["open", "works", "last"])
        .node("acts", move |cx: Context<Page>| {
            let mails = mails.clone();
            async move {
                let sent = mails.send(&cx, "mail").await?;
                Ok::<_, BoxError>(match cx.answer::<bool>("ok")? {
                    Some(_) => Outcome::done([line(sent)]),
                    None => Outcome::ask(Question::new::<bool>("ok", "ok?")),
                })
            }
        })
        .fork("open", &["acts", "works"], "last")
        .edge("last", END)
        .build()?)
}

async fn states(runner: &Runner<Page>, desk: &Fixture, from: Seq) -> Result<Vec<Page>, Failure> {
    let mut states = vec![];
    for seq in from..=desk.head().await? {
        states.push((*runner.state_at(&desk.thread, seq).await?).clone());
    }
    Ok(states)
}

/// Compaction at every checkpoint of a thread with runs, receipts and questions: the later part
/// keeps every state, its history, its forks, its open questions and its receipts; the earlier part
/// is gone.
pub async fn k17_compaction_keeps_what_lies_after(factory: &dyn LogFactory) -> CheckResult {
    let mut upto = 1;
    loop {
        let mut desk = Fixture::of(factory).await?;
        if desk.opened.admin.is_none() {
            return Ok(());
        }
        let world = Calls::default();
        let graph = busy(&world)?;
        let runner = desk.runner(&graph);
        parked(runner.start_keyed(&desk.thread, "one", line("in")).await)?;
        finished(runner.resume(&desk.thread, Answers::only(true)?).await)?;
        let asked = question(runner.start(&desk.thread, ()).await)?;
        let head = desk.head().await?;
        if upto > head {
            return Ok(());
        }
        let before = states(&runner, &desk, 1).await?;
        let history = runner.history(&desk.thread, 1, 1_000).await?;
        let Ok(base) = runner.compact(&desk.thread, upto).await else {
            // There is no checkpoint at or before it.
            upto += 1;
            continue;
        };
        let at = usize::try_from(base).unwrap_or(usize::MAX);
        let what = format!("compacted at {base}");
        desk.another_process();
        let runner = desk.runner(&graph);
        let after = states(&runner, &desk, base).await?;
        let kept: Vec<_> = before.into_iter().skip(at - 1).collect();
        same(&what, after, kept)?;
        let gone = stored(runner.state_at(&desk.thread, base - 1).await.err());
        let kinds = [
            Some(StoreErrorKind::Compacted { base }),
            Some(StoreErrorKind::NotFound),
        ];
        holds(kinds.contains(&gone), || {
            format!("{what}: before it lies {gone:?}")
        })?;
        let later = runner.history(&desk.thread, base + 1, 1_000).await?;
        let text = |entry: &fugato_graph::HistoryEntry| format!("{entry:?}");
        let expected: Vec<_> = history.iter().skip(at).map(text).collect();
        same(&what, later.iter().map(text).collect(), expected)?;
        let left: Vec<_> = runner.records(&desk.thread).try_collect().await?;
        same(
            &what,
            left.iter().map(text).collect(),
            later.iter().map(text).collect::<Vec<_>>(),
        )?;
        let standing = runner.status(&desk.thread).await?;
        same(&what, standing, ThreadStatus::Waiting(vec![asked.clone()]))?;
        let page = finished(runner.resume(&desk.thread, Answers::only(true)?).await)?;
        let said = [
            "in", "open", "sent 1", "works", "last", "open", "sent 2", "works", "last",
        ];
        same(&what, page.lines, texts(&said))?;
        same(&what, world.take().len(), 2)?;
        upto += 1;
    }
}

/// Forks after the compacted position are the same as before the compaction.
pub async fn k17_compaction_keeps_forks(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start in
        = + in | a | send | b; ran a#1 b#1 send#1
        [created, started -> a#1 +in, stepped a#1 -> send#1 +a] [stepped send#1 -> b#1 +send]
        [stepped b#1 +b, run_ended] idle
        > fork 3 early
        > compact 4
        = at 4
        > fork 4 late
        > fork 3 no
        ! the log failed (Store Compacted; idle)
        > thread early then recover
        = + in | a | send | b; ran b#1 send#1 try 2
        [resumed send#1 try 2] [stepped send#1 try 2 -> b#1 +send] [stepped b#1 +b, run_ended] idle
        > thread late then recover
        = + in | a | send | b; ran b#1 try 2
        [resumed b#1 try 2] [stepped b#1 try 2 +b, run_ended] idle
    "#]];
    check(factory, "a -> send -> b", expected).await
}

/// A compaction that is not possible is refused, and nothing changes.
pub async fn k17_what_cannot_be_compacted_is_refused(factory: &dyn LogFactory) -> CheckResult {
    let stage = Stage::of(Fixture::of(factory).await?, "");
    let alone = Runner::on_log(stage.wire("a")?.build()?, stage.desk.opened.log.clone());
    finished(alone.start(&stage.desk.thread, ()).await)?;
    let refused = alone.compact(&stage.desk.thread, 3).await.err();
    let unsupported = RunErrorKind::Unsupported("administration");
    let refused = refused.map(|error| error.kind);
    same("without administration", refused, Some(unsupported))?;
    let expected = expect![[r#"
        > start in
        = + in | a | send | b; ran a#1 b#1 send#1
        [created, started -> a#1 +in, stepped a#1 -> send#1 +a] [stepped send#1 -> b#1 +send]
        [stepped b#1 +b, run_ended] idle
        > thread never then compact 1
        ! there is no such thread or position (Store NotFound; new)
        > thread desk then compact 99
        ! there is no such thread or position (Store NotFound; idle)
        > compact 1
        ! no checkpoint lies after 0, where the log begins, and at or before 1 (Store Invalid; idle)
        > compact 4
        = at 4
        > compact 3
        ! no checkpoint lies after 4, where the log begins, and at or before 3 (Store Invalid; idle)
        > compact 4
        ! no checkpoint lies after 4, where the log begins, and at or before 4 (Store Invalid; idle)
    "#]];
    check(factory, "a -> send -> b", expected).await
}

/// A removed thread leaves nothing behind: a new one under its name starts from the beginning.
pub async fn k17_removing_leaves_no_orphans(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let Some(admin) = desk.opened.admin.clone() else {
        return Ok(());
    };
    let world = Calls::default();
    let graph = busy(&world)?;
    let runner = desk.runner(&graph);
    parked(runner.start_keyed(&desk.thread, "one", ()).await)?;
    let copy = thread("copy");
    runner.fork(&desk.thread, 3, &copy).await?;
    ThreadAdmin::remove(&desk.log, &desk.thread).await?;
    same(
        "its standing",
        runner.status(&desk.thread).await?,
        ThreadStatus::New,
    )?;
    same(
        "its history",
        runner.history(&desk.thread, 1, 10).await?.len(),
        0,
    )?;
    same(
        "its snapshot",
        desk.log.latest_at(&desk.thread, 99).await?,
        None,
    )?;
    let listed = admin.list(ThreadFilter::default()).await?;
    let names: Vec<_> = listed.iter().map(|line| line.thread.as_str()).collect();
    same("what is listed", names, vec!["copy"])?;
    world.take();
    let nothing = RunErrorKind::Answer(fugato_graph::AnswerError::NothingAsked);
    fails(
        runner.resume(&desk.thread, Answers::only(true)?).await,
        nothing,
    )?;
    // Neither the request of the old thread nor its receipt is known.
    parked(runner.start_keyed(&desk.thread, "one", ()).await)?;
    same("what was done", world.take().len(), 1)?;
    let page = question(runner.recover(&copy).await)?;
    same("the fork", &*page.task, "acts#1")
}

/// A fork outlives its origin, and has none of the origin's later records.
pub async fn k17_a_fork_stands_alone(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start in
        = + in | a | send | b; ran a#1 b#1 send#1
        [created, started -> a#1 +in, stepped a#1 -> send#1 +a] [stepped send#1 -> b#1 +send]
        [stepped b#1 +b, run_ended] idle
        > fork 3 copy
        > start more
        = + more | a | send | b; ran a#2 b#2 send#2
        [started -> a#2 +more, stepped a#2 -> send#2 +a] [stepped send#2 -> b#2 +send]
        [stepped b#2 +b, run_ended] idle
        > remove
        > another process then thread copy then recover
        = + in | a | send | b; ran b#1 send#1 try 2
        [resumed send#1 try 2] [stepped send#1 try 2 -> b#1 +send] [stepped b#1 +b, run_ended] idle
        > compact 7
        = at 7
        > start
        = + a | send | b; ran a#2 b#2 send#2
        [started -> a#2, stepped a#2 -> send#2 +a] [stepped send#2 -> b#2 +send]
        [stepped b#2 +b, run_ended] idle
    "#]];
    check(factory, "a -> send -> b", expected).await
}
