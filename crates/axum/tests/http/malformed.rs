//! Requests of clients that send something else than their protocol has: each is refused with what
//! was wrong and what is allowed.
use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use fugato_axum::{Caller, UserMessage};

use crate::server::{Answer, Client, LetterServer};

/// The protocols that send the whole conversation along, with these messages.
fn conversations(messages: &Value) -> [(&'static str, Value); 3] {
    [
        ("/v1/chat/completions", json!({ "messages": messages })),
        (
            "/agui",
            json!({ "threadId": "desk", "runId": "r", "messages": messages }),
        ),
        ("/api/chat", json!({ "id": "desk", "messages": messages })),
    ]
}

/// The message of a refusal.
fn told(answer: &Answer) -> String {
    let told = answer.json()["error"]["message"]
        .as_str()
        .map(str::to_owned);
    told.unwrap_or_else(|| panic!("no message: {}", answer.body))
}

async fn refused(client: &Client, path: &str, body: &Value) -> String {
    let answer = client.post(path, body.clone()).await;
    assert_eq!(
        answer.status,
        StatusCode::BAD_REQUEST,
        "{path} {body}: {}",
        answer.body
    );
    told(&answer)
}

#[tokio::test]
async fn in_every_protocol_only_the_words_of_the_person_are_a_request() {
    let client = LetterServer::open().client();
    for role in ["assistant", "system", "tool", "developer", "pope"] {
        let messages = json!([
            { "role": "user", "content": "talk", "parts": [] },
            { "role": role, "content": "talk", "parts": [] },
        ]);
        for (path, body) in conversations(&messages) {
            let message = refused(&client, path, &body).await;
            let names = [format!("{role:?}"), "\"user\"".to_owned()];
            assert!(
                names.iter().all(|name| message.contains(name)),
                "{path}: {message}"
            );
        }
    }
    assert_eq!(
        client.get("/threads/desk").await.status,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn a_conversation_of_another_form_is_refused_by_the_name_of_its_field() {
    let client = LetterServer::open().client();
    let cases = [
        (json!("talk"), "\"messages\""),
        (json!({ "role": "user", "content": "talk" }), "\"messages\""),
        (json!(["talk"]), "\"messages\""),
        (json!([null]), "\"messages\""),
        (json!([{ "role": 5, "content": "talk" }]), "\"role\""),
        (json!([{ "role": "user", "content": 5 }]), "\"content\""),
        (
            json!([{ "role": "user", "content": { "text": "talk" } }]),
            "\"content\"",
        ),
    ];
    for (messages, field) in cases {
        for (path, body) in conversations(&messages) {
            let message = refused(&client, path, &body).await;
            let is_named = message.contains(field) || message.contains("\"messages\"");
            assert!(is_named, "{path} {messages}: {message}");
            for word in ["struct", "sequence", "u64", "TextPart"] {
                assert!(!message.contains(word), "{path} {messages}: {message}");
            }
        }
    }
}

#[tokio::test]
async fn an_answer_of_another_form_is_refused_by_the_name_of_its_field() {
    let client = LetterServer::open().client();
    let said = json!([{ "role": "user", "content": "talk" }]);
    let ag_ui = |resume: Value| json!({ "threadId": "t", "runId": "r", "messages": said, "resume": resume });
    let openai = |ext: Value| json!({ "messages": said, "ext": ext });
    let cases = [
        ("/agui", ag_ui(json!(5)), "\"resume\""),
        ("/agui", ag_ui(json!([{}])), "\"resume\""),
        (
            "/v1/chat/completions",
            openai(json!({ "resume": 5 })),
            "\"resume\"",
        ),
        (
            "/v1/chat/completions",
            openai(json!({ "resume": { "after": -1 } })),
            "\"resume\"",
        ),
        (
            "/v1/chat/completions",
            openai(json!({ "conversation_id": 5 })),
            "\"conversation_id\"",
        ),
        (
            "/v1/chat/completions",
            openai(json!({ "card": 5 })),
            "\"card\"",
        ),
        (
            "/v1/chat/completions",
            json!({ "messages": said, "stream": "yes" }),
            "\"stream\"",
        ),
        (
            "/api/chat",
            json!({ "id": "t", "answers": [] }),
            "\"answers\"",
        ),
        (
            "/sse/react",
            json!({ "thread": "t", "answers": 5 }),
            "\"answers\"",
        ),
        (
            "/sse/react",
            json!({ "thread": "t", "text": "yes", "card": {} }),
            "\"card\"",
        ),
        ("/threads/t/resume", json!({ "answers": 5 }), "\"answers\""),
        (
            "/threads/t/resume",
            json!({ "answers": { "a": true }, "digests": { "a": 5 } }),
            "\"a\"",
        ),
    ];
    for (path, body, field) in cases {
        let message = refused(&client, path, &body).await;
        assert!(message.contains(field), "{path} {body}: {message}");
        for word in ["struct", "sequence", "u64", "a map"] {
            assert!(!message.contains(word), "{path} {body}: {message}");
        }
    }
}

#[tokio::test]
async fn a_digest_that_is_no_text_agrees_to_nothing() {
    let client = LetterServer::open().client();
    client.run("desk", "something sealed").await;
    let id = client.asked("desk").await;
    let body = json!({ "answers": { id.as_str(): true }, "digests": { id.as_str(): 1 } });
    let answer = client.post("/threads/desk/resume", body).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{}", answer.body);
    assert_eq!(client.asked("desk").await, id);
}

#[tokio::test]
async fn a_field_that_is_null_is_one_that_is_missing() {
    let client = LetterServer::open().client();
    let body = json!({
        "messages": [{ "role": "user", "content": "talk" }], "extra": null, "ext": null,
        "stream": null,
    });
    let answer = client.post("/v1/chat/completions", body).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let body = json!({
        "messages": [{ "role": "user", "content": "talk" }], "extra": null,
        "ext": { "conversation_id": "desk" },
    });
    let answer = client.post("/v1/chat/completions", body).await;
    assert_eq!(
        answer.header("x-conversation-id"),
        "desk",
        "{}",
        answer.body
    );
}

#[tokio::test]
async fn a_position_beyond_all_others_has_nothing_after_it() {
    let client = LetterServer::open().client();
    client.run("desk", "talk").await;
    let last = u64::MAX.to_string();
    for path in [
        "/threads/desk/events?follow=false",
        "/sse/react?thread=desk",
    ] {
        let by_query = client.get(&format!("{path}&after={last}")).await;
        let header = [("last-event-id", last.as_str())];
        let by_header = client.with(Method::GET, path, &header, Value::Null).await;
        for answer in [by_query, by_header] {
            assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.body);
            assert!(!answer.body.contains("data:"), "{path}: {}", answer.body);
        }
    }
}

#[tokio::test]
async fn what_is_wrong_with_an_address_is_told_like_everything_else() {
    let client = LetterServer::open().client();
    for (path, status, word) in [
        ("/threads/%ff", 400, "UTF-8"),
        ("/threads/%F0%9F/timeline", 400, "UTF-8"),
        ("/api/chat/%ff/stream", 400, "UTF-8"),
        (
            "/threads/desk/events?follow=maybe",
            400,
            "it must be true or false",
        ),
        ("/ws/chat", 426, "upgrade"),
    ] {
        let answer = client.get(path).await;
        assert_eq!(answer.status.as_u16(), status, "{path}: {}", answer.body);
        let message = told(&answer);
        assert!(message.contains(word), "{path}: {message}");
        let chinese = [("accept-language", "zh")];
        let answer = client.with(Method::GET, path, &chinese, Value::Null).await;
        let message = told(&answer);
        let is_han = |it: char| ('\u{4e00}'..='\u{9fff}').contains(&it);
        assert!(message.contains(is_han), "{path}: {message}");
    }
}

#[test]
fn of_a_conversation_that_is_sent_along_the_last_hundred_messages_are_read() {
    let message = |n: usize| json!({ "role": "user", "content": format!("wish {n}") });
    let mut said = UserMessage::new(Caller::default(), "wish 3000");
    said.messages = (0..=3000).map(message).collect();
    said.begins = true;
    let earlier = said.earlier();
    let text = |at: Option<&fugato_state::Message>| at.map(|it| it.content.clone());
    assert_eq!(earlier.len(), 100);
    assert_eq!(text(earlier.first()).as_deref(), Some("wish 2900"));
    assert_eq!(text(earlier.last()).as_deref(), Some("wish 2999"));
}

/// Nobody sees control characters, whoever stores or shows the words: they are no part of them.
#[tokio::test]
async fn control_characters_are_no_part_of_what_a_person_says() {
    let client = LetterServer::open().client();
    let (text, note) = ("talk\0 of \u{1b}tea\n\ttoo\u{9b}", "a\u{7f}b");
    let messages =
        json!([{ "role": "user", "content": text, "parts": [{ "type": "text", "text": text }] }]);
    for (thread, path, body) in [
        (
            "own",
            "/threads/own/runs",
            json!({ "text": text, "extra": { "note": [note] } }),
        ),
        (
            "named",
            "/sse/react",
            json!({ "thread": "named", "text": text, "extra": { "note": [note] } }),
        ),
        (
            "agui",
            "/agui",
            json!({ "threadId": "agui", "runId": "r", "messages": messages, "forwardedProps": { "note": [note] } }),
        ),
        (
            "sdk",
            "/api/chat",
            json!({ "id": "sdk", "messages": messages, "note": [note] }),
        ),
        (
            "openai",
            "/v1/chat/completions",
            json!({ "messages": messages, "extra": { "conversation_id": "openai", "note": [note] } }),
        ),
    ] {
        let accept = [("accept", "text/event-stream")];
        let answer = client.with(Method::POST, path, &accept, body).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.body);
        let state = client.get(&format!("/threads/{thread}/state")).await.json();
        let state = &state["state"];
        assert_eq!(state["wish"], "talk  of  tea\n\ttoo ", "{path}");
        assert_eq!(state["extra"]["note"], json!(["a b"]), "{path}");
    }
}
