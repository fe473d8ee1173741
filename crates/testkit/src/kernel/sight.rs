//! Scenarios of events and their readers: K22.
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use fugato_graph::{Answers, Context, END, Graph, Outcome, Runner};
use fugato_state::Seq;
use fugato_store::{Status, StoreError, ThreadLog};
use fugato_stream::{Event, EventKind};
use futures::StreamExt;

use super::{
    fixture::{Calls, Change, Fixture, Page, finished, line, question},
    world::{Door, NamedNodesExt, WiringExt, texts},
};
use crate::log::{Failure, Intercept, InterceptedLog, LogFactory, StoreCall, Verdict, holds, same};

/// Returns the durable events, in short.
fn durable(events: &[Event]) -> Vec<(Seq, String)> {
    let short = |event: &Event| {
        let origin = event
            .origin
            .as_ref()
            .map(|o| format!("{}#{}", o.node, o.visit));
        let kind = match &event.kind {
            EventKind::RunStarted { resumed } => format!("started {resumed}"),
            EventKind::RunFinished { .. } => "finished".into(),
            EventKind::NodeFinished => "done".into(),
            EventKind::InterruptRaised(interrupt) => format!("asks {}", interrupt.id),
            EventKind::InterruptAnswered { id, .. } => format!("answered {id}"),
            EventKind::Card { card, .. } => format!("card {card}"),
            other => format!("{other:?}"),
        };
        Some((event.seq?, format!("{} {kind}", origin.unwrap_or_default())))
    };
    events.iter().filter_map(short).collect()
}

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

fn letter() -> Result<Graph<Page>, Failure> {
    Ok(Graph::<Page>::starting_at("draft")
        .node("draft", async |cx: Context<Page>| {
            cx.emit(EventKind::TextStarted { block: "b".into() });
            cx.emit(text("b", "Dear"));
            cx.emit(EventKind::TextFinished { block: "b".into() });
            Outcome::done([line("draft")])
                .note(card("one"))
                .note(card("two"))
        })
        .pause("confirm", |_| "send?", |_, yes: bool| line(yes.to_string()))
        .way(&["draft", "confirm", END])
        .build()?)
}

/// Events carry their origin; durable ones have a position, which never decreases. A reader that
/// reconnects with a cursor misses no durable event and gets none twice.
pub async fn k22_a_cursor_misses_nothing_durable(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let graph = letter()?;
    let runner = desk.runner(&graph);
    let mut live: Vec<_> = runner.start(&desk.thread, ()).collect().await;
    let parked = matches!(
        live.last().map(|e| &e.kind),
        Some(EventKind::RunParked { .. })
    );
    holds(parked, || {
        format!("a pause is the last event, not {:?}", live.last())
    })?;
    let deltas = live.iter().filter(|event| event.kind.is_delta());
    holds(
        deltas.clone().count() == 1 && deltas.clone().all(|e| e.seq.is_none()),
        || "one delta, and not durable".into(),
    )?;
    let delta = deltas.clone().next().and_then(|event| event.origin.clone());
    let delta = delta.map(|origin| (origin.node.to_string(), origin.visit, origin.attempt));
    same(
        "the origin of a delta",
        delta,
        Some(("draft".to_owned(), 1, 1)),
    )?;
    let answered: Vec<_> = runner
        .resume(&desk.thread, Answers::only(true)?)
        .collect()
        .await;
    live.extend(answered);
    let whole = live
        .iter()
        .all(|event| event.thread == desk.thread && event.run.0 == 1);
    holds(whole, || "every event names its thread and run".into())?;
    let all = durable(&live);
    let expected = [
        (2, " started false"),
        (3, "draft#1 card one"),
        (3, "draft#1 card two"),
        (3, "draft#1 done"),
        (4, "confirm#1 asks confirm#1~1"),
        (5, " answered confirm#1~1"),
        (6, "confirm#1 done"),
        (7, " finished"),
    ];
    let expected = expected.map(|(seq, text)| (seq, text.to_owned())).to_vec();
    same("the durable events", all.clone(), expected)?;
    for cursor in 0..=8 {
        let again: Vec<_> = runner.events(&desk.thread, cursor).collect().await;
        let rest: Vec<_> = all
            .iter()
            .filter(|(seq, _)| *seq > cursor)
            .cloned()
            .collect();
        same(&format!("from {cursor} on"), durable(&again), rest)?;
    }
    Ok(())
}

/// Durable events are sent after their append: a reader of one finds it in the log.
pub async fn k22_durable_events_leave_after_their_append(factory: &dyn LogFactory) -> Verdict {
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
pub async fn k22_d34_a_reader_that_lags_reads_the_log(factory: &dyn LogFactory) -> Verdict {
    const ROUNDS: i64 = 1_500;
    let desk = Fixture::of(factory).await?;
    let door = Door::default();
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
pub async fn k22_dropping_detaches_and_late_readers_catch_up(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let door = Door::default();
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
    let seen = durable(&events);
    let expected = [
        (2, " started false"),
        (3, "a#1 done"),
        (4, "b#1 done"),
        (5, " finished"),
    ];
    same(
        "the durable events",
        seen,
        expected.map(|(n, text)| (n, text.to_owned())).to_vec(),
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
pub async fn k22_a_refusal_is_an_event(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let runner = desk.runner(&letter()?);
    question(runner.start(&desk.thread, ()).await)?;
    let events: Vec<_> = runner.start(&desk.thread, ()).collect().await;
    let refused = matches!(
        events.as_slice(),
        [Event {
            kind: EventKind::RunFailed { .. },
            ..
        }]
    );
    holds(refused, || format!("got {events:?}"))
}

/// A store whose second append waits at a door.
#[derive(Default)]
struct SlowStore {
    appends: AtomicU32,
    door: Door,
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
pub async fn k22_who_comes_while_it_is_stored_misses_nothing(factory: &dyn LogFactory) -> Verdict {
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
