//! The assistant's reference scenario on model servers: aimock, which says what it is told to, and
//! a small model on llama.cpp, which mostly does not. Where they are not installed there is nothing
//! to ask.
use std::{sync::Arc, time::Duration};

use fugato::{
    Answers, BoxError, ChatModel, MemoryLog, OpenAi, Runner, ThreadId,
    agent::{Assistant, ReactReply, react::ReplyError},
    axum::ServedAgent as _,
    llm::{ApiKey, Timeout},
};
use react::{BuiltIn, ReactAgent, agent::graph, tools::ToolEnvironment};
use serde_json::json;
use servers::{Aimock, Llama};

const KEY: &str = "sk-react-0123456789";
const WISH: &str = "Remember that I drink tea. Then write how many bags 17 boxes of 3 are.";

/// The server's answers, by how many results of tools it has been told.
fn fixtures() -> String {
    let call = |id: &str, name: &str, arguments: serde_json::Value| json!({ "id": id, "name": name, "arguments": arguments.to_string() });
    let calls = [
        call("c1", "calculate", json!({ "expression": "17 * 3" })),
        call("c2", "recall", json!({ "query": "tea" })),
    ];
    let write = call(
        "c3",
        "write_file",
        json!({ "path": "list.md", "text": "51 bags" }),
    );
    let at = |index: u32, response: serde_json::Value| json!({ "match": { "userMessage": "Remember that I drink tea", "sequenceIndex": index }, "response": response });
    json!({ "fixtures": [
        at(0, json!({ "toolCalls": calls })),
        at(1, json!({ "toolCalls": [write] })),
        at(2, json!({ "content": "It is in list.md." })),
    ] })
    .to_string()
}

fn companion(
    model: impl ChatModel + 'static,
    tools: &ToolEnvironment,
) -> Result<ReactAgent, BoxError> {
    let registry = tools.built_in(&BuiltIn::ALL)?.build()?;
    let graph = graph(
        Some(Arc::new(model)),
        registry,
        Arc::new(tools.notebook.clone()),
        4,
    )?;
    let runner = Runner::new(graph, Arc::new(MemoryLog::default()));
    Ok(ReactAgent::new(runner))
}

/// Says something, and agrees to whatever is asked.
async fn reply(companion: &ReactAgent, text: &str) -> Result<ReactReply, BoxError> {
    let thread = ThreadId::new("desk")?;
    let mut reply = companion.chat(&thread, text).await;
    while let Err(ReplyError::Asks(open)) = &reply {
        let mut answers = Answers::none();
        for asked in open {
            let shown = asked.question.digest.clone().unwrap_or_default();
            answers = answers.approving(asked.id.clone(), true, shown)?;
        }
        let ended = companion.runner().resume(&thread, answers).await?;
        reply = Assistant::reply(ended);
    }
    Ok(reply?)
}

#[tokio::test]
async fn rct_t2_a_model_server_of_others_works_in_two_rounds() -> Result<(), BoxError> {
    let Some(server) = Aimock::start(&fixtures()) else {
        return Ok(());
    };
    let folder = fugato_testkit::tempdir()?;
    let tools = ToolEnvironment::new(folder.path());
    let model = OpenAi::new(server.url(), "small").key(ApiKey::new(KEY));
    let reply = reply(&companion(model, &tools)?, WISH).await?;
    assert!(reply.final_reply.starts_with("Done: list.md is written"));
    assert!(reply.final_reply.ends_with("\n\nIt is in list.md."));
    assert_eq!(
        (reply.metadata.steps_taken, reply.metadata.llm_calls),
        (2, 3)
    );
    assert_eq!(
        reply.metadata.tools_used,
        ["calculate", "recall", "write_file"]
    );
    let written = std::fs::read_to_string(folder.path().join("files/list.md"))?;
    assert_eq!(written, "51 bags");
    let kept = std::fs::read_to_string(folder.path().join("memory/MEMORY.md"))?;
    assert!(kept.contains("I drink tea"), "{kept}");
    Ok(())
}

/// Whatever a small model says, there is a reply within the limit of steps, and what was to be
/// remembered is kept.
#[tokio::test]
async fn rct_8_a_small_model_always_comes_to_a_reply() -> Result<(), BoxError> {
    let Some(server) = Llama::start(KEY) else {
        return Ok(());
    };
    let folder = fugato_testkit::tempdir()?;
    let tools = ToolEnvironment::new(folder.path());
    let client = OpenAi::new(server.url(), "small").key(ApiKey::new(KEY));
    // It may go on for as long as its context has room; then rules answer.
    let model = Timeout::new(client).total(Duration::from_secs(10));
    let companion = companion(model, &tools)?;
    for wish in [
        "Remember that I drink tea",
        "What is (17 + 25) * 2?",
        "现在几点？",
    ] {
        let reply = reply(&companion, wish).await?;
        println!("{wish}: {reply:?}");
        assert!(!reply.final_reply.trim().is_empty(), "{reply:?}");
        assert!(reply.metadata.steps_taken <= 4, "{reply:?}");
    }
    let kept = std::fs::read_to_string(folder.path().join("memory/MEMORY.md"))?;
    assert!(kept.contains("I drink tea"), "{kept}");
    Ok(())
}
