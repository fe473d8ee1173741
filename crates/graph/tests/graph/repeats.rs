//! Requests with a name of their own, and the events that they get.
use std::sync::Arc;

use fugato_graph::{Answers, BoxError, Context, END, Graph, Runner};
use fugato_state::{Conversation, ConversationUpdate, Message, ThreadId};
use fugato_store::MemoryLog;
use fugato_stream::EventKind;
use futures::StreamExt as _;

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
