//! Clients over HTTP that send what no client should.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that stops here has failed"
)]
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use fugato_mcp::{HttpServing, ToolHttpService};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use serde_json::{Value, json};
use tower_service::Service;

use crate::agreement::counter;

type Answer = Response<BoxBody<Bytes, std::convert::Infallible>>;

const NEWEST: &str = "2026-07-28";

fn notes(serving: HttpServing) -> (ToolHttpService, Arc<AtomicU64>) {
    let (server, done) = counter();
    (server.http(serving), done)
}

fn post(headers: &[(&str, &str)], body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    let mut request = Request::post("/mcp")
        .header("host", "localhost")
        .header("accept", "application/json, text/event-stream");
    if !headers.iter().any(|(name, _)| *name == "content-type") {
        request = request.header("content-type", "application/json");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Full::new(body.into())).unwrap()
}

async fn send(service: &ToolHttpService, request: Request<Full<Bytes>>) -> Answer {
    service.clone().call(request).await.unwrap()
}

async fn text(answer: Answer) -> String {
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}

/// Returns the last message of a stream of events.
async fn message(answer: Answer) -> Value {
    let text = text(answer).await;
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("data:"));
    let last = lines.rfind(|line| !line.trim().is_empty());
    serde_json::from_str(last.unwrap_or(&text)).unwrap()
}

fn hello() -> String {
    json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": { "elicitation": {} },
            "clientInfo": { "name": "hostile", "version": "1" },
        },
    })
    .to_string()
}

#[tokio::test]
async fn a_body_that_is_no_message_is_told_what_is_wrong_and_allowed() {
    let (service, done) = notes(HttpServing::new());
    let deep = "[".repeat(100_000);
    let deep_arguments = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"append","arguments":{{"x":{deep}"#
    );
    let call = |id: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"append"}}}}"#
        )
    };
    let id =
        |found: &str| format!("`id` is {found}: a text or a whole number below 2^63 is allowed");
    let cases = [
        (
            String::new(),
            "the body is not the JSON of a message: EOF while parsing".to_owned(),
        ),
        (
            "{".to_owned(),
            "the body is not the JSON of a message: EOF while parsing".to_owned(),
        ),
        (
            deep,
            "the body is not the JSON of a message: recursion limit exceeded".to_owned(),
        ),
        (
            deep_arguments,
            "the body is not the JSON of a message: recursion limit exceeded".to_owned(),
        ),
        (
            format!("[{}]", call("1")),
            "the body is an array, and batches are not allowed: one message as an object is"
                .to_owned(),
        ),
        (
            "7".to_owned(),
            "the body is no object: one message as an object is".to_owned(),
        ),
        (
            "{}".to_owned(),
            "`jsonrpc` is missing: \"2.0\" is allowed".to_owned(),
        ),
        (
            r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#.to_owned(),
            "`jsonrpc` is 2.0: \"2.0\" is allowed".to_owned(),
        ),
        (call("null"), id("null")),
        (call("1.5"), id("1.5")),
        (call("[1]"), id("[1]")),
        (call("18446744073709551615"), id("18446744073709551615")),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":7}"#.to_owned(),
            "`method` is 7: a text is allowed".to_owned(),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[1]}"#.to_owned(),
            "`params` is [1]: an object is allowed".to_owned(),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1}"#.to_owned(),
            "a message has exactly one of `method`, `result` and `error`".to_owned(),
        ),
    ];
    for (body, why) in cases {
        let begin: String = body.chars().take(60).collect();
        let answer = send(&service, post(&[], body)).await;
        let status = answer.status();
        let said = text(answer).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{begin}: {said}");
        let said: Value = serde_json::from_str(&said).unwrap();
        let said = said["error"]["message"].as_str().unwrap();
        assert!(said.starts_with(&why), "{begin}: {said}");
    }
    assert_eq!(done.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn what_is_too_large_or_of_another_type_is_refused() {
    let (service, _) = notes(HttpServing::new());
    let large = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#,
        "x".repeat(5 << 20)
    );
    let answer = send(&service, post(&[], large)).await;
    assert_eq!(answer.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert!(text(answer).await.contains("4194304 bytes"));
    let answer = send(&service, post(&[("content-type", "text/plain")], "[]")).await;
    assert_eq!(answer.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    assert!(
        text(answer)
            .await
            .contains("Content-Type must be application/json")
    );
}

#[tokio::test]
async fn no_more_sessions_are_open_than_allowed() {
    let (service, _) = notes(HttpServing::new().most_sessions(2));
    let mut sessions = vec![];
    for _ in 0..2 {
        let begun = send(&service, post(&[], hello())).await;
        assert_eq!(begun.status(), StatusCode::OK);
        sessions.push(
            begun.headers()["mcp-session-id"]
                .to_str()
                .unwrap()
                .to_owned(),
        );
    }
    let refused = send(&service, post(&[], hello())).await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(
        text(refused)
            .await
            .contains("2 sessions are open, and no more may be")
    );
    let ends = Request::delete("/mcp")
        .header("host", "localhost")
        .header("mcp-session-id", &sessions[0])
        .body(Full::default())
        .unwrap();
    assert_eq!(send(&service, ends).await.status(), StatusCode::ACCEPTED);
    let begun = send(&service, post(&[], hello())).await;
    assert_eq!(begun.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_session_that_is_not_there_does_nothing() {
    let (service, done) = notes(HttpServing::new());
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"append"}}"#;
    for (session, status) in [
        (None, StatusCode::BAD_REQUEST),
        (
            Some("00000000-0000-4000-8000-000000000000"),
            StatusCode::NOT_FOUND,
        ),
        (Some("../../etc"), StatusCode::NOT_FOUND),
    ] {
        let headers: Vec<_> = session
            .map(|id| ("mcp-session-id", id))
            .into_iter()
            .collect();
        let answer = send(&service, post(&headers, call)).await;
        assert_eq!(answer.status(), status, "{session:?}");
        assert!(text(answer).await.contains("ession"), "{session:?}");
    }
    assert_eq!(done.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_position_that_no_stream_had_ends_at_once() {
    let (service, _) = notes(HttpServing::new());
    let begun = send(&service, post(&[], hello())).await;
    let session = begun.headers()["mcp-session-id"]
        .to_str()
        .unwrap()
        .to_owned();
    for position in [
        "",
        "x",
        "-1",
        "7/99",
        "18446744073709551615/0",
        "0/18446744073709551616",
    ] {
        let back = Request::get("/mcp")
            .header("host", "localhost")
            .header("accept", "text/event-stream")
            .header("mcp-session-id", &session)
            .header("last-event-id", position)
            .body(Full::default())
            .unwrap();
        let answer = send(&service, back).await;
        assert_eq!(answer.status(), StatusCode::OK, "{position}");
        assert_eq!(text(answer).await, "", "{position}");
    }
    // The session goes on.
    let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    let answer = send(&service, post(&[("mcp-session-id", &session)], ping)).await;
    assert_eq!(message(answer).await["id"], 2);
}

/// A call in the era without sessions.
fn stateless(mut params: Value) -> Request<Full<Bytes>> {
    params["name"] = json!("append");
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": NEWEST,
        "io.modelcontextprotocol/clientInfo": { "name": "hostile", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
    });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let headers = [
        ("mcp-protocol-version", NEWEST),
        ("mcp-method", "tools/call"),
        ("mcp-name", "append"),
    ];
    post(&headers, body.to_string())
}

#[tokio::test]
async fn an_agreement_that_is_sent_again_is_asked_again() {
    let (service, done) = notes(HttpServing::new());
    let asked = message(send(&service, stateless(json!({}))).await).await;
    let seal = asked["result"]["requestState"].clone();
    let answers = json!({ "agree": { "action": "accept", "content": { "agree": true } } });
    let agreed = json!({ "requestState": seal, "inputResponses": answers });
    let first = message(send(&service, stateless(agreed.clone())).await).await;
    assert_eq!(first["result"]["content"][0]["text"], "line 1", "{first}");
    let again = message(send(&service, stateless(agreed)).await).await;
    assert!(again["result"]["requestState"].is_string(), "{again}");
    for forged in [json!("0000000000000000"), json!(""), json!(null)] {
        let forged = json!({ "requestState": forged, "inputResponses": answers });
        let asked = message(send(&service, stateless(forged)).await).await;
        assert!(asked["result"]["requestState"].is_string(), "{asked}");
    }
    assert_eq!(done.load(Ordering::Relaxed), 1);
}
