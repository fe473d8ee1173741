//! The client against a real HTTP server on loopback.

use std::time::Duration;

use fugato_llm::{
    ChatDelta, ChatModel as _, ChatModelExt as _, ChatRequest, FinishReason, ModelError,
    ModelErrorKind, Retry, RetryAdvice, Usage,
};
use fugato_providers::openai::{ApiKey, OpenAi};
use fugato_state::Message;
use futures::StreamExt as _;

use crate::server::{Answer, Server};

const SECRET: &str = "sk-very-secret";

fn ask() -> ChatRequest {
    ChatRequest::new([Message::user("Hello")])
}

fn client(server: &Server) -> OpenAi {
    OpenAi::new(&server.url(), "small").key(ApiKey::new(SECRET))
}

fn text(text: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
}

const STOP: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const USAGE: &str =
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2}}\n\n";

async fn fails(answer: Answer) -> ModelError {
    let server = Server::start([answer]).await;
    let error = client(&server)
        .complete(ask())
        .await
        .expect_err("the answer is an error");
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains(SECRET), "{shown}");
    error
}

#[tokio::test]
async fn an_answer_is_streamed_to_its_end() {
    let body = [
        ": ping\n\n",
        &text("Good "),
        &text("morning"),
        STOP,
        USAGE,
        "data: [DONE]\n\n",
    ];
    let server = Server::start([Answer::stream(body)]).await;
    let response = client(&server).complete(ask()).await.unwrap();
    assert_eq!(response.message, Message::assistant("Good morning"));
    assert_eq!(response.finish, Some(FinishReason::Stop));
    assert_eq!(response.usage, Some(Usage::new(5, 2)));

    let request = server.request().await;
    assert!(
        request.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(
        request.contains("authorization: Bearer sk-very-secret\r\n"),
        "{request}"
    );
    assert!(
        request.contains("\"messages\":[{\"content\":\"Hello\",\"role\":\"user\"}]"),
        "{request}"
    );
}

#[tokio::test]
async fn l13_deltas_arrive_while_the_server_still_speaks() {
    let (answer, gate) = Answer::stream([text("Good ")]).gated();
    let answer = answer.then([&text("morning"), STOP]);
    let server = Server::start([answer]).await;
    let mut deltas = client(&server).stream(ask()).await.unwrap();
    assert_eq!(
        deltas.next().await.unwrap().unwrap(),
        ChatDelta::text("Good ")
    );
    gate.notify_one();
    assert_eq!(
        deltas.next().await.unwrap().unwrap(),
        ChatDelta::text("morning")
    );
}

#[tokio::test]
async fn a_stream_may_end_without_done_but_not_without_a_reason_to_stop() {
    let server = Server::start([Answer::stream([&text("a"), STOP])]).await;
    assert_eq!(
        client(&server)
            .complete(ask())
            .await
            .unwrap()
            .message
            .content,
        "a"
    );

    let error = fails(Answer::stream([text("a")])).await;
    assert_eq!(
        (error.kind, error.context.as_str()),
        (ModelErrorKind::CutOff, "the stream ended early")
    );
    let error = fails(Answer::stream([text("a")]).torn()).await;
    assert_eq!(
        (error.kind, error.advice),
        (ModelErrorKind::CutOff, RetryAdvice::Now)
    );
    assert!(std::error::Error::source(&error).is_some());
}

#[tokio::test]
async fn an_answer_in_one_piece_is_read_too() {
    let whole = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}"#;
    let server = Server::start([Answer::json(200, whole)]).await;
    assert_eq!(
        client(&server)
            .complete(ask())
            .await
            .unwrap()
            .message
            .content,
        "Hi"
    );
}

#[tokio::test]
async fn l2_each_status_has_its_kind() {
    use ModelErrorKind::{BadRequest, Denied, NotFound, RateLimited, TooLong, Unavailable};
    let said = |message: &str| format!("{{\"error\":{{\"message\":\"{message}\"}}}}");
    let long = "x".repeat(495);
    let cut_at_the_key = format!("status 401: {long}[key]");
    let too_long = r#"{"error":{"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#;
    for (status, body, kind, context) in [
        (
            401,
            said("wrong key sk-very-secret"),
            Denied,
            "status 401: wrong key [key]",
        ),
        (
            401,
            said(&format!("{long}{SECRET}")),
            Denied,
            &cut_at_the_key,
        ),
        (403, said("no"), Denied, "status 403: no"),
        (
            404,
            said("no model small"),
            NotFound,
            "status 404: no model small",
        ),
        (400, said("bad field"), BadRequest, "status 400: bad field"),
        (
            422,
            "{\"message\":\"bad field\"}".into(),
            BadRequest,
            "status 422: bad field",
        ),
        (
            400,
            too_long.into(),
            TooLong,
            "status 400: the request exceeds the available context size",
        ),
        (429, String::new(), RateLimited, "status 429"),
        (
            500,
            "<html>oops</html>".into(),
            Unavailable,
            "status 500: <html>oops</html>",
        ),
        (
            503,
            "{\"error\":\"loading\"}".into(),
            Unavailable,
            "status 503: loading",
        ),
    ] {
        let error = fails(Answer::json(status, &body)).await;
        assert_eq!((error.kind, error.context.as_str()), (kind, context));
        assert_eq!(error.advice, kind.advice());
    }
}

#[tokio::test]
async fn the_pause_that_a_server_asks_for_is_passed_on() {
    let seconds = fails(Answer::json(429, "{}").header("retry-after: 7")).await;
    assert_eq!(seconds.advice, RetryAdvice::After(Duration::from_secs(7)));
    let past =
        fails(Answer::json(503, "").header("retry-after: Wed, 21 Oct 2015 07:28:00 GMT")).await;
    assert_eq!(past.advice, RetryAdvice::After(Duration::ZERO));
    let quota = r#"{"error":{"message":"no credit","code":"insufficient_quota"}}"#;
    let never = fails(Answer::json(429, quota).header("retry-after: 7")).await;
    assert_eq!(never.advice, RetryAdvice::Never);
}

#[tokio::test]
async fn broken_chunks_and_reported_errors_end_the_answer() {
    let malformed = fails(Answer::stream([
        &text("a"),
        "data: {\"choices\":[{]\n\n",
        STOP,
    ]))
    .await;
    assert_eq!(malformed.kind, ModelErrorKind::Malformed);
    let frame = "data: {\"error\":{\"message\":\"slow down\",\"code\":429}}\n\n";
    let reported = fails(Answer::stream([&text("a"), frame])).await;
    assert_eq!(
        (reported.kind, reported.context.as_str()),
        (ModelErrorKind::RateLimited, "status 429: slow down")
    );
    let frame = "data: {\"error\":{\"message\":\"overloaded\",\"type\":\"server_error\"}}\n\n";
    assert_eq!(
        fails(Answer::stream([frame])).await.kind,
        ModelErrorKind::Unavailable
    );
}

#[tokio::test]
async fn what_came_before_an_error_is_delivered_first() {
    let body = [text("Good "), text("mor"), "data: nonsense\n\n".to_owned()].concat();
    let server = Server::start([Answer::stream([body])]).await;
    let deltas: Vec<_> = client(&server).stream(ask()).await.unwrap().collect().await;
    let delivered: Vec<_> = deltas.iter().flatten().cloned().collect();
    assert_eq!(
        delivered,
        [ChatDelta::text("Good "), ChatDelta::text("mor")]
    );
    assert_eq!(deltas.len(), 3);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unreachable() {
    let server = Server::start([]).await;
    let client = client(&server);
    drop(server);
    let error = client.complete(ask()).await.unwrap_err();
    assert_eq!(
        (error.kind, error.advice),
        (ModelErrorKind::Unreachable, RetryAdvice::Now)
    );
    let error = OpenAi::new("not a url", "small")
        .complete(ask())
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind, error.advice),
        (ModelErrorKind::BadRequest, RetryAdvice::Never)
    );
}

#[tokio::test]
async fn a_slow_answer_times_out() {
    let (answer, _gate) = Answer::stream([text("a")]).gated();
    let server = Server::start([answer.then([STOP])]).await;
    let request = ask().timeout(Duration::from_millis(100));
    let error = client(&server).complete(request).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::TimedOut);
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let (answer, _gate) = Answer::stream([text("a")]).gated();
    let server = Server::start([answer.then([STOP])]).await;
    let mut deltas = client(&server).stream(ask()).await.unwrap();
    assert_eq!(deltas.next().await.unwrap().unwrap(), ChatDelta::text("a"));
    drop(deltas);
    server.disconnected().await;
}

#[tokio::test]
async fn retry_reaches_the_answer_without_a_lost_or_doubled_delta() {
    let limited = Answer::json(429, "{}").header("retry-after: 0");
    let cut = Answer::stream([": ping\n\n"]);
    let good = Answer::stream([&text("Good "), &text("morning"), STOP]);
    let server = Server::start([limited, cut, good]).await;
    let model = Retry::new(client(&server)).pause(Duration::from_millis(1));
    let response = model.complete(ask()).await.unwrap();
    assert_eq!(response.message.content, "Good morning");
    let failures: Vec<_> = response
        .attempts
        .iter()
        .map(|a| a.failure.as_ref().map(|f| f.kind))
        .collect();
    assert_eq!(
        failures,
        [
            Some(ModelErrorKind::RateLimited),
            Some(ModelErrorKind::CutOff),
            None
        ]
    );
}

#[tokio::test]
async fn the_key_is_never_shown() {
    let server = Server::start([]).await;
    assert!(!format!("{:?}", client(&server)).contains(SECRET));
    let broken = OpenAi::new(&server.url(), "small").key(ApiKey::new("sk-very\nsecret"));
    let error = broken.complete(ask()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the model server denied access: the key has characters that no header can hold"
    );
}
