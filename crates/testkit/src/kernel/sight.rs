//! Scenarios of events and their readers: K22.
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use expect_test::expect;
use fugato_graph::{Context, END, Graph, Outcome, Runner};
use fugato_store::{Intercept, InterceptedLog, Status, StoreCall, StoreError, ThreadLog};
use fugato_stream::EventKind;
use futures::StreamExt;

use super::{
    fixture::{Calls, Change, Fixture, Page, finished, line},
    script::{BuildResult, check, compare},
    transcript,
    world::{NamedNodesExt, Stage, TestGate, WiringExt, texts},
};
use crate::log::{CheckResult, Failure, LogFactory, holds, same};

fn text(block: &str, text: &str) -> EventKind {
    EventKind::TextDelta {
        block: block.into(),
        text: text.into(),
    }
}

fn card(name: &str) -> EventKind {
    EventKind::Card {
        card: name.into(),
        data: serde_json::Value::Null,
    }
}

fn letter(stage: &Stage) -> BuildResult {
    let draft = async |cx: Context<Page>| {
        cx.emit(EventKind::TextStarted { block: "b".into() });
        cx.emit(text("b", "Dear"));
        cx.emit(EventKind::TextFinished { block: "b".into() });
        let done = Outcome::done([line("draft")]);
        done.note(card("one")).note(card("two"))
    };
    let graph = stage.wire("draft -> confirm; draft: elsewhere; confirm: pause")?;
    graph.node("draft", draft).build()
}

/// Events carry their origin; durable ones have a position, which never decreases. A reader that
/// reconnects with a cursor misses no durable event and gets none twice.
pub async fn k22_a_cursor_misses_nothing_durable(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > live start
        - draft#1 try 1 TextStarted { block: "b" }
        - draft#1 try 1 text "Dear"
        - draft#1 try 1 TextFinished { block: "b" }
        2 started, resumed false
        3 draft#1 try 1 card one
        3 draft#1 try 1 card two
        3 draft#1 try 1 done
        4 confirm#1 try 1 asks confirm#1~1
        - parked
        ? confirm#1~1 "ok?" boolean
        + draft
        [created, started -> draft#1,
         stepped draft#1 notes=[{"card":"one","data":null,"kind":"card"},{"card":"two","data":null,"kind":"card"}] -> confirm#1 +draft,
         asked confirm#1~1] waiting
        > live answer true
        5 answered confirm#1~1
        6 confirm#1 try 1 done
        7 finished
        = + true
        [answered confirm#1~1=true, stepped confirm#1 +true, run_ended] idle
        > events 0
        2 started, resumed false
        3 draft#1 try 1 card one
        3 draft#1 try 1 card two
        3 draft#1 try 1 done
        4 confirm#1 try 1 asks confirm#1~1
        5 answered confirm#1~1
        6 confirm#1 try 1 done
        7 finished
        > events 3
        4 confirm#1 try 1 asks confirm#1~1
        5 answered confirm#1~1
        6 confirm#1 try 1 done
        7 finished
        > events 4
        5 answered confirm#1~1
        6 confirm#1 try 1 done
        7 finished
        > events 8
    "#]];
    check(factory, letter, expected).await
}

/// Durable events are sent after their append: a reader of one finds it in the log.
pub async fn k22_durable_events_leave_after_their_append(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let graph = super::steps::three(&Calls::default())?;
    let mut run = desk.runner(&graph).start(&desk.thread, ());
    let mut seen = 0;
    while let Some(event) = run.next().await {
        let Some(seq) = event.seq else { continue };
        seen += 1;
        let head = desk
            .log_of()
            .head(&desk.thread)
            .await?
            .map_or(0, |head| head.seq);
        holds(head >= seq, || {
            format!("event of {seq} was seen when the head was {head}")
        })?;
    }
    same("durable events", seen, 1 + 4 + 1)
}

/// A run never waits for a reader. A reader that lags gets all durable events from the log, in
/// order and once, and all deltas, merged.
pub async fn k22_d34_a_reader_that_lags_reads_the_log(factory: &dyn LogFactory) -> CheckResult {
    const ROUNDS: i64 = 1_500;
    let desk = Fixture::of(factory).await?;
    let door = TestGate::default();
    let waits = door.clone();
    let graph = Graph::<Page>::starting_at("a")
        .node("a", move |cx: Context<Page>| {
            let waits = waits.clone();
            async move {
                if cx.state().count == 0 {
                    for _ in 0..5_000 {
                        cx.emit(text("b", "x"));
                    }
                }
                if cx.state().count == ROUNDS - 50 {
                    waits.pass().await;
                }
                Outcome::done([Change::Count(1)]).note(card("c"))
            }
        })
        .branch(
            "a",
            ["a", END],
            |page| if page.count < ROUNDS { "a" } else { END },
        )
        .build()?;
    let runner = desk.runner(&graph);
    let mut run = runner.start(&desk.thread, ());
    let mut events = vec![];
    door.reached().await;
    // A slow reader: it takes one event when it lags already, and then waits until the run is over.
    events.extend(run.next().await);
    door.open();
    while desk
        .log
        .head(&desk.thread)
        .await?
        .is_none_or(|head| head.status != Status::Idle)
    {
        tokio::task::yield_now().await;
    }
    while let Some(event) = run.next().await {
        events.push(event);
    }
    finished(run.await)?;
    let text: usize = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::TextDelta { text, .. } => Some(text.len()),
            _ => None,
        })
        .sum();
    same("the text", text, 5_000)?;
    // The queue of a reader is bounded, and deltas beyond that are merged.
    let deltas = events.iter().filter(|event| event.kind.is_delta()).count();
    holds(deltas <= fugato_stream::CAPACITY + 50, || {
        format!("{deltas} deltas were kept")
    })?;
    let live: Vec<_> = events.iter().filter_map(|event| event.seq).collect();
    let stored: Vec<_> = runner.events(&desk.thread, 0).collect().await;
    let stored: Vec<_> = stored.iter().filter_map(|event| event.seq).collect();
    same("durable positions", live, stored)
}

/// A reader that reconnects during a run gets the stored events, then the open blocks and the
/// events that follow. Dropping a stream detaches, and the run goes on.
pub async fn k22_dropping_detaches_and_late_readers_catch_up(
    factory: &dyn LogFactory,
) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let door = TestGate::default();
    let waits = door.clone();
    let graph = Graph::<Page>::starting_at("a")
        .says(&Calls::default(), &["a"])
        .node("b", move |cx: Context<Page>| {
            let waits = waits.clone();
            async move {
                for piece in ["so ", "far"] {
                    cx.emit(text("b", piece));
                }
                waits.pass().await;
                cx.emit(EventKind::TextDelta {
                    block: "b".into(),
                    text: ", so good".into(),
                });
                line("b")
            }
        })
        .way(&["a", "b", END])
        .build()?;
    let runner = desk.runner(&graph);
    drop(runner.start(&desk.thread, ()));
    door.reached().await;
    let late = runner.events(&desk.thread, 0);
    door.open();
    let events: Vec<_> = late.collect().await;
    let deltas: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::TextDelta { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    same("the text", deltas.concat(), "so far, so good".to_owned())?;
    let durable = events.iter().filter(|event| event.seq.is_some());
    let durable: String = durable.map(|it| transcript::event(it) + "\n").collect();
    compare(
        &expect![[r#"
            2 started, resumed false
            3 a#1 try 1 done
            4 b#1 try 1 done
            5 finished
        "#]],
        &durable,
    )?;
    let stored = runner.state(&desk.thread).await?;
    let said = texts(&["a", "b"]);
    same(
        "the run that nobody held",
        stored.map(|page| page.lines.clone()),
        Some(said),
    )
}

/// A refused request sends its reader an event too, and the stream ends.
pub async fn k22_a_refusal_is_an_event(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start
        ? confirm#1~1 "ok?" boolean
        + draft
        [created, started -> draft#1,
         stepped draft#1 notes=[{"card":"one","data":null,"kind":"card"},{"card":"two","data":null,"kind":"card"}] -> confirm#1 +draft,
         asked confirm#1~1] waiting
        > live start
        - failed of run 0
        ! the thread waits for answers to confirm#1~1 (Waiting; waiting)
    "#]];
    check(factory, letter, expected).await
}

/// A store whose second append waits at a door.
#[derive(Default)]
struct SlowStore {
    appends: AtomicU32,
    door: TestGate,
}

impl Intercept for SlowStore {
    async fn around<T: Send>(
        &self,
        asked: StoreCall<'_>,
        act: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let append = matches!(asked, StoreCall::Append(..));
        if append && self.appends.fetch_add(1, Ordering::Relaxed) == 1 {
            self.door.pass().await;
        }
        act.await
    }
}

/// A reader that subscribes while a step is on its way into the log misses nothing.
pub async fn k22_who_comes_while_it_is_stored_misses_nothing(
    factory: &dyn LogFactory,
) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let graph = Graph::<Page>::starting_at("a")
        .says(&Calls::default(), &["a", "b", "c"])
        .way(&["a", "b", "c", END])
        .build()?;
    let slow = Arc::new(SlowStore::default());
    let log = InterceptedLog::new(desk.log.clone(), slow.clone());
    let runner = Runner::on_log(graph, Arc::new(log));
    // Nobody reads while the append begins.
    drop(runner.start(&desk.thread, ()));
    slow.door.reached().await;
    let mut seen = vec![];
    for mut reader in [
        runner.events(&desk.thread, 0),
        runner.follow(&desk.thread, 0),
    ] {
        let first = reader.next().await.and_then(|event| event.seq);
        seen.push((reader, Vec::from_iter(first)));
    }
    slow.door.open();
    while runner.is_live(&desk.thread) {
        tokio::task::yield_now().await;
    }
    let end = desk.head().await?;
    for (mut reader, mut seqs) in seen {
        while seqs.last() != Some(&end) {
            let event = reader.next().await;
            let event = event.ok_or_else(|| Failure::new(format!("only {seqs:?} were seen")))?;
            seqs.extend(event.seq);
        }
        seqs.dedup();
        same("what was seen", seqs, (2..=end).collect())?;
    }
    Ok(())
}
