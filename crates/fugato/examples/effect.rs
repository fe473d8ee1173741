//! An action on the outside world: its receipt is in the log, so that a retry does not repeat it.
#![expect(
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "an example shows what it does"
)]

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use fugato::{
    BoxError, Context, Conversation, ConversationUpdate, END, EffectClass, Graph, MemoryLog,
    Message, Report, Runner, ThreadId,
};

type MailCount = Arc<AtomicU32>;

async fn mail(
    mailed: MailCount,
    cx: Context<Conversation>,
) -> Result<ConversationUpdate, BoxError> {
    let send = |_key| async move {
        let number = mailed.fetch_add(1, Ordering::SeqCst) + 1;
        Ok::<_, BoxError>(format!("letter {number}"))
    };
    let letter = cx
        .effect("mail", EffectClass::Once, &"to all", send)
        .await?;
    if cx.attempt() == 1 && cx.state().history.is_empty() {
        return Err("the node fails after its letter was sent".into());
    }
    Ok(ConversationUpdate::Said(Message::assistant(letter)))
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Report> {
    let mailed = MailCount::default();
    let graph = Graph::<Conversation>::starting_at("mail")
        .node_with("mail", mailed.clone(), mail)
        .policy("mail", fugato::NodePolicy::default().attempts(2))
        .edge("mail", END)
        .build()?;
    let runner = Runner::new(graph, Arc::new(MemoryLog::default()));
    let ended = runner.start(&ThreadId::new("letter")?, ()).await?;
    println!("{}", ended.state().history[0].content);
    assert_eq!(ended.state().history[0].content, "letter 1");
    assert_eq!(mailed.load(Ordering::SeqCst), 1);
    Ok(())
}
