//! A graph as a node of another: the same log, and a state of its own.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use fugato::{Context, Conversation, ConversationUpdate, END, Graph, Message, Report, Runner};

fn say(text: impl Into<String>) -> ConversationUpdate {
    ConversationUpdate::Said(Message::assistant(text.into()))
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Report> {
    let shout = async |cx: Context<Conversation>| {
        let last = cx
            .state()
            .history
            .last()
            .map(|message| message.content.to_uppercase());
        say(last.unwrap_or_default())
    };
    let inner = Graph::<Conversation>::starting_at("shout")
        .node("shout", shout)
        .edge("shout", END)
        .build()?;
    let outer = Graph::<Conversation>::starting_at("greet")
        .node("greet", async |_| say("hello"))
        .subgraph(
            "louder",
            &inner,
            |outer| Ok(outer.state().clone()),
            |_, inner: &Conversation| inner.history.last().cloned().map(ConversationUpdate::Said),
        )
        .edge("greet", "louder")
        .edge("louder", END)
        .build()?;
    let ended = Runner::ephemeral(outer).run(()).await?;
    let said: Vec<_> = ended
        .state()
        .history
        .iter()
        .map(|message| &*message.content)
        .collect();
    println!("{}", said.join(" "));
    assert_eq!(said, ["hello", "HELLO"]);
    Ok(())
}
