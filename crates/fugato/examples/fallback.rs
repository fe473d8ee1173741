//! A second provider takes over when the first one fails.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use fugato::{ChatModelExt as _, ChatRequest, Message, Report, agent, llm::Fallback};
use fugato_testkit::{Scripted, ScriptedReply};

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Report> {
    use fugato::llm::{ModelError, ModelErrorKind};
    let down = || ScriptedReply::error(ModelError::new(ModelErrorKind::Unavailable, "maintenance"));
    // In a program: `OpenAi::new(..)`, then `Anthropic::new(..)`.
    let models = || Fallback::new(Scripted::new([down()])).or(Scripted::new(["At your service."]));
    let reply = agent(models()).run("Hello?").await?;
    println!("{reply}");
    assert_eq!(reply, "At your service.");

    // The same without an agent: a request, and an answer.
    let answer = models()
        .complete(ChatRequest::new([Message::user("Hello?")]))
        .await?;
    assert_eq!(answer.message.content, "At your service.");
    Ok(())
}
