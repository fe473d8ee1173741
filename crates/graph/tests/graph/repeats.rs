//! Requests with a name of their own, and the events that they get.
use std::{collections::BTreeSet, sync::Arc};

use fugato_graph::{Answers, BoxError, Context, END, Graph, Run, RunErrorKind, Runner};
use fugato_state::{Conversation, ConversationUpdate, Message, ThreadId};
use fugato_store::MemoryLog;
use fugato_stream::EventKind;
use futures::StreamExt as _;
use tokio::sync::Semaphore;

/// A run has told its end a moment before it leaves: a request that comes in between is a new one,
/// and gets its own events.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn k12_an_answer_at_once_after_the_question_gets_its_own_events() -> Result<(), BoxError> {
    let said = |text: &str| ConversationUpdate::Said(Message::assistant(text));
    let graph = Graph::<Conversation>::starting_at("ask")
        .pause("ask", |_| "on?", move |_, _: bool| said("answered"))
        .node("work", async |_: Context<Conversation>| ())
        .edge("ask", "work")
        .edge("work", END)
        .build()?;
    let runner = Runner::new(graph, Arc::new(MemoryLog::default()));
    for nth in 0..4_000 {
        let thread = ThreadId::new(format!("thread-{nth}"))?;
        let mut run = runner.start_keyed(&thread, "start", ());
        while let Some(event) = run.next().await {
            if matches!(event.kind, EventKind::RunParked { .. }) {
                break;
            }
        }
        let mut answered = runner.resume(&thread, Answers::only(true)?.keyed("answer", &true)?);
        let mut steps = 0;
        while let Some(event) = answered.next().await {
            steps += u32::from(matches!(event.kind, EventKind::NodeFinished));
        }
        assert_eq!(
            steps, 2,
            "{thread}: the question is answered, and the work is done"
        );
    }
    Ok(())
}

/// Returns the numbers of the runs whose events a request gets.
async fn runs(mut run: Run<Conversation>) -> BTreeSet<u64> {
    let mut runs = BTreeSet::new();
    while let Some(event) = run.next().await {
        runs.insert(event.run.0);
    }
    runs
}

/// A named request that comes amid the run of another waits, and gets nothing of that run; a repeat
/// of the other's gets its events.
#[tokio::test]
async fn k12_a_named_request_amid_another_run_gets_its_own_events() -> Result<(), BoxError> {
    let gate = Arc::new(Semaphore::new(0));
    let work = async |gate: Arc<Semaphore>, _: Context<Conversation>| {
        gate.acquire().await?.forget();
        Ok(())
    };
    let graph = Graph::<Conversation>::starting_at("work")
        .node_with("work", Arc::clone(&gate), work)
        .edge("work", END)
        .build()?;
    let runner = Runner::new(graph, Arc::new(MemoryLog::default()));
    let thread = ThreadId::new("thread")?;
    let mut first = runner.start_keyed(&thread, "first", ());
    assert_eq!(first.next().await.map(|event| event.run.0), Some(1));
    let second = runner.start_keyed(&thread, "second", ());
    let repeat = runner.start_keyed(&thread, "first", ());
    let busy = runner.start(&thread, ()).await.map_err(|error| error.kind);
    assert!(matches!(busy, Err(RunErrorKind::Busy { .. })));
    gate.add_permits(2);
    let heard = tokio::join!(runs(first), runs(second), runs(repeat));
    let only = |run| BTreeSet::from([run]);
    assert_eq!(heard, (only(1), only(2), only(1)));
    Ok(())
}
