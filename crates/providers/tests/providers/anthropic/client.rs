//! The client against a real HTTP server on loopback: what is its own.
use std::time::Duration;

use fugato_llm::{ChatModelExt as _, ModelErrorKind, RetryAdvice, Thinking};
use fugato_providers::anthropic::{Anthropic, ApiKey};
use fugato_state::{Message, ToolCall};
use serde_json::{Value, json};

use crate::{
    client::{Wire, ask},
    server::{Answer, Server},
};

const SECRET: &str = "sk-ant-very-secret";

/// Returns an event as servers send it, with its name.
fn event(data: &Value) -> String {
    let name = data["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n")
}

fn text(text: &str) -> String {
    let delta = json!({ "type": "text_delta", "text": text });
    event(&json!({ "type": "content_block_delta", "index": 0, "delta": delta }))
}

fn begin() -> String {
    let usage = json!({ "input_tokens": 5, "output_tokens": 1 });
    let start = event(&json!({ "type": "message_start", "message": { "usage": usage } }));
    let block = json!({ "type": "text", "text": "" });
    start + &event(&json!({ "type": "content_block_start", "index": 0, "content_block": block }))
}

fn end() -> String {
    let last = json!({
        "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 2 },
    });
    [
        json!({ "type": "content_block_stop", "index": 0 }),
        last,
        json!({ "type": "message_stop" }),
    ]
    .iter()
    .map(event)
    .collect()
}

pub(crate) fn wire() -> Wire {
    let seven = RetryAdvice::After(Duration::from_secs(7));
    let content = json!([{ "type": "text", "text": "Hello" }]);
    Wire {
        secret: SECRET,
        client: |server, key| {
            let client = Anthropic::new("small").base_url(&server.url());
            Box::new(client.key(ApiKey::new(key)))
        },
        begin: begin(),
        text,
        ping: event(&json!({ "type": "ping" })),
        end: end(),
        whole: json!({
            "type": "message", "content": [{ "type": "text", "text": "Hi" }],
            "stop_reason": "end_turn",
        }),
        head: &[
            "POST /v1/messages HTTP/1.1\r\n",
            "\r\nx-api-key: sk-ant-very-secret\r\n",
            "\r\nanthropic-version: 2023-06-01\r\n",
        ],
        body: json!({
            "model": "small", "stream": true, "max_tokens": 4096,
            "messages": [{ "role": "user", "content": content }],
        }),
        advice: vec![
            (529, "{}", "retry-after: 7", seven),
            (529, "{}", "x-should-retry: false", RetryAdvice::Never),
            (401, "{}", "retry-after: 7", RetryAdvice::Never),
        ],
        busy: (529, ModelErrorKind::Unavailable),
    }
}

#[tokio::test]
async fn signed_thoughts_go_back_with_the_message_that_called_a_tool() {
    let of = |kind: &str, index: usize, part: &str, data: Value| {
        event(&json!({ "type": kind, "index": index, part: data }))
    };
    let block = |index, data| of("content_block_start", index, "content_block", data);
    let delta = |index, data| of("content_block_delta", index, "delta", data);
    let stop = |index: usize| event(&json!({ "type": "content_block_stop", "index": index }));
    let thought = json!({ "type": "thinking_delta", "thinking": "Day 4 is free." });
    let signature = json!({ "type": "signature_delta", "signature": "c2lnbmVk" });
    let tool = json!({ "type": "tool_use", "id": "toolu_1", "name": "move", "input": {} });
    let input = json!({ "type": "input_json_delta", "partial_json": "{\"day\":4}" });
    let calls = [
        block(
            0,
            json!({ "type": "thinking", "thinking": "", "signature": "" }),
        ),
        delta(0, thought),
        delta(0, signature),
        stop(0),
        block(1, tool),
        delta(1, input),
        stop(1),
        event(&json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } })),
        event(&json!({ "type": "message_stop" })),
    ];
    let server = Server::start([
        Answer::stream(calls),
        Answer::stream([begin(), text("Done."), end()]),
    ])
    .await;
    let client = (wire().client)(&server, SECRET);
    let question = ask().thinking(Thinking::On);
    let first = client.complete(question.clone()).await.unwrap().message;
    assert_eq!(first.reasoning.as_deref(), Some("Day 4 is free."));
    let call = ToolCall::new("toolu_1", "move", json!({ "day": 4 }));
    assert_eq!(first.tool_calls, [call]);

    // A message that was stored in between still has the blocks.
    let stored = serde_json::to_string(&first).unwrap();
    let restored: Message = serde_json::from_str(&stored).unwrap();
    assert_eq!(restored, first);
    let next = question
        .message(restored)
        .message(Message::tool("toolu_1", "moved"));
    assert_eq!(
        client.complete(next).await.unwrap().message.content,
        "Done."
    );

    server.request().await;
    let request = server.request().await;
    let (_, body) = request.split_once("\r\n\r\n").unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    let expected = json!([
        { "type": "thinking", "thinking": "Day 4 is free.", "signature": "c2lnbmVk" },
        { "type": "tool_use", "id": "toolu_1", "name": "move", "input": { "day": 4 } },
    ]);
    assert_eq!(body["messages"][1]["content"], expected);
    assert_eq!(
        body["thinking"],
        json!({ "type": "enabled", "budget_tokens": 4096 })
    );
}

#[tokio::test]
async fn l2_each_failure_has_its_kind() {
    use ModelErrorKind::{
        BadRequest, Denied, NotFound, RateLimited, TimedOut, TooLong, Unavailable,
    };
    for (status, name, message, kind) in [
        (
            400,
            "invalid_request_error",
            "max_tokens: too small",
            BadRequest,
        ),
        (
            400,
            "invalid_request_error",
            "prompt is too long: 9 tokens > 8 maximum",
            TooLong,
        ),
        (
            401,
            "authentication_error",
            "wrong key sk-ant-very-secret",
            Denied,
        ),
        (402, "billing_error", "no credit", Denied),
        (403, "permission_error", "no", Denied),
        (404, "not_found_error", "no model small", NotFound),
        (413, "request_too_large", "too many bytes", TooLong),
        (429, "rate_limit_error", "slow down", RateLimited),
        (500, "api_error", "oops", Unavailable),
        (504, "timeout_error", "too slow", TimedOut),
        (529, "overloaded_error", "overloaded", Unavailable),
    ] {
        let said = message.replace(SECRET, "[key]");
        let error = json!({ "type": "error", "error": { "type": name, "message": message } });
        let by_status = wire().fails(Answer::json(status, &error.to_string())).await;
        let context = format!("status {status}: {said}");
        assert_eq!((by_status.kind, by_status.context), (kind, context));
        assert_eq!(by_status.advice, kind.advice());

        let in_stream = wire().fails(Answer::stream([begin(), event(&error)])).await;
        assert_eq!((in_stream.kind, in_stream.context), (kind, said));
    }
    let plain = wire().fails(Answer::json(502, "<html>oops</html>")).await;
    assert_eq!(
        (plain.kind, plain.context.as_str()),
        (Unavailable, "status 502: <html>oops</html>")
    );
}
