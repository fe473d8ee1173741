//! Clients on a real connection.
use std::{net::SocketAddr, time::Duration};

use fugato_axum::{AgentRoutes, ServedAgent, serve};
use fugato_stream::Event;
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
};

/// Nothing here takes long; a test that hangs should say where.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A server on a free port of this machine.
pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    stop: oneshot::Sender<()>,
    end: JoinHandle<std::io::Result<usize>>,
}

impl TestServer {
    pub(crate) async fn open(routes: AgentRoutes<impl ServedAgent>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let stopped = async move { drop(stopped.await) };
        let end = tokio::spawn(serve(listener, routes, stopped));
        Self { address, stop, end }
    }

    /// Asks it to end.
    pub(crate) fn stop(self) -> JoinHandle<std::io::Result<usize>> {
        self.stop.send(()).unwrap();
        self.end
    }

    pub(crate) async fn get(&self, path: &str) -> Reader {
        Reader::open(self.address, "GET", path, "", "").await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Reader {
        Reader::open(self.address, "POST", path, "", &body.to_string()).await
    }
}

/// A response that is read line by line.
pub(crate) struct Reader {
    pub(crate) status: u16,
    lines: Lines<BufReader<TcpStream>>,
}

impl Reader {
    pub(crate) async fn open(
        address: SocketAddr,
        method: &str,
        path: &str,
        header: &str,
        body: &str,
    ) -> Self {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{header}\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut reader = Self {
            status: 0,
            lines: BufReader::new(stream).lines(),
        };
        let first = reader.line().await.unwrap();
        reader.status = first.split(' ').nth(1).unwrap().parse().unwrap();
        while reader.line().await.is_some_and(|line| !line.is_empty()) {}
        reader
    }

    pub(crate) async fn line(&mut self) -> Option<String> {
        let line = tokio::time::timeout(PATIENCE, self.lines.next_line()).await;
        line.expect("the server answers in time").unwrap_or(None)
    }

    /// The data of the next frame; none if the stream has ended. No frame is cut by the pieces in
    /// which a body is sent.
    pub(crate) async fn data(&mut self) -> Option<Value> {
        loop {
            let line = self.line().await?;
            if let Some(data) = line.strip_prefix("data: ") {
                return serde_json::from_str(data).ok();
            }
        }
    }

    /// The next event.
    pub(crate) async fn event(&mut self) -> Option<Event> {
        let data = self.data().await?;
        Some(serde_json::from_value(data["ev"].clone()).unwrap())
    }

    /// The events up to the first of this kind.
    pub(crate) async fn until(&mut self, kind: &str) -> Vec<Event> {
        let mut events = vec![];
        loop {
            let event = self.event().await.expect("the stream goes on");
            let last = crate::server::kinds(std::slice::from_ref(&event)) == [kind];
            events.push(event);
            if last {
                return events;
            }
        }
    }
}

/// Returns the positions of the durable events.
pub(crate) fn positions(events: &[Event]) -> Vec<u64> {
    let mut positions: Vec<_> = events.iter().filter_map(|event| event.seq).collect();
    positions.dedup();
    positions
}

#[tokio::test]
async fn the_head_of_a_request_comes_in_time() {
    let letters = crate::server::LetterServer::open();
    let limits = fugato_axum::Limits::default().head_timeout(Duration::from_millis(50));
    let served = TestServer::open(letters.routes().limits(limits)).await;
    let mut slow = TcpStream::connect(served.address).await.unwrap();
    slow.write_all(b"GET /health HTTP/1.1\r\nhost: a.exam")
        .await
        .unwrap();
    let mut left = vec![];
    let cut = tokio::time::timeout(PATIENCE, slow.read_to_end(&mut left)).await;
    // The connection ends, with or without an error response before.
    assert!(cut.is_ok(), "the connection is still open");
    assert!(!String::from_utf8_lossy(&left).contains("200 OK"));
    let mut quick = served.get("/health").await;
    assert_eq!(quick.line().await.unwrap(), r#"{"status":"ok"}"#);
}

#[test]
fn a_connection_lies_idle_for_longer_than_proxies_let_it() {
    // Those in use keep a connection for 60 s; one that is cut before answers the next request 502.
    let idle = fugato_axum::Limits::default().head_timeout;
    assert!(idle > Duration::from_secs(60), "{idle:?}");
}

#[tokio::test]
async fn a_body_comes_in_time() {
    let letters = crate::server::LetterServer::open();
    let limits = fugato_axum::Limits::default().body_timeout(Duration::from_millis(50));
    let served = TestServer::open(letters.routes().limits(limits)).await;
    let mut slow = TcpStream::connect(served.address).await.unwrap();
    let head = "POST /threads/desk/runs HTTP/1.1\r\nhost: a.example\r\nconnection: close\r\n\
        content-type: application/json\r\ncontent-length: 20\r\n\r\n{\"te";
    slow.write_all(head.as_bytes()).await.unwrap();
    let mut told = vec![];
    let cut = tokio::time::timeout(PATIENCE, slow.read_to_end(&mut told)).await;
    assert!(cut.is_ok(), "the connection is still open");
    let told = String::from_utf8_lossy(&told);
    assert!(
        told.starts_with("HTTP/1.1 408 ") && told.contains("too_slow"),
        "{told}"
    );
}
