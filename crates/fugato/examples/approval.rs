//! A tool that writes waits for a person: the card shows the call, and the answer names the card.
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
    Answers, Report, ThreadId, ToolCall, ToolFailure, ToolSpec, agent,
    agent::ReplyError,
    schemars::{self, JsonSchema},
    serde_json::json,
    tool::{GateChain, confirm_writes},
};
use fugato_testkit::{Scripted, ScriptedReply};
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Order {
    item: String,
}

async fn order(sent: Arc<AtomicU32>, Order { item }: Order) -> Result<String, ToolFailure> {
    sent.fetch_add(1, Ordering::SeqCst);
    Ok(format!("ordered {item}"))
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Report> {
    let sent = Arc::new(AtomicU32::new(0));
    let model = Scripted::new([
        ScriptedReply::tool_calls([ToolCall::new("c1", "order", json!({ "item": "tea" }))]),
        ScriptedReply::text("The tea is on its way."),
    ]);
    let assistant = agent(model)
        .function_with(
            ToolSpec::write("order", "Orders an item."),
            sent.clone(),
            order,
        )
        .gates(GateChain::new().with(confirm_writes))
        .build()?;
    let thread = ThreadId::new("desk")?;
    let Err(ReplyError::Asks(cards)) = assistant.chat(&thread, "Order tea.").await else {
        return Err("nothing was asked".into());
    };
    println!("{}", cards[0].question.prompt);
    assert_eq!(sent.load(Ordering::SeqCst), 0);

    // Perhaps tomorrow, from another process over the same store.
    let yes = Answers::to(cards[0].id.clone(), true)?;
    let ended = assistant.runner().resume(&thread, yes).await?;
    println!("{}", ended.state().reply().final_reply);
    assert_eq!(sent.load(Ordering::SeqCst), 1);
    Ok(())
}
