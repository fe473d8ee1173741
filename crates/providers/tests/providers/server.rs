//! A small HTTP server with scripted answers, one for each connection.

pub(crate) mod model;

use std::{net::SocketAddr, sync::Arc};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::{Mutex, Notify, mpsc},
    task::JoinHandle,
};

/// The answer of the server on one connection.
#[derive(Default)]
pub(crate) struct Answer {
    head: String,
    body: Vec<String>,
    gate: Option<Arc<Notify>>,
    rest: Vec<String>,
    torn: bool,
}

impl Answer {
    /// Creates a stream of events; each piece is written by itself.
    pub(crate) fn stream<T: Into<String>>(pieces: impl IntoIterator<Item = T>) -> Self {
        Self {
            head: "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n".into(),
            body: pieces.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// Creates an answer with a whole body.
    pub(crate) fn json(status: u16, body: &str) -> Self {
        Self {
            head: format!("HTTP/1.1 {status} Whatever\r\ncontent-type: application/json\r\n"),
            body: vec![body.into()],
            ..Self::default()
        }
    }

    /// Adds a header line.
    pub(crate) fn header(mut self, line: &str) -> Self {
        self.head += line;
        self.head += "\r\n";
        self
    }

    /// Waits after the body until the gate is notified.
    pub(crate) fn gated(mut self) -> (Self, Arc<Notify>) {
        let gate = Arc::new(Notify::new());
        self.gate = Some(gate.clone());
        (self, gate)
    }

    /// Sets the pieces that are sent after the gate.
    pub(crate) fn then<T: Into<String>>(mut self, pieces: impl IntoIterator<Item = T>) -> Self {
        self.rest = pieces.into_iter().map(Into::into).collect();
        self
    }

    /// Closes the connection within the transfer encoding.
    pub(crate) fn torn(mut self) -> Self {
        self.torn = true;
        self
    }
}

pub(crate) struct Server {
    address: SocketAddr,
    requests: Mutex<mpsc::UnboundedReceiver<String>>,
    disconnects: Arc<Notify>,
    task: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .expect("loopback has a free port");
        let address = listener.local_addr().expect("it is bound");
        let (tell, requests) = mpsc::unbounded_channel();
        let disconnects = Arc::new(Notify::new());
        let gone = disconnects.clone();
        let answers: Vec<_> = answers.into_iter().collect();
        let task = tokio::spawn(async move {
            for answer in answers {
                let Ok((socket, _)) = listener.accept().await else {
                    return;
                };
                serve(socket, answer, &tell, &gone).await;
            }
        });
        Self {
            address,
            requests: Mutex::new(requests),
            disconnects,
            task,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the next request, head and body.
    pub(crate) async fn request(&self) -> String {
        self.requests
            .lock()
            .await
            .recv()
            .await
            .expect("the server has seen a request")
    }

    /// Waits until a client has disconnected in the middle of an answer.
    pub(crate) async fn disconnected(&self) {
        self.disconnects.notified().await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    mut socket: TcpStream,
    answer: Answer,
    tell: &mpsc::UnboundedSender<String>,
    gone: &Notify,
) {
    let request = read_request(&mut socket).await;
    let _ = tell.send(request);
    let head = format!(
        "{}transfer-encoding: chunked\r\nconnection: close\r\n\r\n",
        answer.head
    );
    let _ = socket.write_all(head.as_bytes()).await;
    write_chunks(&mut socket, &answer.body).await;
    if let Some(gate) = answer.gate {
        let mut byte = [0; 1];
        tokio::select! {
            () = gate.notified() => {}
            _ = socket.read(&mut byte) => {
                gone.notify_one();
                return;
            }
        }
    }
    write_chunks(&mut socket, &answer.rest).await;
    if !answer.torn {
        let _ = socket.write_all(b"0\r\n\r\n").await;
    }
}

async fn write_chunks(socket: &mut TcpStream, pieces: &[String]) {
    for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
        let chunk = format!("{:x}\r\n{piece}\r\n", piece.len());
        let _ = socket.write_all(chunk.as_bytes()).await;
        let _ = socket.flush().await;
    }
}

async fn read_request(socket: &mut TcpStream) -> String {
    let mut request = vec![];
    loop {
        let text = String::from_utf8_lossy(&request);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "));
            if body.len()
                >= length.map_or(0, |length| length.parse().expect("a length is a number"))
            {
                return text.into_owned();
            }
        }
        let read = socket
            .read_buf(&mut request)
            .await
            .expect("the client is there");
        assert_ne!(read, 0, "the request ends early");
    }
}
