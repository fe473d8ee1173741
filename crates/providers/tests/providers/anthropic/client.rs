//! The client against a real HTTP server on loopback.

use std::time::Duration;

use fugato_llm::{
    ChatDelta, ChatModel as _, ChatModelExt as _, ChatRequest, FinishReason, ModelError,
    ModelErrorKind, Retry, RetryAdvice, Thinking, Usage,
};
use fugato_providers::anthropic::{Anthropic, ApiKey};
use fugato_state::{Message, ToolCall};
use futures::StreamExt as _;
use serde_json::{Value, json};

use crate::server::{Answer, Server};

const SECRET: &str = "sk-ant-very-secret";

fn ask() -> ChatRequest {
    ChatRequest::new([Message::user("Hello")])
}

fn client(server: &Server) -> Anthropic {
    let client = Anthropic::new("small").base_url(&server.url());
    client.key(ApiKey::new(SECRET))
}

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

async fn fails(answer: Answer) -> ModelError {
    let server = Server::start([answer]).await;
    let answered = client(&server).complete(ask()).await;
    let error = answered.expect_err("the answer is an error");
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains(SECRET), "{shown}");
    error
}

#[tokio::test]
async fn an_answer_is_streamed_to_its_end() {
    let ping = event(&json!({ "type": "ping" }));
    let body = [begin(), ping, text("Good "), text("morning"), end()];
    let server = Server::start([Answer::stream(body)]).await;
    let response = client(&server).complete(ask()).await.unwrap();
    assert_eq!(response.message, Message::assistant("Good morning"));
    assert_eq!(response.finish, Some(FinishReason::Stop));
    assert_eq!(response.usage, Some(Usage::new(5, 2)));

    let request = server.request().await;
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{head}");
    assert!(
        head.contains("\r\nx-api-key: sk-ant-very-secret\r\n"),
        "{head}"
    );
    assert!(
        head.contains("\r\nanthropic-version: 2023-06-01\r\n"),
        "{head}"
    );
    let content = json!([{ "type": "text", "text": "Hello" }]);
    let expected = json!({
        "model": "small", "stream": true, "max_tokens": 4096,
        "messages": [{ "role": "user", "content": content }],
    });
    assert_eq!(serde_json::from_str::<Value>(body).unwrap(), expected);
}

#[tokio::test]
async fn signed_thoughts_go_back_with_the_message_that_called_a_tool() {
    let block = |index: usize, block: Value| {
        event(&json!({ "type": "content_block_start", "index": index, "content_block": block }))
    };
    let delta = |index: usize, delta: Value| {
        event(&json!({ "type": "content_block_delta", "index": index, "delta": delta }))
    };
    let calls = [
        block(
            0,
            json!({ "type": "thinking", "thinking": "", "signature": "" }),
        ),
        delta(
            0,
            json!({ "type": "thinking_delta", "thinking": "Day 4 is free." }),
        ),
        delta(
            0,
            json!({ "type": "signature_delta", "signature": "c2lnbmVk" }),
        ),
        event(&json!({ "type": "content_block_stop", "index": 0 })),
        block(
            1,
            json!({ "type": "tool_use", "id": "toolu_1", "name": "move", "input": {} }),
        ),
        delta(
            1,
            json!({ "type": "input_json_delta", "partial_json": "{\"day\":4}" }),
        ),
        event(&json!({ "type": "content_block_stop", "index": 1 })),
        event(&json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } })),
        event(&json!({ "type": "message_stop" })),
    ];
    let server = Server::start([
        Answer::stream(calls),
        Answer::stream([begin(), text("Done."), end()]),
    ])
    .await;
    let client = client(&server);
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
async fn l13_deltas_arrive_while_the_server_still_speaks() {
    let (answer, gate) = Answer::stream([begin(), text("Good ")]).gated();
    let server = Server::start([answer.then([text("morning"), end()])]).await;
    let mut deltas = client(&server).stream(ask()).await.unwrap();
    let mut next = async || deltas.next().await.unwrap().unwrap();
    assert_eq!(next().await, ChatDelta::Usage(Usage::new(5, 1)));
    assert_eq!(next().await, ChatDelta::text("Good "));
    gate.notify_one();
    assert_eq!(next().await, ChatDelta::text("morning"));
}

#[tokio::test]
async fn an_answer_in_one_piece_is_read_too() {
    let whole = json!({
        "type": "message", "content": [{ "type": "text", "text": "Hi" }], "stop_reason": "end_turn",
    });
    let server = Server::start([Answer::json(200, &whole.to_string())]).await;
    let response = client(&server).complete(ask()).await.unwrap();
    assert_eq!(response.message.content, "Hi");
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_an_error_after_what_came() {
    let error = fails(Answer::stream([begin(), text("a")])).await;
    assert_eq!(
        (error.kind, error.context.as_str()),
        (ModelErrorKind::CutOff, "the stream ended early")
    );
    let error = fails(Answer::stream([begin(), text("a")]).torn()).await;
    assert_eq!(
        (error.kind, error.advice),
        (ModelErrorKind::CutOff, RetryAdvice::Now)
    );
    let error = fails(Answer::stream(["data: {\"type\":\n\n"])).await;
    assert_eq!(error.kind, ModelErrorKind::Malformed);

    let broken = [text("Good "), text("mor"), "data: nonsense\n\n".to_owned()].concat();
    let server = Server::start([Answer::stream([broken])]).await;
    let deltas: Vec<_> = client(&server).stream(ask()).await.unwrap().collect().await;
    let delivered: Vec<_> = deltas.iter().flatten().cloned().collect();
    assert_eq!(
        delivered,
        [ChatDelta::text("Good "), ChatDelta::text("mor")]
    );
    assert_eq!(deltas.len(), 3);
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
        let by_status = fails(Answer::json(status, &error.to_string())).await;
        let context = format!("status {status}: {said}");
        assert_eq!((by_status.kind, by_status.context), (kind, context));
        assert_eq!(by_status.advice, kind.advice());

        let in_stream = fails(Answer::stream([begin(), event(&error)])).await;
        assert_eq!((in_stream.kind, in_stream.context), (kind, said));
    }
    let plain = fails(Answer::json(502, "<html>oops</html>")).await;
    assert_eq!(
        (plain.kind, plain.context.as_str()),
        (Unavailable, "status 502: <html>oops</html>")
    );
}

#[tokio::test]
async fn the_advice_of_a_server_is_passed_on() {
    let seconds = fails(Answer::json(529, "{}").header("retry-after: 7")).await;
    assert_eq!(seconds.advice, RetryAdvice::After(Duration::from_secs(7)));
    let never = fails(Answer::json(529, "{}").header("x-should-retry: false")).await;
    assert_eq!(never.advice, RetryAdvice::Never);
    let denied = fails(Answer::json(401, "{}").header("retry-after: 7")).await;
    assert_eq!(denied.advice, RetryAdvice::Never);
}

#[tokio::test]
async fn retry_reaches_the_answer_of_an_overloaded_server() {
    let overloaded = Answer::json(529, "{}").header("retry-after: 0");
    let cut = Answer::stream([": ping\n\n"]);
    let good = Answer::stream([begin(), text("Good "), text("morning"), end()]);
    let server = Server::start([overloaded, cut, good]).await;
    let model = Retry::new(client(&server)).pause(Duration::from_millis(1));
    let response = model.complete(ask()).await.unwrap();
    assert_eq!(response.message.content, "Good morning");
    let failures = response
        .attempts
        .iter()
        .map(|attempt| Some(attempt.failure.as_ref()?.kind));
    assert_eq!(
        failures.collect::<Vec<_>>(),
        [
            Some(ModelErrorKind::Unavailable),
            Some(ModelErrorKind::CutOff),
            None
        ]
    );
}

#[tokio::test]
async fn a_server_that_is_slow_or_gone_is_told_apart() {
    let (answer, _gate) = Answer::stream([begin()]).gated();
    let server = Server::start([answer.then([end()])]).await;
    let request = ask().timeout(Duration::from_millis(100));
    let error = client(&server).complete(request).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::TimedOut);
    let client = client(&server);
    drop(server);
    let error = client.complete(ask()).await.unwrap_err();
    assert_eq!(
        (error.kind, error.advice),
        (ModelErrorKind::Unreachable, RetryAdvice::Now)
    );
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let (answer, _gate) = Answer::stream([begin(), text("a")]).gated();
    let server = Server::start([answer.then([end()])]).await;
    let mut deltas = client(&server).stream(ask()).await.unwrap();
    assert!(deltas.next().await.is_some());
    drop(deltas);
    server.disconnected().await;
}

#[tokio::test]
async fn the_key_is_never_shown() {
    let server = Server::start([]).await;
    assert!(!format!("{:?}", client(&server)).contains(SECRET));
    let broken = client(&server).key(ApiKey::new("sk-ant\nsecret"));
    let error = broken.complete(ask()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the model server denied access: the key has characters that no header can hold"
    );
}
