//! Envelopes over a real WebSocket.
use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Error, Message, client::IntoClientRequest as _},
};

use crate::{
    server::LetterServer,
    wire::{PATIENCE, TestServer},
};

struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    async fn open(served: &TestServer, thread: &str) -> Self {
        let url = format!("ws://{}/ws/chat?thread={thread}", served.address);
        let mut socket = Self(connect_async(url).await.unwrap().0);
        let first = socket.receive().await;
        assert_eq!(
            first["data"],
            json!({ "code": "conversation", "summary": thread })
        );
        socket
    }

    async fn say(&mut self, message: Value) {
        self.0
            .send(Message::text(message.to_string()))
            .await
            .unwrap();
    }

    async fn receive(&mut self) -> Value {
        let message = tokio::time::timeout(PATIENCE, self.0.next()).await;
        let message = message
            .expect("the server answers in time")
            .unwrap()
            .unwrap();
        serde_json::from_str(message.to_text().unwrap()).unwrap()
    }

    /// The names of messages up to one of this name, and that one.
    async fn until(&mut self, name: &str) -> (Vec<String>, Value) {
        let mut names = vec![];
        // The server keeps the connection alive, whatever else comes.
        let came = tokio::time::timeout(PATIENCE, async {
            loop {
                let message = self.receive().await;
                names.push(message["event"].as_str().unwrap().to_owned());
                if message["event"] == name {
                    return message;
                }
            }
        });
        let came = came.await;
        let message = came.unwrap_or_else(|_| panic!("{name:?} does not come"));
        (names, message)
    }
}

#[tokio::test]
async fn trn_12_a_conversation_over_a_socket() {
    let letters = LetterServer::open();
    let served = TestServer::open(letters.routes()).await;
    let mut socket = Socket::open(&served, "desk").await;
    socket.say(json!({ "event": "ping", "data": {} })).await;
    let pong = socket.receive().await;
    assert_eq!(pong["event"], "pong");
    assert!(pong["timestamp"].as_str().unwrap().ends_with('Z'));

    socket
        .say(json!({ "event": "user_input", "data": { "content": "a free day" } }))
        .await;
    let (_, asked) = socket.until("interrupt").await;
    let id = asked["data"]["id"].clone();
    let answer = |id: Value| json!({ "event": "answer", "data": { "id": id, "answer": true } });

    // A second client answers, on its own connection; both get the end.
    let mut other = Socket::open(&served, "desk").await;
    other.say(answer(json!("confirm#9~9"))).await;
    let (_, wrong) = other.until("error").await;
    assert_eq!(
        (&wrong["data"]["type"], &wrong["data"]["recoverable"]),
        (&json!("unknown_interrupt"), &json!(true))
    );
    other.say(answer(id)).await;
    for socket in [&mut socket, &mut other] {
        let (_, end) = socket.until("final_answer").await;
        assert_eq!(end["data"]["content"], "placed");
    }

    // Everything after a position again.
    other
        .say(json!({ "event": "resume", "data": { "after": 3 } }))
        .await;
    let (names, end) = other.until("final_answer").await;
    assert_eq!(names.first().map(String::as_str), Some("interrupt"));
    assert_eq!(end["data"]["content"], "placed");
}

#[tokio::test]
async fn trn_13_what_a_socket_cannot_use_is_told() {
    let letters = LetterServer::open();
    let served = TestServer::open(letters.routes()).await;
    let mut socket = Socket::open(&served, "desk").await;
    for (message, word) in [
        (
            json!({ "event": "shout", "data": {} }),
            "\"shout\" is no event",
        ),
        (
            json!({ "event": 5, "data": {} }),
            "\"event\" must be a text",
        ),
        (json!({ "event": "user_input", "data": {} }), "\"content\""),
        (json!({ "event": "resume", "data": {} }), "\"after\""),
        (
            json!({ "event": "resume", "data": { "after": "x" } }),
            "\"after\"",
        ),
        (json!({ "event": "answer", "data": 5 }), "\"data\""),
        (json!("hello"), "\"event\" is missing"),
    ] {
        socket.say(message).await;
        let (_, error) = socket.until("error").await;
        assert_eq!(error["data"]["type"], "invalid_request");
        let told = error["data"]["message"].as_str().unwrap();
        assert!(told.contains(word) && !told.contains("Some"), "{told}");
    }
    socket
        .say(json!({ "event": "user_input", "data": { "content": "slow" } }))
        .await;
    socket.until("thinking").await;
    socket.say(json!({ "event": "cancel", "data": {} })).await;
    let mut status = socket.until("status").await.1;
    while status["data"]["code"] != "cancelled" {
        status = socket.until("status").await.1;
    }
    served.stop().await.unwrap().unwrap();
    let mut last = None;
    while let Some(Ok(message)) = socket.0.next().await {
        last = Some(message);
    }
    assert!(matches!(last, Some(Message::Close(Some(frame))) if u16::from(frame.code) == 1001));
}

#[tokio::test]
async fn a_socket_of_a_page_of_elsewhere_is_refused() {
    let served = TestServer::open(LetterServer::open().routes()).await;
    let url = format!("ws://{}/ws/chat", served.address);
    let mut request = url.into_client_request().unwrap();
    request
        .headers_mut()
        .insert("origin", "https://evil.example".parse().unwrap());
    match connect_async(request).await {
        Err(Error::Http(response)) => assert_eq!(response.status(), 403),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn trn_12_a_binary_frame_is_told_what_is_allowed() {
    let letters = LetterServer::open();
    let served = TestServer::open(letters.routes()).await;
    let mut socket = Socket::open(&served, "desk").await;
    let ping = json!({ "event": "ping", "data": {} }).to_string();
    let frame = Message::binary(ping.into_bytes());
    socket.0.send(frame).await.unwrap();
    let (_, refused) = socket.until("error").await;
    assert_eq!(refused["data"]["type"], "invalid_request");
    let told = refused["data"]["message"].as_str().unwrap();
    assert!(told.contains("text frame"), "{told}");
    socket.say(json!({ "event": "ping", "data": {} })).await;
    socket.until("pong").await;
}
