//! A small HTTP server that sends the answers of a model.

use std::net::SocketAddr;

use fugato_llm::{ChatDelta, ChatModel, ChatRequest, ModelErrorKind};
use futures::StreamExt as _;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// An encoder of an answer into a protocol: pieces of the body of a response.
pub(crate) trait ChatDouble: Default + Send + 'static {
    fn begin(&mut self) -> String;
    fn delta(&mut self, delta: ChatDelta) -> String;
    fn end(&mut self) -> String;
}

/// Serves the model until the test ends. The message of an error repeats the key, as careless
/// servers do.
pub(crate) async fn serve<S: ChatDouble>(
    model: impl ChatModel + Clone + 'static,
    key: &'static str,
) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(answer::<S>(socket, model.clone(), key));
        }
    });
    Ok(address)
}

/// Sends one answer. It stops when the client disconnects.
async fn answer<S: ChatDouble>(
    mut socket: TcpStream,
    model: impl ChatModel,
    key: &'static str,
) -> std::io::Result<()> {
    read_request(&mut socket).await?;
    let mut deltas = match model.stream(ChatRequest::new([])).await {
        Ok(deltas) => deltas,
        Err(error) => {
            let told = json!({ "error": { "message": format!("not with {key}") } });
            return write_whole(&mut socket, status(error.kind), &told).await;
        }
    };
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                transfer-encoding: chunked\r\nconnection: close\r\n\r\n";
    socket.write_all(head.as_bytes()).await?;
    let mut spoken = S::default();
    write_chunk(&mut socket, &spoken.begin()).await?;
    loop {
        let mut byte = [0; 1];
        let next = tokio::select! {
            next = deltas.next() => next,
            _ = socket.read(&mut byte) => return Ok(()),
        };
        match next {
            Some(Ok(delta)) => write_chunk(&mut socket, &spoken.delta(delta)).await?,
            // The connection breaks off within the transfer encoding.
            Some(Err(_)) => return Ok(()),
            None => break,
        }
    }
    write_chunk(&mut socket, &spoken.end()).await?;
    socket.write_all(b"0\r\n\r\n").await
}

fn status(kind: ModelErrorKind) -> u16 {
    match kind {
        ModelErrorKind::Denied => 401,
        ModelErrorKind::NotFound => 404,
        ModelErrorKind::BadRequest => 400,
        ModelErrorKind::RateLimited => 429,
        _ => 503,
    }
}

async fn write_whole(socket: &mut TcpStream, status: u16, body: &Value) -> std::io::Result<()> {
    let body = body.to_string();
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status} Whatever\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
    socket.write_all(answer.as_bytes()).await
}

async fn write_chunk(socket: &mut TcpStream, piece: &str) -> std::io::Result<()> {
    if piece.is_empty() {
        return Ok(());
    }
    let chunk = format!("{:x}\r\n{piece}\r\n", piece.len());
    socket.write_all(chunk.as_bytes()).await
}

async fn read_request(socket: &mut TcpStream) -> std::io::Result<()> {
    let mut request = vec![];
    loop {
        let text = String::from_utf8_lossy(&request);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let mut lines = head.lines();
            let length = lines.find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return Ok(());
            }
        }
        if socket.read_buf(&mut request).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
}
