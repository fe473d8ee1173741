//! A model answers at once, or leaves the message to the next node.
use std::{sync::Arc, time::Duration};

use fugato_agent::{React, ReactUpdate, plan::DirectReply};
use fugato_graph::{BoxError, END, Graph, Runner};
use fugato_llm::Timeout;
use fugato_state::ThreadId;
use fugato_store::MemoryLog;
use fugato_testkit::{Scripted, ScriptedReply};
use serde_json::json;

/// Returns the answer, and the number of requests to the model.
async fn answered(reply: ScriptedReply, message: &str) -> Result<(String, usize), BoxError> {
    let model = Scripted::new([reply]);
    let said = |state: &React| {
        let last = state.conversation.history.last();
        last.map_or(String::new(), |message| message.content.clone())
    };
    let replied = |final_reply| ReactUpdate::Finished { final_reply };
    let timed = Arc::new(Timeout::new(model.clone()));
    let direct = DirectReply::new(timed, || "You belong to a shop.".to_owned(), said, replied)
        .only_if(move |state| !said(state).contains("price"))
        .told(|_| "The person prefers short answers.".into());
    let graph = Graph::<React>::starting_at("gate").node("gate", direct);
    let graph = graph.edge("gate", END).build()?;
    let runner = Runner::new(graph, Arc::new(MemoryLog::default()));
    let thread = ThreadId::new("t")?;
    let ended = runner.start(&thread, ReactUpdate::user(message)).await?;
    let asked = model.requests();
    let told = asked.iter().flat_map(|request| &request.messages);
    let told: String = told.map(|message| message.content.as_str()).collect();
    let is_told = told.contains("You belong to a shop.") && told.contains("short answers");
    assert!(
        asked.is_empty() || is_told && told.contains(message),
        "{told}"
    );
    Ok((ended.state().run.final_reply.clone(), asked.len()))
}

#[tokio::test(start_paused = true)]
async fn pln_16a_on_any_doubt_nothing_is_answered() -> Result<(), BoxError> {
    let json = |value: serde_json::Value| ScriptedReply::text(value.to_string());
    let direct = || json(json!({ "action": "direct_answer", "answer": "Good morning!" }));
    let begun = tokio::time::Instant::now();
    for (reply, message, expected) in [
        (direct(), "Good morning", ("Good morning!", 1)),
        (direct(), "the price", ("", 0)),
        (json(json!({ "action": "other" })), "Hello", ("", 1)),
        (
            json(json!({ "action": "direct_answer", "answer": " " })),
            "Hello",
            ("", 1),
        ),
        (ScriptedReply::text("no JSON"), "Hello", ("", 1)),
        (ScriptedReply::hang(), "Hello", ("", 1)),
    ] {
        let (text, asked) = answered(reply, message).await?;
        assert_eq!((text.as_str(), asked), expected, "{message}");
    }
    assert_eq!(begun.elapsed(), Duration::from_secs(8));
    Ok(())
}
