//! A conversation: each message goes on where the last one ended.
//!
//! The model is a script, so that the example needs no key; `OpenAi::new(url, model)` or
//! `Anthropic::new(..)` takes its place.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use fugato::{Report, ThreadId, agent};
use fugato_testkit::Scripted;

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Report> {
    let model = Scripted::new(["Nice to meet you, Ada.", "Your name is Ada."]);
    let assistant = agent(model).system("You remember names.").build()?;
    let thread = ThreadId::new("ada")?;
    for text in ["I am Ada.", "What is my name?"] {
        let reply = assistant.chat(&thread, text).await?;
        println!("> {text}\n{}", reply.final_reply);
    }
    let state = assistant.runner().state(&thread).await?.unwrap_or_default();
    assert_eq!(state.conversation.history.len(), 4);
    Ok(())
}
