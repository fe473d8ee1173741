//! Requests as the endpoints of fugato take them.
use serde_json::{Value, json};

use super::world::{ConsentAnswer, ConsentWords, TestRequest};

/// A message of a conversation as a client keeps it: its role and its words.
pub(super) type Message = (&'static str, String);

/// The doors for words; the last three repeat the conversation.
pub(super) const WORDS: usize = 5;
/// From this door on the conversation is repeated.
pub(super) const REPEATING: usize = 2;

/// Says these words at a door.
pub(super) fn words(door: usize, words: &ConsentWords, history: &[Message]) -> TestRequest {
    let ConsentWords {
        thread, text, card, ..
    } = words;
    let said = ("user", text.clone());
    let messages: Vec<&Message> = history.iter().chain([&said]).collect();
    let as_content = |(role, text): &&Message| json!({ "role": role, "content": text });
    let as_parts = |(role, text): &&Message| {
        let parts = json!([{ "type": "text", "text": text }]);
        json!({ "id": "m", "role": role, "parts": parts })
    };
    let contents: Vec<Value> = messages.iter().map(as_content).collect();
    let (path, mut body) = match door {
        0 => (format!("/threads/{thread}/runs"), json!({ "text": text })),
        1 => (
            "/sse/react".to_owned(),
            json!({ "thread": thread, "text": text }),
        ),
        2 => {
            let extra = json!({ "conversation_id": thread, "card": card });
            let body = json!({ "messages": contents, "extra": extra });
            return TestRequest::post("/v1/chat/completions", body);
        }
        3 => {
            let parts: Vec<Value> = messages.iter().map(as_parts).collect();
            (
                "/api/chat".to_owned(),
                json!({ "id": thread, "messages": parts }),
            )
        }
        _ => {
            let props = card.as_ref().map(|card| json!({ "card": card }));
            let body = json!({
                "threadId": thread, "runId": "r", "messages": contents, "forwardedProps": props,
                "tools": [], "context": [], "state": null,
            });
            return TestRequest::post("/agui", body);
        }
    };
    if let (Some(card), Some(body)) = (card, body.as_object_mut()) {
        body.insert("card".into(), json!(card));
    }
    TestRequest::post(path, body)
}

/// The doors for buttons.
pub(super) const BUTTONS: usize = 6;

/// Presses a button at a door, which sends this value.
pub(super) fn button(door: usize, answer: &ConsentAnswer, value: &Value) -> TestRequest {
    let ConsentAnswer {
        thread,
        id,
        digest,
        agrees,
    } = answer;
    let answers = json!({ id: value });
    match door {
        0 => {
            let mut body = json!({ "answers": answers });
            if let (Some(digest), Some(body)) = (digest, body.as_object_mut()) {
                body.insert("digests".into(), json!({ id: digest }));
            }
            TestRequest::post(format!("/threads/{thread}/resume"), body)
        }
        1 => {
            let body = json!({ "thread": thread, "answers": answers });
            TestRequest::post("/sse/react", body)
        }
        2 => {
            let action = if *agrees { "approve" } else { "reject" };
            let resume = json!({ "interaction_id": id, "action": action });
            let extra = json!({ "conversation_id": thread, "resume": resume });
            let body = json!({ "messages": [], "extra": extra });
            TestRequest::post("/v1/chat/completions", body)
        }
        3 => {
            let approval = json!({ "id": id, "approved": agrees });
            let part = json!({
                "type": "tool-act", "toolCallId": "c1", "state": "approval-responded",
                "approval": approval,
            });
            let message = json!({ "id": "m", "role": "assistant", "parts": [part] });
            let body = json!({ "id": thread, "messages": [message] });
            TestRequest::post("/api/chat", body)
        }
        4 => {
            let body = json!({ "id": thread, "messages": [], "answers": answers });
            TestRequest::post("/api/chat", body)
        }
        _ => {
            let entry = json!({ "interruptId": id, "status": "resolved", "payload": value });
            let body = json!({
                "threadId": thread, "runId": "r", "messages": [], "resume": [entry],
                "tools": [], "context": [], "state": null,
            });
            TestRequest::post("/agui", body)
        }
    }
}
