//! A client of a WebSocket, as much of one as the trial needs.
use std::{io, time::Duration};

use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use super::Response;

/// The time after which a socket that says nothing has nothing to say.
pub(super) const SILENCE: Duration = Duration::from_millis(500);
/// The time of a run.
const RUN: Duration = Duration::from_secs(30);

/// Says something in a conversation, and returns what comes until the run rests.
pub(super) async fn say(address: &str, key: &str, thread: &str, text: &str) -> Response {
    let message = json!({ "event": "user_input", "data": { "content": text } });
    let said = open(address, key, thread, Some(&message.to_string()), RUN).await;
    said.expect("the server answers")
}

/// Opens a conversation, and returns what comes of itself until it is silent for so long.
pub(super) async fn listen(address: &str, key: &str, thread: &str, silence: Duration) -> String {
    let heard = open(address, key, thread, None, silence).await;
    heard.expect("the server answers").body
}

async fn open(
    address: &str,
    key: &str,
    thread: &str,
    message: Option<&str>,
    patience: Duration,
) -> io::Result<Response> {
    let mut stream = TcpStream::connect(address).await?;
    let request = upgrade(address, key, thread);
    stream.write_all(request.as_bytes()).await?;
    if let Some(message) = message {
        stream.write_all(&frame(message)).await?;
    }
    let (mut heard, mut part) = (vec![], [0; 4096]);
    while let Ok(read) = timeout(patience, stream.read(&mut part)).await {
        let read = read?;
        heard.extend_from_slice(part.get(..read).unwrap_or_default());
        let text = String::from_utf8_lossy(&heard);
        let is_over = ["final_answer", "\"parked\"", "\"error\"", "HTTP/1.1 4"];
        if read == 0 || message.is_some() && is_over.iter().any(|end| text.contains(end)) {
            break;
        }
    }
    let body = String::from_utf8_lossy(&heard).into_owned();
    let status = body
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let status = status.filter(|status| *status != 101).unwrap_or(200);
    Ok(Response { status, body })
}

/// Returns the request that opens a conversation.
pub(super) fn upgrade(address: &str, key: &str, thread: &str) -> String {
    format!(
        "GET /ws/chat?thread={thread} HTTP/1.1\r\nhost: {address}\r\nconnection: upgrade\r\n\
         upgrade: websocket\r\nsec-websocket-version: 13\r\n\
         sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nauthorization: Bearer {key}\r\n\r\n"
    )
}

/// Sends a request, waits until its answer begins, and returns what comes until it ends.
pub(super) async fn hold(
    address: &str,
    request: &str,
) -> io::Result<impl Future<Output = io::Result<String>> + use<>> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(request.as_bytes()).await?;
    stream.readable().await?;
    Ok(async move {
        let mut heard = vec![];
        stream.read_to_end(&mut heard).await?;
        Ok(String::from_utf8_lossy(&heard).into_owned())
    })
}

/// Returns a masked text frame; the mask of zeros leaves the text as it is.
fn frame(text: &str) -> Vec<u8> {
    let length = u16::try_from(text.len()).expect("a short message");
    let mut frame = vec![0x81, 0x80 | 0x7e];
    frame.extend_from_slice(&length.to_be_bytes());
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(text.as_bytes());
    frame
}
