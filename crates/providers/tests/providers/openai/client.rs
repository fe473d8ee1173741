//! The client against a real HTTP server on loopback: what is its own.
use std::time::Duration;

use fugato_llm::{ChatModelExt as _, ModelErrorKind, RetryAdvice};
use fugato_providers::openai::{ApiKey, OpenAi};
use serde_json::json;

use crate::{
    client::{Wire, ask},
    server::{Answer, Server},
};

const SECRET: &str = "sk-very-secret";
const STOP: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const USAGE: &str =
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2}}\n\n";

fn text(text: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
}

pub(crate) fn wire() -> Wire {
    let quota = r#"{"error":{"message":"no credit","code":"insufficient_quota"}}"#;
    let seven = RetryAdvice::After(Duration::from_secs(7));
    let past = RetryAdvice::After(Duration::ZERO);
    let day = "retry-after: Wed, 21 Oct 2015 07:28:00 GMT";
    Wire {
        secret: SECRET,
        client: |server, key| {
            let client = OpenAi::new(&server.url(), "small");
            Box::new(client.key(ApiKey::new(key)))
        },
        begin: String::new(),
        text,
        ping: ": ping\n\n".into(),
        end: [STOP, USAGE, "data: [DONE]\n\n"].concat(),
        whole: json!({ "choices": [{
            "index": 0, "message": { "role": "assistant", "content": "Hi" }, "finish_reason": "stop",
        }] }),
        head: &[
            "POST /v1/chat/completions HTTP/1.1\r\n",
            "\r\nauthorization: Bearer sk-very-secret\r\n",
        ],
        body: json!({
            "model": "small", "stream": true, "stream_options": { "include_usage": true },
            "messages": [{ "role": "user", "content": "Hello" }],
        }),
        advice: vec![
            (429, "{}", "retry-after: 7", seven),
            (503, "", day, past),
            (429, quota, "retry-after: 7", RetryAdvice::Never),
        ],
        busy: (429, ModelErrorKind::RateLimited),
    }
}

#[tokio::test]
async fn a_stream_may_end_without_done() {
    let server = Server::start([Answer::stream([&text("a"), STOP])]).await;
    let answer = (wire().client)(&server, SECRET).complete(ask()).await;
    assert_eq!(answer.unwrap().message.content, "a");
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
        let error = wire().fails(Answer::json(status, &body)).await;
        assert_eq!((error.kind, error.context.as_str()), (kind, context));
        assert_eq!(error.advice, kind.advice());
    }
}

#[tokio::test]
async fn an_error_that_is_reported_amid_an_answer_ends_it() {
    use ModelErrorKind::{RateLimited, Unavailable};
    let limited = r#"{ "message": "slow down", "code": 429 }"#;
    let overloaded = r#"{ "message": "overloaded", "type": "server_error" }"#;
    for (error, kind, context) in [
        (limited, RateLimited, "status 429: slow down"),
        (overloaded, Unavailable, "overloaded"),
    ] {
        let frame = format!("data: {{ \"error\": {error} }}\n\n");
        let reported = wire().fails(Answer::stream([text("a"), frame])).await;
        assert_eq!((reported.kind, &*reported.context), (kind, context));
    }
}

#[tokio::test]
async fn an_address_that_is_none_is_no_server_to_wait_for() {
    let client = OpenAi::new("not a url", "small");
    let error = client.complete(ask()).await.unwrap_err();
    let told = (error.kind, error.advice);
    assert_eq!(told, (ModelErrorKind::BadRequest, RetryAdvice::Never));
}
