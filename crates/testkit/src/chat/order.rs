//! Scenarios of the deltas of an answer and their order.
use fugato_llm::{ChatDelta, ChatModelExt as _, FinishReason, Usage};
use fugato_state::ToolCall;
use futures::StreamExt as _;
use serde_json::json;

use super::{ChatFactory, answer, hello};
use crate::{
    ScriptedReply,
    log::{Failure, same},
};

/// Contract *deltas in order*: the joined pieces are the text, in any script.
pub async fn deltas_in_order(factory: &dyn ChatFactory) -> Result<(), Failure> {
    for text in [
        "Good morning, Ada.\n\nIt is 7:05.",
        "早上好，今天有三节课。🎉",
        " \" \\ \n",
    ] {
        for size in [1, 3, 100] {
            let said = answer(factory, ScriptedReply::chunked(text, size)).await?;
            let what = format!("the text in pieces of {size}");
            same(&what, said.message.content.as_str(), text)?;
        }
    }
    Ok(())
}

/// Contract *deltas in order*: reasoning is no part of the text.
pub async fn reasoning_is_apart(factory: &dyn ChatFactory) -> Result<(), Failure> {
    let reply = ScriptedReply::chunks(["yes"]).reasoning("is it? ");
    let said = answer(factory, reply).await?;
    same("the text", said.message.content.as_str(), "yes")?;
    let thought = said.message.reasoning.as_deref();
    same("what it thought", thought, Some("is it? "))
}

/// Contract *deltas in order*: the calls of an answer keep their order, ids, names and arguments.
pub async fn tool_calls_are_whole(factory: &dyn ChatFactory) -> Result<(), Failure> {
    let calls = [
        ToolCall::new(
            "call-1",
            "place",
            json!({ "day": 3, "note": "early \"please\"" }),
        ),
        ToolCall::new("call-2", "look", json!({})),
    ];
    let said = answer(factory, ScriptedReply::tool_calls(calls.clone())).await?;
    same("the calls", said.message.tool_calls, calls.to_vec())?;
    same("why it stopped", said.finish, Some(FinishReason::ToolCalls))
}

/// Contract *deltas in order*: the usage and the finish reason of an answer are reported unchanged.
pub async fn usage_and_the_reason_to_stop_are_told(
    factory: &dyn ChatFactory,
) -> Result<(), Failure> {
    for reason in [FinishReason::Stop, FinishReason::Length] {
        let usage = Usage::new(12, 7);
        let deltas = [ChatDelta::text("Good"), ChatDelta::Finish(reason.clone())];
        let said = answer(factory, ScriptedReply::deltas(deltas).usage(usage)).await?;
        same("what it cost", said.usage, Some(usage))?;
        same("why it stopped", said.finish, Some(reason))?;
    }
    Ok(())
}

/// Contract *deltas in order*: a piece is delivered before the rest is ready.
pub async fn deltas_come_as_they_are_said(factory: &dyn ChatFactory) -> Result<(), Failure> {
    let speaker = factory
        .says(vec![ScriptedReply::text("Good").then_hang()])
        .await?;
    let mut deltas = speaker.model.stream(hello()).await?;
    let mut text = String::new();
    while text != "Good" {
        match deltas.next().await.transpose()? {
            Some(ChatDelta::Text(more)) => text += &more,
            Some(_) => {}
            None => return Err(Failure::new(format!("it ended after {text:?}"))),
        }
    }
    Ok(())
}

/// Contract *calls are independent*: two answers at the same time, piece by piece, do not mix, and
/// a third does not depend on them.
pub async fn calls_are_independent(factory: &dyn ChatFactory) -> Result<(), Failure> {
    let replies = ["one two three", "vier fünf sechs", "one two three"];
    let replies = replies.map(|text| ScriptedReply::chunked(text, 2));
    let speaker = factory.says(replies.to_vec()).await?;
    let first = speaker.model.stream(hello()).await?;
    let second = speaker.model.stream(hello()).await?;
    // One of them ends first, and another call is made.
    let (mut first, mut second) = (first.fuse(), second.fuse());
    let mut texts = [String::new(), String::new()];
    loop {
        let next = [first.next().await, second.next().await];
        if next.iter().all(Option::is_none) {
            break;
        }
        for (text, delta) in texts.iter_mut().zip(next) {
            if let Some(ChatDelta::Text(more)) = delta.transpose()? {
                *text += &more;
            }
        }
    }
    texts.sort();
    let expected = ["one two three", "vier fünf sechs"].map(str::to_owned);
    same("two answers at the same time", texts, expected)?;
    let third = speaker.model.complete(hello()).await?;
    let third = third.message.content;
    same("the answer after them", third.as_str(), "one two three")
}
