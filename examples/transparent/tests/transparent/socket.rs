//! The protocol of envelopes over a WebSocket, through the server: every event in its order, also
//! after a lost connection.
mod servers;

use fugato::axum::{AgentRoutes, AllowAll};
use fugato_testkit::{assert_contains, check_stock_client};
use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async, tungstenite::Message};
use transparent::served::ServedTransparent;

use crate::common::{Home, ORDER, TestResult, WISH, program};

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Returns the address of the agent, served as long as the test runs.
async fn server(stage: &Home) -> std::io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("ws://{}/ws/chat?thread=desk", listener.local_addr()?);
    let agent = ServedTransparent::new(stage.runner(), None);
    let routes = AgentRoutes::new(agent).authenticate(AllowAll);
    tokio::spawn(fugato::axum::serve(
        listener,
        routes,
        std::future::pending(),
    ));
    Ok(url)
}

async fn say(socket: &mut Socket, message: &Value) -> TestResult {
    Ok(socket.send(Message::text(message.to_string())).await?)
}

async fn ask(socket: &mut Socket, words: &str) -> TestResult {
    let message = json!({ "event": "user_input", "data": { "content": words } });
    say(socket, &message).await
}

/// Returns the envelopes up to an event of this name, without keep-alives.
async fn until(socket: &mut Socket, last: &str) -> Result<Vec<Value>, fugato::BoxError> {
    let mut heard = vec![];
    while let Some(message) = socket.next().await {
        let Message::Text(text) = message? else {
            continue;
        };
        let envelope: Value = serde_json::from_str(&text)?;
        let field = |name: &str| envelope.get(name).and_then(Value::as_str);
        let name = field("event").unwrap_or_default().to_owned();
        if name == "ping" {
            continue;
        }
        // The time is ISO 8601 in UTC.
        let is_utc = field("timestamp").is_some_and(|time| time.ends_with('Z'));
        assert!(is_utc, "{envelope}");
        let is_status = name == "status" && last != "status";
        if !is_status {
            heard.push(envelope);
        }
        if name == last {
            return Ok(heard);
        }
    }
    Err("the server has closed the socket".into())
}

fn names(heard: &[Value]) -> Vec<&str> {
    heard
        .iter()
        .filter_map(|envelope| envelope.get("event")?.as_str())
        .collect()
}

#[tokio::test]
async fn trn_12_trn_13_trn_14_the_reference_run_over_a_socket() -> TestResult {
    let stage = Home::by_rule();
    let (mut socket, _) = connect_async(server(&stage).await?).await?;
    ask(&mut socket, WISH).await?;
    let heard = until(&mut socket, "final_answer").await?;
    let named = ORDER.map(|told| told.split(' ').next().unwrap_or_default());
    assert_eq!(names(&heard), named);
    let of = |name: &str| {
        let mut heard = heard.iter();
        let envelope = heard.find(|envelope| envelope["event"] == name);
        &envelope.expect("it is told")["data"]
    };
    assert_eq!(of("user_input")["content"], WISH);
    assert_eq!(of("planning")["steps"].as_array().map(Vec::len), Some(2));
    assert_eq!(of("rag_query"), &json!({ "query": "项目计划书" }));
    let found = of("rag_result");
    assert!(found["results"].is_array() && found["scores"].is_array());
    let call = of("tool_call");
    assert_eq!(call["name"], "list_files");
    assert_eq!(call["params"]["days"], 14);
    let result = of("tool_result");
    assert_eq!(result["success"], true);
    assert_contains(&result["output"], "plan_v1.md");
    assert_contains(&of("final_answer")["content"], "draft.docx");
    // An unusable message is reported, and the conversation goes on.
    ask(&mut socket, "  ").await?;
    let refused = until(&mut socket, "error").await?;
    let refused = refused.last().ok_or("an error")?;
    assert_eq!(refused["data"]["recoverable"], true);
    say(&mut socket, &json!({ "event": "ping" })).await?;
    until(&mut socket, "pong").await?;
    Ok(())
}

#[tokio::test]
async fn trn_w4_trn_13_who_comes_back_misses_nothing_and_an_interrupt_is_answered() -> TestResult {
    let stage = Home::by_rule();
    let url = server(&stage).await?;
    let (mut socket, _) = connect_async(&url).await?;
    ask(&mut socket, "find missing.md").await?;
    let live = until(&mut socket, "final_answer").await?;
    drop(socket);
    let (mut socket, _) = connect_async(&url).await?;
    let resume = json!({ "event": "resume", "data": { "after": 0 } });
    say(&mut socket, &resume).await?;
    let again = until(&mut socket, "final_answer").await?;
    let told = |heard: &[Value]| -> Vec<(Value, Value)> {
        let plain = |envelope: &Value| {
            let mut data = envelope["data"].clone();
            // The preview of a call is only for the stream.
            if let Some(data) = data.as_object_mut() {
                data.remove("preview");
            }
            (envelope["event"].clone(), data)
        };
        heard.iter().map(plain).collect()
    };
    assert_eq!(told(&again), told(&live));

    ask(&mut socket, "take a photo").await?;
    let asked = until(&mut socket, "interrupt").await?;
    let asked = &asked.last().ok_or("a question")?["data"];
    let answer = json!({ "id": asked["id"], "answer": false, "digest": asked["digest"] });
    say(&mut socket, &json!({ "event": "answer", "data": answer })).await?;
    let end = until(&mut socket, "final_answer").await?;
    assert!(names(&end).contains(&"tool_result"), "{end:?}");
    Ok(())
}

#[tokio::test]
async fn trn_16_trn_14_a_page_that_is_opened_again_shows_everything() -> TestResult {
    let stage = Home::by_rule();
    let address = server(&stage).await?;
    stage.say(WISH).await;
    stage.say("take a photo").await;
    stage.reject().await;
    let (_, rest) = address.split_once("//").ok_or("a URL")?;
    let (host, _) = rest.split_once('/').ok_or("a path")?;
    let mut page = TcpStream::connect(host).await?;
    let request =
        format!("GET /threads/desk HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    page.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    page.read_to_string(&mut answer).await?;
    let (_, body) = answer.split_once("\r\n\r\n").ok_or("a body")?;
    let shown: Value = serde_json::from_str(body)?;
    let items = shown["timeline"].as_array().ok_or("a timeline")?.iter();
    let shown: Vec<&str> = items
        .filter_map(|item| item.get("name").or_else(|| item.get("kind"))?.as_str())
        .collect();
    let first = [
        &["user_text"],
        &ORDER[1..7],
        &["list_files", "list_files", "thinking", "assistant_text"],
    ]
    .concat();
    let second = [
        "user_text",
        "task_analysis",
        "thinking",
        "take_photo",
        "confirm_request",
        "take_photo",
        "thinking",
        "assistant_text",
    ];
    assert_eq!(shown, [first, second.to_vec()].concat());
    Ok(())
}

#[test]
fn what_a_client_says_was_said_before_reaches_the_model() {
    let cards = [
        ("remind me tomorrow at 9 to call Anna", "It is scheduled"),
        ("明天9点提醒我打电话", "已安排："),
    ];
    let program = program();
    check_stock_client(&program, &cards);
}
