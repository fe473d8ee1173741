//! Time travel: a thread is branched off at a checkpoint, answered differently, and compared.
#![expect(
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "an example shows what it does"
)]

use std::sync::Arc;

use fugato::{
    Answers, Conversation, ConversationUpdate, END, Graph, MemoryLog, Message, Report, Runner,
    ThreadId,
};

fn say(text: impl Into<String>) -> ConversationUpdate {
    ConversationUpdate::Said(Message::assistant(text))
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Report> {
    let graph = Graph::<Conversation>::starting_at("draft")
        .node("draft", async |_| say("a draft"))
        .pause(
            "judge",
            |_| "good?",
            |_, good: bool| say(format!("good: {good}")),
        )
        .edge("draft", "judge")
        .edge("judge", END)
        .build()?;
    let runner = Runner::new(graph, Arc::new(MemoryLog::default()));
    let (one, other) = (ThreadId::new("one")?, ThreadId::new("other")?);
    runner.start(&one, ()).await?;
    let first = runner.resume(&one, Answers::only(true)?).await?;

    let history = runner.history(&one, 1, 100).await?;
    let step = history
        .iter()
        .find(|entry| entry.is_checkpoint())
        .ok_or("no step has closed")?;
    runner.fork(&one, step.seq, &other).await?;
    let second = runner.recover(&other).await?;
    assert_eq!(second.interrupts()[0].question.prompt, "good?");
    let second = runner.resume(&other, Answers::only(false)?).await?;
    for ended in [&first, &second] {
        println!("{}", ended.state().history[1].content);
    }
    assert_eq!(first.state().history[0], second.state().history[0]);
    assert_ne!(first.state().history[1], second.state().history[1]);
    Ok(())
}
